package redis

import (
	"context"
	"fmt"
	"sync"

	goredis "github.com/redis/go-redis/v9"

	"github.com/polystore/polystore/internal/backend"
	"github.com/polystore/polystore/repo/driver"
)

// A Store is a driver.Store, driver.Counter and driver.Sizer on one Redis server or
// one Redis Cluster.
type Store struct {
	client goredis.UniversalClient // the one given, or a router or waiter around it
	quorum quorum
	dialer *backend.Dialer // of the client, nil if Open did not make it
	own    bool            // the client is closed with the store
	addr   string          // for people, without anything secret
	db     int
	prefix string
	facts  driver.Facts
	line   line
	maps   bool // the client speaks version 3 of the protocol, in which a hash comes as a map

	forgets bool // no server takes away keys that go by themselves before it is time

	creation, drop, remove, put, edit, patch, commit *script

	life backend.Life

	schema sync.Mutex // held while views change, not to read them
	views  backend.Views[view]
}

// New returns a store on a client of the caller's own, which stays open when the
// store is closed. Nil options are the zero Options. It asks the server what it
// is, and writes nothing. A client or a server that cannot keep the contract is
// refused:
//
//   - ErrInvalid: ContextTimeoutEnabled is not set, a time-out is switched off,
//     replies are cached at the client, or it reads from replicas; the password, user
//     or database is wrong;
//   - ErrUnsupported: a ring, a server older than 7.0, one that removes keys by itself
//     when its memory is full, a cluster behind a client of one server or the reverse;
//   - ErrUnavailable: there is no server, it is loading its data, or a replica; there
//     are fewer replicas than MinReplicas.
//
// MaxRetries of the client counts for reading only: a commit is sent once.
func New(ctx context.Context, client goredis.UniversalClient, opts *Options) (*Store, error) {
	return newStore(ctx, client, opts, nil)
}

// newStore is New. The dialer is that of the client if Open made it.
func newStore(ctx context.Context, client goredis.UniversalClient, opts *Options, dialer *backend.Dialer) (*Store, error) {
	if opts == nil {
		opts = &Options{}
	}
	prefix, err := opts.prefix()
	if err != nil {
		return nil, err
	}
	s := &Store{
		dialer:   dialer,
		prefix:   prefix,
		creation: newScript(createText),
		drop:     newScript(dropText),
		remove:   newScript(removeText),
		edit:     newScript(editText),
		put:      newScript(spanText, setsText, rowsText, putText),
		patch:    newScript(spanText, overText, setsText, rowsText, patchText),
		commit:   newScript(spanText, overText, setsText, commitText),
	}
	if err := s.use(client, opts.MinReplicas); err != nil {
		return nil, err
	}
	s.life.Begin(who, s.shut)
	if err := s.learn(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// Facts says what the store is, as the server said when it was opened.
func (s *Store) Facts() driver.Facts { return s.facts }

// enter begins a call. Without an error the caller must leave.
func (s *Store) enter(ctx context.Context) error { return s.life.Enter(ended(ctx)) }

func (s *Store) leave() { s.life.Leave() }

// Close waits for calls under way. A loop over Range or Walk gets ErrClosed when
// it goes on. The client is closed if Open made it.
func (s *Store) Close() error { return s.life.Close() }

func (s *Store) shut() error {
	s.line.close()
	if !s.own {
		return nil
	}
	if err := s.client.Close(); err != nil {
		return fmt.Errorf("redis: close: %s: %w: %w", s.addr, driver.ErrUnavailable, err)
	}
	return nil
}
