package pebble

import (
	"net/url"
	"strings"

	"github.com/polystore/polystore/repo/driver/address"
)

// OpenURL opens the store that a URL names:
//
//	pebble:DIR[?option=value&…]   the directory DIR, absolute or not
//	pebble::memory:               a new store in memory
//
// In DIR the characters '%' and '?' are written %25 and %3F. The options, each at most once, are
// sync, create, cache and memtable: docs/reference/urls.md has what each does, and what holds
// without it. A URL of another form is ErrInvalid.
func OpenURL(u string) (*Store, error) {
	dir, opts, err := parseURL(u)
	if err != nil {
		return nil, err
	}
	return Open(dir, opts)
}

const urlForms = "want pebble:DIR, pebble:DIR?sync=false, pebble:DIR?create=false or pebble::memory:"

func parseURL(u string) (dir string, opts *Options, err error) {
	rest, ok := strings.CutPrefix(u, "pebble:")
	if !ok {
		return "", nil, who.Invalid("open: a URL that does not begin with pebble:; %s", urlForms)
	}
	rest, query, asked := strings.Cut(rest, "?")
	if rest == ":memory:" {
		if asked {
			return "", nil, who.Invalid("open: a store in memory has no options; %s", urlForms)
		}
		return "", &Options{InMemory: true}, nil
	}
	dir, err = url.PathUnescape(rest)
	switch {
	case err != nil:
		return "", nil, who.Invalid("open: a directory with a %% that is not written %%25; %s", urlForms)
	case dir == "":
		return "", nil, who.Invalid("open: a URL without a directory; %s", urlForms)
	case strings.HasPrefix(dir, "//"):
		return "", nil, who.Invalid("open: a directory that begins with //, as a host would; %s", urlForms)
	case strings.ContainsRune(dir, 0):
		return "", nil, who.Invalid("open: a directory with a NUL; %s", urlForms)
	}
	said := said{sync: true, create: true}
	err = said.options().Parse(who, query)
	said.NoSync, said.MustExist = !said.sync, !said.create
	return dir, &said.Options, err
}

// A said is what the options of a URL say.
type said struct {
	Options
	sync, create bool
}

func (s *said) options() address.Options {
	return address.Options{
		{Name: "sync", Does: "acknowledges a commit when it is on disk; false is Options.NoSync", Default: "true", To: &s.sync},
		{Name: "create", Does: "makes the store if there is none; false is Options.MustExist", Default: "true", To: &s.create},
		{Name: "cache", Does: "memory for blocks that were read, 1 MiB to 1 TiB; Options.CacheBytes", Default: "64MiB", To: &s.CacheBytes},
		{Name: "memtable", Does: "memory for a table of recent writes, of which there are up to four, 1 MiB to 1 GiB; Options.MemTableBytes",
			Default: "32MiB", To: &s.MemTableBytes},
	}
}
