package mongo

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	mongodriver "go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/polystore/polystore/internal/backend"
	"github.com/polystore/polystore/repo/driver"
)

// A Store is a driver.Store, driver.Counter, driver.Sizer and driver.Meter on one
// database of MongoDB.
type Store struct {
	client *mongodriver.Client
	own    bool            // the client is disconnected with the store
	dialer *backend.Dialer // of the client, nil if Open did not make it
	addr   string          // for people, without anything secret
	db     string
	prefix string
	ferret bool // FerretDB is taken
	direct bool // the client stays with one server
	set    bool // the server is one of a replica set
	facts  driver.Facts

	life   backend.Life
	chores sync.WaitGroup // what a call left behind to be put in order
	undoer undoer
	term   atomic.Int64 // the latest in which the primary is known to know all that was acknowledged

	schema sync.Mutex // held while views change, not to read them
	views  backend.Views[view]
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
		return nil, invalid("open: no client")
	}
	if opts == nil {
		opts = &Options{}
	}
	if err := strong(client); err != nil {
		return nil, err
	}
	s := &Store{client: client, addr: "the server"}
	if err := s.open(ctx, opts); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *Store) open(ctx context.Context, opts *Options) error {
	s.life.Begin(who, s.shut)
	if err := s.use(opts); err != nil {
		return err
	}
	return s.learn(ctx)
}

// Facts says what the store is, as the server said when it was opened.
func (s *Store) Facts() driver.Facts { return s.facts }

// enter begins a call. Without an error the caller must leave.
func (s *Store) enter(ctx context.Context) error { return s.life.Enter(ended(ctx)) }

func (s *Store) leave() { s.life.Leave() }

// Close waits for calls under way. A loop over Range or Walk gets ErrClosed when
// it goes on. The client is disconnected if Open made it.
func (s *Store) Close() error { return s.life.Close() }

func (s *Store) shut() error {
	s.chores.Wait()
	s.undoLast()
	if !s.own {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), choreTime)
	defer cancel()
	if err := s.client.Disconnect(ctx); err != nil {
		return fmt.Errorf("mongo: close: %s: %w: %w", s.addr, driver.ErrUnavailable, err)
	}
	return nil
}

// choreTime is how long something may take that no call waits for.
const choreTime = 2 * time.Second

// afterwards does something that the call need not wait for, and Close does.
func (s *Store) afterwards(do func(ctx context.Context)) {
	s.chores.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), choreTime)
		defer cancel()
		do(ctx)
	})
}
