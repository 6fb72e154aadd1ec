package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/polystore/polystore/loadtest"
)

// A share is the flag that says which part of a load this process sends.
type share struct{ number, of int }

// String returns the flag as it is written.
func (s *share) String() string {
	if s.of == 0 {
		return ""
	}
	return fmt.Sprintf("%d/%d", s.number, s.of)
}

// Set reads I/N, where 1 ≤ I ≤ N.
func (s *share) Set(text string) error {
	i, n, ok := strings.Cut(text, "/")
	number, err := strconv.Atoi(i)
	of, err2 := strconv.Atoi(n)
	if !ok || err != nil || err2 != nil || number < 1 || number > of {
		return fmt.Errorf("it is I/N, the I-th of N processes, as in --share 2/3")
	}
	s.number, s.of = number, of
	return nil
}

// An instant is the flag of a time.
type instant struct{ time.Time }

// String returns the flag as it is written.
func (t *instant) String() string {
	if t.IsZero() {
		return ""
	}
	return t.Format(time.RFC3339)
}

// someStart returns a start as an example.
func someStart() string {
	return time.Now().Add(5 * time.Minute).UTC().Truncate(time.Minute).Format(time.RFC3339)
}

// Set reads a time with its zone, since machines may be in several.
func (t *instant) Set(text string) (err error) {
	if t.Time, err = time.Parse(time.RFC3339, text); err != nil {
		return fmt.Errorf("it is a time with its zone, the same for all shares, as in --start-at %s", someStart())
	}
	return nil
}

// shared returns which part of the load this process sends, nil if that is all.
func (f *loadFlags) shared() (*loadtest.Share, error) {
	switch {
	case f.share.of == 0 && f.startAt.IsZero():
		return nil, nil
	case f.share.of == 0:
		return nil, usageError("load: --start-at is for shares of a load; say which one this is, as in --share 1/3, or leave it out")
	case f.startAt.IsZero():
		return nil, usageError("load: --share needs the time at which all shares begin, as in --start-at %s", someStart())
	case len(f.starts) > 0:
		return nil, usageError("load: a server of --start is of this process alone; start it before, and name it with --on in all shares")
	case f.baseline != "":
		return nil, usageError("load: a share has no verdict to compare; merge all shares, and then say polystore compare %s RESULT", quoted(f.baseline))
	case len(f.on) == 0:
		return nil, usageError("load: --share is for a store on servers, which all processes reach; name it, as in --on redis://HOST:6379")
	}
	return &loadtest.Share{Number: f.share.number, Of: f.share.of, Start: f.startAt.Time}, nil
}
