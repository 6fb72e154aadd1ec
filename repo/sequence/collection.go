package sequence

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// Greatest is the greatest number that a sequence hands out.
const Greatest int64 = math.MaxInt64 - 1

// ErrExhausted is an ErrInvalid: the sequence has handed out [Greatest].
var ErrExhausted = fmt.Errorf("the sequence is exhausted: it has no number above %d: %w", Greatest, repo.ErrInvalid)

// Bounds of names and blocks.
const (
	mostName  = 256
	mostBlock = 1_000_000
)

// A Collection keeps sequences under their names. Many goroutines may use a Collection at once. Make one with [Open].
type Collection struct {
	name string
	repo *repo.Repo[record]
}

// A record is the state of a sequence.
type record struct {
	Name    string       `repo:"name"`
	Next    *int64       `repo:"next"` // absent only in a record of another program
	Version repo.Version `repo:",version"`
}

// Open opens a collection of sequences, which is made if it is not there. A collection of other records is ErrSchema.
func Open(ctx context.Context, store *repo.Store, collection string, opts ...repo.OpenOption) (*Collection, error) {
	r, err := repo.Open[record](ctx, store, repo.Schema{Collection: collection, Partition: []string{"name"}}, opts...)
	if err != nil {
		return nil, err
	}
	return &Collection{collection, r}, nil
}

// Options configure a [Sequence]. Nil is the zero value.
type Options struct {
	// Block is how many numbers one write takes at least: 1 to 1,000,000; 0 is 1. Blocks make numbers cheap. The price
	// is that numbers of several programs are not in the order in which they were handed out, and that the rest of a
	// block is skipped when its program ends.
	Block int

	// First is the first number of a sequence that is not there yet; 0 is 1. Of a sequence that is there, it is
	// ignored. For a sequence from 0 on call [Sequence.Reuse] once.
	First int64
}

// Sequence returns the sequence of a name: a text of 1 to 256 bytes without '/', ':', spaces and characters that do
// not print. It reads and writes nothing. The sequence is made by its first number. Programs that share a sequence may
// have different options.
func (c *Collection) Sequence(name string, opts *Options) (*Sequence, error) {
	if opts == nil {
		opts = &Options{}
	}
	s := &Sequence{collection: c, name: name, block: int64(opts.Block), first: opts.First}
	if s.block == 0 {
		s.block = 1
	}
	if s.first == 0 {
		s.first = 1
	}
	separates := func(r rune) bool { return r == '/' || r == ':' || unicode.IsSpace(r) || !unicode.IsPrint(r) }
	var err error
	switch {
	case c == nil || c.repo == nil:
		err = fmt.Errorf("the collection is empty: make one with Open: %w", repo.ErrInvalid)
	case name == "" || len(name) > mostName:
		err = fmt.Errorf("a name of %d bytes; use 1 to %d: %w", len(name), mostName, repo.ErrInvalid)
	case !utf8.ValidString(name) || strings.ContainsFunc(name, separates):
		err = fmt.Errorf("the name has '/', ':', a space or a character that does not print: %w", repo.ErrInvalid)
	case s.block < 1 || s.block > mostBlock:
		err = fmt.Errorf("a block of %d numbers; use 1 to %d: %w", s.block, mostBlock, repo.ErrInvalid)
	case s.first > Greatest:
		err = fmt.Errorf("the first number is above %d: %w", Greatest, repo.ErrInvalid)
	default:
		return s, nil
	}
	return nil, s.failed("sequence", err)
}

// failed says which call failed, and on which sequence.
func (s *Sequence) failed(op string, err error) error {
	if err == nil {
		return nil
	}
	out := repo.Error{Retryable: errors.Is(err, repo.ErrTimeout), Err: err}
	if e, ok := err.(*repo.Error); ok { //nolint:errorlint // not what is within another error
		out = *e
	} else if s != nil && s.collection != nil && s.collection.repo != nil {
		shown := s.collection.repo.Store().Redact
		out.Collection, out.Err = s.collection.name, shown(err)
		out.Key = shown(driver.Errorf("%s", driver.Private(s.name))).Error()
	}
	out.Op = op
	return &out
}
