package redis

import (
	"context"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/driver/address"
	"github.com/polystore/polystore/repo/driver/frame"
)

// A Store is a driver.Store, driver.Counter, driver.Ranger and driver.Sizer on one Redis server or
// one Redis Cluster. Close closes the client if Open made it.
type Store struct {
	*frame.Store[view]
	in *store
}

// A store is what the frame of a Store does not do.
type store struct {
	frame   *frame.Frame[view]
	conn    *conn
	facts   driver.Facts
	forgets bool // no server takes away keys that go by themselves before it is time
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
func newStore(ctx context.Context, client goredis.UniversalClient, opts *Options, dialer *address.Dialer) (*Store, error) {
	if opts == nil {
		opts = &Options{}
	}
	prefix, err := opts.prefix()
	if err != nil {
		return nil, err
	}
	c := &conn{dialer: dialer, prefix: prefix}
	if err := c.use(client, opts.MinReplicas); err != nil {
		return nil, err
	}
	s := &store{conn: c}
	if err := s.learn(ctx); err != nil {
		return nil, err
	}
	s.frame = frame.New[view](who, s.facts)
	return &Store{s.frame.Store(s), s}, nil
}

// Close waits for what is to be sent, and closes the client if Open made it.
func (s *store) Close() error { return s.conn.close() }

// Count returns the number of rows of a span.
func (s *Store) Count(ctx context.Context, span driver.Span) (int, error) {
	return frame.Read(ctx, s.in.frame, span.Table, nil, func(v *view) (int, error) { return s.in.count(ctx, v, span) })
}

// Size returns the memory of all keys of a table but dead records that go by themselves.
func (s *Store) Size(ctx context.Context, t *driver.Table) (int64, error) {
	return frame.Read(ctx, s.in.frame, t, nil, func(v *view) (int64, error) { return s.in.size(ctx, v) })
}

// CPU returns the processor time of the server's process so far, for all its clients and
// databases, and of all masters of a cluster. Those that it forks, to write a snapshot or its
// log anew, are not in it.
func (s *Store) CPU(ctx context.Context) (time.Duration, error) {
	return frame.Call(ctx, s.in.frame, s.in.conn.cpu)
}

// Time returns what the server's clock shows, in a cluster that of one of its masters.
func (s *Store) Time(ctx context.Context) (time.Time, error) {
	return frame.Call(ctx, s.in.frame, s.in.conn.time)
}

// Erase removes all keys under the prefix, which must begin with driver.Temporary.
func (s *Store) Erase(ctx context.Context) error {
	return s.in.frame.Erase(ctx, "the prefix", s.in.conn.prefix, s.in.conn.erase)
}

var (
	_ driver.Counter = (*Store)(nil)
	_ driver.Ranger  = (*Store)(nil)
	_ driver.Sizer   = (*Store)(nil)
	_ driver.Meter   = (*Store)(nil)
	_ driver.Clock   = (*Store)(nil)
	_ driver.Eraser  = (*Store)(nil)
)
