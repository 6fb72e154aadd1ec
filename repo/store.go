package repo

import (
	"fmt"
	"time"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/catalog"
	"github.com/polystore/polystore/repo/internal/commit/remote"
	"github.com/polystore/polystore/repo/internal/failure"
	"github.com/polystore/polystore/repo/internal/store"
)

// Options configure a [Store]. The zero value is a good default.
type Options struct {
	// Now is the clock that decides what has expired, and how old the tombstones and writes are
	// that Maintain and Resolve find; nil is time.Now. With a clock that is ahead, Maintain may
	// remove what others need.
	Now func() time.Time

	// Tracer is told of operations and of their requests. The zero value costs nothing.
	Tracer Tracer

	// CursorKey, if set, signs cursors and the texts of outcomes, so that a client cannot forge
	// them. All programs that exchange them must have the same key. Without a key take no [Outcome]
	// from a client.
	CursorKey []byte

	// Redact keeps keys and values out of error texts, including the texts of backends and of
	// servers. Errors are then not unwrapped: errors.Is and errors.As tell what they are. An error
	// of a function given to Update is shown as it is.
	Redact bool
}

// A Store is a backend with the state that all repositories on it share. Make one Store for each
// backend, and open all repositories on it: two Stores on one backend whose Facts.OneProcess is set do not see each
// other's changes of indexes. Many goroutines may use a Store at once.
type Store struct {
	handle      store.Handle
	tracer      Tracer
	cleaner     remote.Cleaner
	collections catalog.Registry
	upkeep      maintained
}

// NewStore returns a Store on a backend. The Store owns the backend: Close closes both. Opts may be
// nil. If backend is nil, every operation on the Store is ErrInvalid.
func NewStore(backend driver.Store, opts *Options) *Store {
	if isNil(backend) {
		backend = noBackend{}
	}
	var o Options
	if opts != nil {
		o = *opts
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &Store{tracer: o.Tracer}
	s.handle.Driver, s.handle.Facts, s.handle.Cat = backend, backend.Facts(), catalog.Table()
	s.handle.Opts = store.Settings{Now: o.Now, Tracer: s.told(), CursorKey: o.CursorKey, Redact: o.Redact}
	s.handle.Background.Start()
	s.cleaner.Start(&s.handle)
	return s
}

// Facts says what the store is and can do.
func (s *Store) Facts() driver.Facts {
	if s == nil {
		return driver.Facts{}
	}
	return s.handle.Facts
}

// Driver returns the backend, for what only the backend can do.
func (s *Store) Driver() driver.Store {
	if s == nil {
		return nil
	}
	return s.handle.Driver
}

// Close waits for operations under way, ends [Store.Maintain], and releases the backend. Operations
// that begin later fail with ErrClosed. Rows that writes with remote indexes (in other partitions)
// left behind in the last minute stay for Maintain, and so do rows that could not be removed in
// some seconds.
func (s *Store) Close() error {
	if s == nil || s.handle.Driver == nil {
		return &Error{Op: "close", Err: failure.ErrNoStore}
	}
	s.handle.Background.Close()
	s.upkeep.end(s)
	s.cleaner.Close()
	if err := s.handle.Driver.Close(); err != nil {
		return fmt.Errorf("repo close %s: %w", s.handle.Facts.Name, err)
	}
	return nil
}

// Redact returns err as it may be shown: as it is or, if the options say so, without what is
// [driver.Private]. It is for packages that make errors of their own.
func (s *Store) Redact(err error) error {
	if s == nil || !s.handle.Opts.Redact || err == nil {
		return err
	}
	return failure.Redact(err)
}

// another returns a Store on the same backend that knows of no repository.
func (s *Store) another() *Store {
	h := &s.handle
	return NewStore(h.Driver, &Options{Now: h.Opts.Now, Tracer: s.tracer, CursorKey: h.Opts.CursorKey, Redact: h.Opts.Redact})
}
