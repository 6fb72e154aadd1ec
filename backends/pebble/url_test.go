package pebble

import (
	"errors"
	"strings"
	"testing"

	"github.com/polystore/polystore/repo/driver"
)

func TestURLs(t *testing.T) {
	tests := []struct {
		url  string
		dir  string
		want Options
	}{
		{"pebble:blog.db", "blog.db", Options{}},
		{"pebble:/var/lib/blog", "/var/lib/blog", Options{}},
		{"pebble:./a b#c", "./a b#c", Options{}},
		{"pebble:a%3Fb%25c", "a?b%c", Options{}},
		{"pebble:blog.db?", "blog.db", Options{}},
		{"pebble:blog.db?sync=true", "blog.db", Options{}},
		{"pebble:blog.db?sync=false", "blog.db", Options{NoSync: true}},
		{"pebble:blog.db?create=false", "blog.db", Options{MustExist: true}},
		{"pebble:blog.db?sync=false&create=false", "blog.db", Options{NoSync: true, MustExist: true}},
		{"pebble::memory:", "", Options{InMemory: true}},
	}
	for _, tt := range tests {
		dir, opts, err := parseURL(tt.url)
		if err != nil || dir != tt.dir || *opts != tt.want {
			t.Errorf("parseURL(%q) = %q, %+v, %v; want %q, %+v", tt.url, dir, opts, err, tt.dir, tt.want)
		}
	}
}

func TestBadURLs(t *testing.T) {
	tests := map[string]string{ // what the error must say
		"":                                    "pebble:DIR",
		"blog.db":                             "pebble:DIR",
		"redis://user:secret@host/0":          "pebble:DIR",
		"pebble:":                             "without a directory",
		"pebble:?sync=false":                  "without a directory",
		"pebble://host/blog.db":               "begins with //",
		"pebble:blog.db?fsync=false":          `unknown option "fsync"; there are sync and create`,
		"pebble:blog.db?sync=no":              "true or false",
		"pebble:blog.db?sync=true&sync=false": "once",
		"pebble:blog.db?create=maybe":         "create is to be true or false",
		"pebble:blog.db?sync=%zz":             "cannot be read",
		"pebble:a%zz":                         "%25",
		"pebble:a%00b":                        "NUL",
		"pebble::memory:?sync=false":          "no options",
		"pebble:blog.db?password=secret":      "unknown option",
	}
	for url, want := range tests {
		_, err := OpenURL(url)
		if !errors.Is(err, driver.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("OpenURL(%q) = %v, want ErrInvalid that says %q", url, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("OpenURL(%q) gives away a secret: %v", url, err)
		}
	}
}

func TestOpenURL(t *testing.T) {
	for url, want := range map[string]driver.Durability{
		"pebble:" + t.TempDir() + "/a":            driver.Power,
		"pebble:" + t.TempDir() + "/b?sync=false": driver.Memory,
		"pebble::memory:":                         driver.Memory,
	} {
		s, err := OpenURL(url)
		if err != nil {
			t.Fatalf("OpenURL(%q) = %v", url, err)
		}
		if got := s.Facts().Durability; got != want {
			t.Errorf("OpenURL(%q) has durability %v, want %v", url, got, want)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}
