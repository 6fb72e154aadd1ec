package pebble

import (
	"errors"
	"strings"
	"testing"

	"github.com/polystore/polystore/internal/backendtest"
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
		{"pebble:blog.db?cache=256MiB&memtable=1048576", "blog.db", Options{CacheBytes: 256 << 20, MemTableBytes: 1 << 20}},
		{"pebble:blog.db?cache=2GiB", "blog.db", Options{CacheBytes: 2 << 30}},
		{"pebble:blog.db?memtable=2048KiB", "blog.db", Options{MemTableBytes: 2 << 20}},
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
		"":                                     "pebble:DIR",
		"blog.db":                              "pebble:DIR",
		"redis://user:secret@host/0":           "pebble:DIR",
		"pebble:":                              "without a directory",
		"pebble:?sync=false":                   "without a directory",
		"pebble://host/blog.db":                "begins with //",
		"pebble:blog.db?fsync=false":           "option 1 of the URL is none of sync, create, cache, memtable",
		"pebble:blog.db?sync=no":               "true or false",
		"pebble:blog.db?sync=true&sync=false":  "once",
		"pebble:blog.db?create=maybe":          "create is to be true or false",
		"pebble:blog.db?sync=%zz":              "cannot be read",
		"pebble:blog.db?cache=64MB":            "option cache is to be a size like 64MiB",
		"pebble:blog.db?cache=":                "is to be a size",
		"pebble:blog.db?cache=-1":              "is to be a size",
		"pebble:blog.db?memtable=0":            "memtable is to be a size",
		"pebble:blog.db?cache=9000000000GiB":   "is to be a size",
		"pebble:blog.db?cache=1MiB&cache=2MiB": "once",
		"pebble:blog.db?cache=5":               "CacheBytes is 5",
		"pebble:blog.db?memtable=2GiB":         "MemTableBytes is 2147483648",
		"pebble:a%zz":                          "%25",
		"pebble:a%00b":                         "NUL",
		"pebble::memory:?sync=false":           "no options",
		"pebble:blog.db?password=secret":       "is none of",
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

// Sizes reach Pebble, which takes two memtables out of its cache.
func TestSizesOfMemory(t *testing.T) {
	s, err := OpenURL("pebble:" + t.TempDir() + "?cache=3MiB&memtable=2MiB")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for want, opts := range map[[2]int64]*Options{{3<<20 + 2*(2<<20), 2 << 20}: {CacheBytes: 3 << 20, MemTableBytes: 2 << 20}, {128 << 20, 32 << 20}: {}} {
		if o := s.in.pebbleOptions(opts, nil); o.CacheSize != want[0] || int64(o.MemTableSize) != want[1] {
			t.Errorf("%+v: cache %d, memtable %d; want %d", *opts, o.CacheSize, o.MemTableSize, want)
		}
	}
	if m := s.in.db.Metrics(); m.MemTable.Size > 2<<20 {
		t.Errorf("the memtable of a store with 2 MiB has %d bytes", m.MemTable.Size)
	}
}

func TestURLOptionsInReference(t *testing.T) {
	backendtest.URLOptions(t, "Pebble", new(said).options())
}
