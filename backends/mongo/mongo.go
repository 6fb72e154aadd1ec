package mongo

import (
	"context"
	"time"

	mongodriver "go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/driver/frame"
)

// A Store is a driver.Store, driver.Counter, driver.Sizer and driver.Meter on one
// database of MongoDB. Close disconnects the client if Open made it.
type Store struct {
	*frame.Store[view]
	in *store
}

// A store is what the frame of a Store does not do.
type store struct {
	frame   *frame.Frame[view]
	conn    *conn
	catalog catalog
	facts   driver.Facts
}

// New returns a store on a client of the caller's own, which stays connected when the
// store is closed. Nil options are the zero Options. It asks the server what it is,
// and writes nothing. A server that cannot keep the contract is refused:
//
//   - ErrInvalid: user, password, database or prefix are wrong, or the client has a write
//     concern, read concern or read preference other than majority, journal and primary;
//   - ErrUnsupported: a router of a sharded cluster, a server older than 5.0, FerretDB
//     unless Options allow it;
//   - ErrUnavailable: there is no server, or it is no primary.
//
// Concerns, the read preference and retryWrites of the client do not count in any case:
// every command says its own, and is sent once. Set the client's Timeout: without one a call
// whose context has no deadline waits as long as the network is silent. A client with
// SetDirect stays with its server when that is no longer the primary: it is for
// servers that stand alone.
func New(ctx context.Context, client *mongodriver.Client, opts *Options) (*Store, error) {
	if client == nil {
		return nil, who.Invalid("open: no client")
	}
	if opts == nil {
		opts = &Options{}
	}
	if err := strong(client); err != nil {
		return nil, err
	}
	return open(ctx, newConn(client), opts)
}

// open makes the store of a connection.
func open(ctx context.Context, c *conn, opts *Options) (*Store, error) {
	s := &store{conn: c, catalog: catalog{conn: c}}
	if err := s.use(opts); err != nil {
		return nil, err
	}
	if err := s.learn(ctx, opts); err != nil {
		return nil, err
	}
	s.frame = frame.New[view](who, s.facts)
	return &Store{s.frame.Store(s), s}, nil
}

// Close undoes what is left behind, and disconnects the client if Open made it.
func (s *store) Close() error { return s.conn.close() }

// Count returns the number of rows of a span, which the server counts.
func (s *Store) Count(ctx context.Context, span driver.Span) (int, error) {
	return frame.Read(ctx, s.in.frame, span.Table, span.Mask, func(v *view) (int, error) { return s.in.count(ctx, v, &span) })
}

// Size returns the bytes of the documents of a table, before they are compressed, and
// of their index.
func (s *Store) Size(ctx context.Context, t *driver.Table) (int64, error) {
	return frame.Read(ctx, s.in.frame, t, nil, func(v *view) (int64, error) { return s.in.size(ctx, v) })
}

// CPU returns the processor time of the primary's process so far, for all its clients
// and databases. Servers on Linux tell it, to a user with the role clusterMonitor.
func (s *Store) CPU(ctx context.Context) (time.Duration, error) {
	return frame.Call(ctx, s.in.frame, s.in.conn.cpu)
}

// Time returns what the clock of the primary shows.
func (s *Store) Time(ctx context.Context) (time.Time, error) {
	return frame.Call(ctx, s.in.frame, s.in.conn.time)
}

// Erase removes the database, whose name must begin with driver.Temporary.
func (s *Store) Erase(ctx context.Context) error {
	return s.in.frame.Erase(ctx, "the name of the database", s.in.conn.db, s.in.conn.erase)
}

var (
	_ driver.Counter  = (*Store)(nil)
	_ driver.Follower = (*Store)(nil)
	_ driver.Grouper  = (*Store)(nil)
	_ driver.Sizer    = (*Store)(nil)
	_ driver.Meter    = (*Store)(nil)
	_ driver.Clock    = (*Store)(nil)
	_ driver.Eraser   = (*Store)(nil)
)
