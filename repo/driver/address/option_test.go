package address

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/driver/frame"
)

const who = frame.Name("store")

type said struct {
	text, word string
	on         bool
	n          int
	bytes      int64
	wait       time.Duration
	addrs      []string
}

func (s *said) options() Options {
	return Options{
		{Name: "text", To: &s.text},
		{Name: "word", To: &s.word, Form: "a word", Fits: func(text string) bool { return !strings.Contains(text, " ") }},
		{Name: "on", To: &s.on},
		{Name: "n", To: &s.n, Least: 1, Most: 9},
		{Name: "bytes", To: &s.bytes},
		{Name: "wait", To: &s.wait},
		{Name: "addr", To: &s.addrs},
	}
}

func TestOptions(t *testing.T) {
	var s said
	if err := s.options().Parse(who, "text=a%20b&word=x&on=true&n=9&bytes=2KiB&wait=3s&addr=a&&addr=b"); err != nil {
		t.Fatal(err)
	}
	if s.text != "a b" || s.word != "x" || !s.on || s.n != 9 || s.bytes != 2048 || s.wait != 3*time.Second || !slices.Equal(s.addrs, []string{"a", "b"}) {
		t.Errorf("the options say %+v", s)
	}
	for query, want := range map[string]string{
		"secret=1":          "option 1 of the URL is none of text, word, on, n, bytes, wait, addr",
		"text=a&text=b":     "option 2 of the URL is given twice",
		"text=%zz":          "option 1 of the URL cannot be read",
		"text=a&secret@b=1": "options that cannot be read",
		"word=a%20b":        "option word is to be a word",
		"on=secret":         "option on is to be true or false",
		"n=0":               "option n is to be a number from 1 to 9",
		"n=10":              "option n is to be a number from 1 to 9",
		"bytes=1MB":         "option bytes is to be a size like 64MiB",
		"bytes=9000000GiB":  "",
		"bytes=0":           "option bytes is to be a size",
		"wait=0s":           "option wait is to be a time like 500ms or 3s",
	} {
		err := s.options().Parse(who, query)
		if want == "" {
			if err != nil {
				t.Errorf("%s: %v", query, err)
			}
			continue
		}
		if !errors.Is(err, driver.ErrInvalid) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, want ErrInvalid that says %q, and no secret", query, err, want)
		}
	}
}

func TestHosts(t *testing.T) {
	names, addrs, ok := Hosts("a,b:1,[::1]:2,[::1]", "9")
	if want := []string{"a:9", "b:1", "[::1]:2", "[::1]:9"}; !ok || !slices.Equal(addrs, want) || names[2] != "::1" {
		t.Errorf("hosts %q at %q, %v; want %q", names, addrs, ok, want)
	}
	for _, list := range []string{"", "a,,b", "a:x", "a:0", "a:70000", "pass/word"} {
		if _, _, ok := Hosts(list, "9"); ok {
			t.Errorf("%q are hosts", list)
		}
	}
}
