package cassandra

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/apache/cassandra-gocql-driver/v2"

	"github.com/polystore/polystore/internal/backend"
	"github.com/polystore/polystore/repo/driver"
)

// A Store is a driver.Store and driver.Counter on one keyspace of Cassandra.
type Store struct {
	session  *gocql.Session
	dialer   *backend.Dialer // of the session, nil if Open did not make it
	own      bool            // the session is closed with the store
	addr     string          // for people, without anything secret
	keyspace string
	dc       string
	facts    driver.Facts
	most     int // bytes of a commit

	level  gocql.Consistency // of writes, and of reads
	serial gocql.Consistency // of conditions, and of reads before them

	life  backend.Life
	locks locks

	slow      slowSpans
	pieceRows int
	rested    time.Duration // see the constant
	sweepRows int           // see the constant

	schema  sync.RWMutex // of this program: held to change tables and, by readers, to get to know them
	views   backend.Views[view]
	made    atomic.Bool   // the table of the catalog is there
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
		return nil, invalid("open: no session")
	}
	if opts == nil {
		opts = &Options{}
	}
	s := &Store{session: session, addr: "the server"}
	if err := s.open(ctx, opts); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *Store) open(ctx context.Context, opts *Options) error {
	s.locks, s.pieceRows, s.rested, s.sweepRows = newLocks(), pieceRows, rested, sweepRows
	s.life.Begin(who, s.shut)
	if err := s.use(opts); err != nil {
		return err
	}
	if err := ended(ctx); err != nil {
		return err
	}
	return s.learn(ctx, opts)
}

// Facts says what the store is, as the server said when it was opened.
func (s *Store) Facts() driver.Facts { return s.facts }

// enter begins a call. Without an error the caller must leave.
func (s *Store) enter(ctx context.Context) error { return s.life.Enter(ended(ctx)) }

func (s *Store) leave() { s.life.Leave() }

// Close waits for calls under way. A loop over Range or Walk gets ErrClosed when
// it goes on. The session is closed if Open made it.
func (s *Store) Close() error { return s.life.Close() }

func (s *Store) shut() error {
	if !s.own {
		return nil
	}
	closed := make(chan struct{})
	go func() {
		s.session.Close()
		close(closed)
	}()
	select {
	case <-closed:
		return nil
	case <-time.After(farewell):
		return fmt.Errorf("cassandra: close: %s: the client is still trying to reach a server: %w", s.addr, driver.ErrUnavailable)
	}
}

// farewell is how long Close waits for the client, which can wait for ever for an answer
// to the heartbeat of its control connection.
const farewell = 5 * time.Second

// view returns what is known of t, which is no native index.
func (s *Store) view(t *driver.Table) (*view, error) {
	if t != nil && t.Native {
		return nil, invalid("table %s is a native index, which is only read in order", t.Name)
	}
	return s.views.Known(who, t)
}
