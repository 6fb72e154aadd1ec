package cassandra

import (
	"cmp"
	"context"
	"sync/atomic"
	"time"

	"github.com/apache/cassandra-gocql-driver/v2"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/driver/frame"
)

// A Store is a driver.Store, driver.Counter, driver.Gatherer and driver.Sweeper on one keyspace of Cassandra.
// Close closes the session if Open made it.
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

	locks locks

	slow      slowSpans
	pieceRows int
	rested    time.Duration // see the constant
	sweepRows int           // see the constant

	numbers atomic.Uint64 // of views
}

// New returns a store on a session of the caller's own, which stays open when the
// store is closed. Options name the keyspace. It asks the server what it is, and
// writes nothing, unless Options say how to make a keyspace that is not there. A
// server that cannot keep the contract is refused:
//
//   - ErrInvalid: there is no such keyspace, or the user may not read;
//   - ErrSchema: the keyspace is used with another consistency; see Options.Datacenter;
//   - ErrUnsupported: a server older than 4.1, one that forbids ALLOW FILTERING, a
//     session that does not speak protocol version 5;
//   - ErrUnavailable: no server answers.
//
// The consistency, keyspace, retries and speculative execution that the session was
// made with do not count: every statement says its own, and none is sent twice. Give it
// a TokenAwareHostPolicy that does not shuffle replicas, so that the conditions of one
// partition are looked at by one server; a ReconnectInterval of a second; and, because with
// the client's own nobody connects to a server again for a second or more after a network
// broke, a ReconnectionPolicy with one try and a ConvictionPolicy that convicts no server;
// and no MaxWaitSchemaAgreement: this package waits by itself after a change of the
// schema, and the client waits for a minute if a server is down.
func New(ctx context.Context, session *gocql.Session, opts *Options) (*Store, error) {
	if session == nil {
		return nil, who.Invalid("open: no session")
	}
	if opts == nil {
		opts = &Options{}
	}
	return open(ctx, &conn{session: session, addr: "the server"}, opts)
}

// open makes the store of a connection.
func open(ctx context.Context, c *conn, opts *Options) (*Store, error) {
	s := &store{conn: c, catalog: catalog{conn: c}, locks: newLocks(), pieceRows: pieceRows, rested: rested, sweepRows: sweepRows}
	if err := cmp.Or(c.use(opts), who.Over(ctx)); err != nil {
		return nil, err
	}
	if err := s.learn(ctx); err != nil {
		return nil, err
	}
	s.frame = frame.New[view](who, s.facts)
	return &Store{s.frame.Store(s), s}, nil
}

// Close closes the session if Open made it.
func (s *store) Close() error { return s.conn.close() }

// Count returns the number of rows of a span. The server counts them; if there is a
// limit, at which it would not stop, it sends their keys.
func (s *Store) Count(ctx context.Context, span driver.Span) (int, error) {
	span.Mask, span.Reverse = nil, false
	return frame.Read(ctx, s.in.frame, span.Table, nil, func(v *view) (int, error) { return s.in.count(ctx, v, &span) })
}

// Time returns what the clock of the server shows that is asked.
func (s *Store) Time(ctx context.Context) (time.Time, error) {
	return frame.Call(ctx, s.in.frame, s.in.conn.time)
}

// Erase removes the keyspace, whose name must begin with driver.Temporary: by one statement, where
// to drop its tables takes one for each.
func (s *Store) Erase(ctx context.Context) error {
	return s.in.frame.Erase(ctx, "the name of the keyspace", s.in.conn.keyspace, s.in.conn.erase)
}

var (
	_ driver.Counter  = (*Store)(nil)
	_ driver.Gatherer = (*Store)(nil)
	_ driver.Clock    = (*Store)(nil)
	_ driver.Eraser   = (*Store)(nil)
	_ driver.Sweeper  = (*Store)(nil)
)
