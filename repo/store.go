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
	// Now is the clock that decides what has expired, and how old is what Maintain and
	// Resolve find; nil is time.Now. One that is ahead lets Maintain take away what others
	// may need.
	Now func() time.Time

	// Tracer is told of operations and of what they send. The zero value costs nothing.
	Tracer Tracer

	// CursorKey, if set, signs cursors and the texts of outcomes, so that a client cannot make
	// one up. It must be the same for all programs that exchange them. Without it take no
	// [Outcome] from a client.
	CursorKey []byte

	// Redact keeps keys and values out of error texts, those of backends and of servers included.
	// Errors are then not unwrapped: errors.Is and errors.As tell what they are. What a function
	// given to Update returns is shown as it is.
	Redact bool
}

// A Store is a backend with what all repositories on it share. Make one for
// each backend and open all repositories on it; it may be used by many
// goroutines at once.
type Store struct {
	handle      store.Handle
	tracer      Tracer
	cleaner     remote.Cleaner
	collections catalog.Registry
	upkeep      household
}

// NewStore returns a Store on a backend. The Store owns the backend: Close
// closes both. Opts may be nil. Without a backend all that is done on it is ErrInvalid.
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

// Close waits for operations under way and releases the backend. [Store.Maintain] it ends.
// Operations that begin later fail with ErrClosed. What loose indexes left behind in the last minute
// stays for Maintain, and so does what could not be removed in some seconds.
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

// redact returns err as it may be shown: as it is, or without keys and values if the options say so.
func (s *Store) redact(err error) error {
	if !s.handle.Opts.Redact {
		return err
	}
	return failure.Redact(err)
}

// another returns a Store on the same backend that knows of no repository.
func (s *Store) another() *Store {
	h := &s.handle
	return NewStore(h.Driver, &Options{Now: h.Opts.Now, Tracer: s.tracer, CursorKey: h.Opts.CursorKey, Redact: h.Opts.Redact})
}
