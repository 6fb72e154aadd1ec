package pebble

import (
	"math"
	"net/url"
	"strconv"
	"strings"
)

// OpenURL opens the store that a URL names:
//
//	pebble:DIR              the directory DIR, absolute or not
//	pebble:DIR?sync=false   the same with Options.NoSync; sync=true is the default
//	pebble:DIR?create=false the same with Options.MustExist; create=true is the default
//	pebble:DIR?cache=256MiB the same with Options.CacheBytes: bytes, or with KiB, MiB or GiB
//	pebble:DIR?memtable=64MiB the same with Options.MemTableBytes
//	pebble::memory:         a new store in memory
//
// In DIR the characters '%' and '?' are written %25 and %3F. A URL of another
// form is ErrInvalid.
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
		return "", nil, invalid("open: a URL that does not begin with pebble:; %s", urlForms)
	}
	rest, query, asked := strings.Cut(rest, "?")
	if rest == ":memory:" {
		if asked {
			return "", nil, invalid("open: a store in memory has no options; %s", urlForms)
		}
		return "", &Options{InMemory: true}, nil
	}
	dir, err = url.PathUnescape(rest)
	switch {
	case err != nil:
		return "", nil, invalid("open: a directory with a %% that is not written %%25; %s", urlForms)
	case dir == "":
		return "", nil, invalid("open: a URL without a directory; %s", urlForms)
	case strings.HasPrefix(dir, "//"):
		return "", nil, invalid("open: a directory that begins with //, as a host would; %s", urlForms)
	case strings.ContainsRune(dir, 0):
		return "", nil, invalid("open: a directory with a NUL; %s", urlForms)
	}
	opts = &Options{}
	return dir, opts, opts.parse(query)
}

// parse sets o to what the query of a URL says.
func (o *Options) parse(query string) error {
	values, err := url.ParseQuery(query)
	if err != nil {
		return invalid("open: options that cannot be read; %s", urlForms)
	}
	for name, given := range values {
		switch {
		case name == "cache" || name == "memtable":
			if err := o.parseSize(name, given); err != nil {
				return err
			}
		case name != "sync" && name != "create":
			return invalid("open: unknown option %q; there are sync, create, cache and memtable", name)
		case len(given) != 1 || given[0] != "true" && given[0] != "false":
			return invalid("open: option %s is to be true or false, once", name)
		case name == "sync":
			o.NoSync = given[0] == "false"
		default:
			o.MustExist = given[0] == "false"
		}
	}
	return nil
}

// parseSize sets a size: a number of bytes, or of KiB, MiB or GiB.
func (o *Options) parseSize(name string, given []string) error {
	text, unit := given[0], 0
	for i, suffix := range []string{"KiB", "MiB", "GiB"} {
		if number, ok := strings.CutSuffix(text, suffix); ok {
			text, unit = number, 10*(i+1)
		}
	}
	n, err := strconv.ParseUint(text, 10, 63)
	if err != nil || n == 0 || n > math.MaxInt64>>unit || len(given) != 1 {
		return invalid("open: option %s is to be a size, once; e.g. %s=64MiB", name, name)
	}
	if name == "cache" {
		o.CacheBytes = int64(n << unit)
	} else {
		o.MemTableBytes = int64(n << unit)
	}
	return nil
}
