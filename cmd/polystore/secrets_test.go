package main

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/polystore/polystore/backends"
	"github.com/polystore/polystore/loadtest"
)

// hiddenWord is a word of every password; it must never be seen.
const hiddenWord = "geheim"

// secretURLs are URLs with a password PW, of servers that are not there.
var secretURLs = []string{
	"redis://bob:PW@127.0.0.1:1/0?pool_size=3&dial_timeout=10ms",
	"redis://:PW@127.0.0.1:1?cluster=true&addr=127.0.0.1:2",
	"rediss://bob:PW@127.0.0.1:1/0?ca=/nosuch",
	"unix://bob:PW@/nosuch?db=1",
	"mongodb://bob:PW@127.0.0.1:1,127.0.0.1:2/blog?serverSelectionTimeoutMS=10&w=majority",
	"mongodb://bob:PW@127.0.0.1:1",
	"mongodb+srv://bob:PW@nosuch.invalid/blog",
	"cassandra://bob:PW@127.0.0.1:1,127.0.0.1:2/blog?replication=1&connect_timeout=10ms",
	"cassandra://bob:PW@127.0.0.1:1/blog",
	"mysql://bob:PW@127.0.0.1:1/blog",
}

// brokenURL returns a URL with a password that is not escaped, and broken in some places
// outside of the hidden word. Without at, what ends the password is lost, too: then the
// password has a sign that no host and no name has, or it could not be told from one.
func brokenURL(rnd *rand.Rand, at bool) string {
	const marks = "?/@#%:&=;,[] \"\\!+.12x\n\x00é"
	pick := func() string { return string([]rune(marks)[rnd.IntN(len([]rune(marks)))]) }
	password := ""
	for range rnd.IntN(4) {
		password += pick()
	}
	for range 1 + rnd.IntN(3) {
		password += hiddenWord + pick()
	}
	raw := secretURLs[rnd.IntN(len(secretURLs))]
	if !at {
		password = "!" + hiddenWord + "!" + hiddenWord + "!"
		raw = strings.Replace(raw, "@", "", 1)
	}
	for range rnd.IntN(3) {
		i := rnd.IntN(len(raw) + 1)
		if p := strings.Index(raw, "PW@"); i > p && i < p+3 {
			continue // the mark that ends the password stays
		}
		switch j := min(i+1, len(raw)); rnd.IntN(3) {
		case 0:
			raw = raw[:i] + pick() + raw[i:]
		case 1:
			if !strings.ContainsAny(raw[i:j], "PW@") {
				raw = raw[:i] + raw[j:]
			}
		default:
			if p := strings.Index(raw, "PW"); i <= p {
				raw = raw[i:] // the beginning is lost
			}
		}
	}
	return strings.Replace(raw, "PW", password, 1)
}

// No error of a URL that is broken in any way has the password, or a part of it, and what
// commands print of it has none.
func TestNoErrorHasAPassword(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	opened, seen := 0, map[string]bool{}
	for n := range 4000 {
		url := brokenURL(rnd, n%4 > 0)
		if !strings.Contains(url, "@") && !strings.Contains(url, "://") {
			continue // no trace of a URL is left
		}
		if text := loadtest.Redact(url); strings.Contains(text, hiddenWord) {
			t.Errorf("%q is redacted to %q", url, text)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		s, err := backends.OpenDriver(ctx, url)
		cancel()
		if err == nil {
			opened++
			s.Close()
			continue
		}
		if strings.Contains(err.Error(), hiddenWord) {
			t.Errorf("open %q: %v", url, err)
		}
		kind, _, _ := strings.Cut(err.Error(), ";")
		seen[kind] = true
	}
	if opened > 0 || len(seen) < 15 {
		t.Errorf("%d of no server were opened, with %d kinds of errors: nothing is tried", opened, len(seen))
	}
}

func TestNoCommandPrintsAPassword(t *testing.T) {
	file := write(t, "small.yaml", small)
	rnd := rand.New(rand.NewPCG(3, 4))
	for range 25 {
		url := brokenURL(rnd, true)
		if strings.ContainsAny(url, "\x00") {
			continue // no argument of a program has it
		}
		for _, args := range [][]string{
			{"check", url, file}, {"check", url}, {"verify", url, "posts"}, {"maintain", url, "posts"}, {"rebuild", url, "posts", "by_x"},
			{"load", file, "--on", url, "--out", t.TempDir()}, {"load", url}, {"load", file, "--rate", url}, {"load", "-" + url, file}, {"load", file, "--on=" + url, "x"},
			{"conform", url, "--out", t.TempDir()}, {url}, {"version", url}, {"help", url},
		} {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
			var out, diag strings.Builder
			report(run(ctx, args, &out, &diag), &diag)
			cancel()
			if text := out.String() + diag.String(); strings.Contains(text, hiddenWord) {
				t.Errorf("%q prints %s", args, text)
			}
		}
	}
}

// The control: the texts that these tests look for are there if an error quotes its URL.
func TestPasswordsAreInBrokenURLs(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		if url := brokenURL(rnd, true); !strings.Contains(url, hiddenWord) || !strings.Contains(url, "@") {
			t.Fatalf("%q has no password", url)
		}
	}
}
