package repo

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/polystore/polystore/repo/driver"
)

// Options configure a [Store]. The zero value is a good default.
type Options struct {
	// Now is the clock that decides what has expired, and how old is what Maintain and
	// Resolve find; nil is time.Now. One that is ahead lets Maintain take away what others
	// may need.
	Now func() time.Time

	// Observe is called after every operation of a Repo, by the goroutine that did it. It
	// must return quickly. Nil costs nothing.
	Observe func(Event)

	// CursorKey, if set, signs cursors and the texts of outcomes, so that a client cannot make
	// one up. It must be the same for all programs that exchange them. Without it take no
	// [Outcome] from a client.
	CursorKey []byte

	// Redact keeps keys and values out of error texts, those of backends and of servers included.
	// Errors are then not unwrapped: errors.Is and errors.As tell what they are. What a function
	// given to Update returns is shown as it is.
	Redact bool
}

// An Event tells of one operation.
type Event struct {
	Op         string // "get", "find", "insert", …
	Collection string

	// Depth and Requests are what the backend sent: round trips made one after the other,
	// and commands or statements in them. Every page of a long query is at least one of
	// either, and so is what is sent again. Where a backend does not tell (Facts.Tallies), or sends nothing
	// because it works in this process, they are its calls: one trip for a range, for a read by
	// keys and for a commit, and one request for a range, for each key and for a commit.
	Depth    int
	Requests int

	Rows int // rows that the store returned
	Err  error
	Took time.Duration
}

// A Store is a backend with what all repositories on it share. Make one for
// each backend and open all repositories on it; it may be used by many
// goroutines at once.
type Store struct {
	driver driver.Store
	facts  driver.Facts
	opts   Options
	cat    *driver.Table // the catalog

	clockFits atomic.Bool // the server was asked for the time

	cleaner    cleaner
	background background
	upkeep     household

	mu   sync.Mutex
	open map[string]*shared // by collection
}

// shared is what repositories on one collection have in common. A writer is within
// the gate while it commits, so that an index can be built alone.
type shared struct {
	gate   gate
	queues queues
	epoch  string          // of the catalog entry; "" when there is none
	tables []*driver.Table // of the repository that was opened last
	drops  atomic.Int64    // how often the collection or an index of it was dropped here

	expires atomic.Bool // the catalog says that records may expire, or will soon
	settled atomic.Bool // and all programs know it, so that they may be written

	presence atomic.Pointer[presence]
	told     map[string]time.Time // since when the catalog says what all programs are to know: for whoever is within the gate
}

// NewStore returns a Store on a backend. The Store owns the backend: Close
// closes both. Opts may be nil. Without a backend all that is done on it is ErrInvalid.
func NewStore(backend driver.Store, opts *Options) *Store {
	if isNil(backend) {
		backend = noBackend{}
	}
	s := &Store{driver: backend, facts: backend.Facts(), cat: catalogTable(), open: map[string]*shared{}}
	if opts != nil {
		s.opts = *opts
	}
	s.cleaner.store, s.cleaner.wake = s, make(chan struct{}, 1)
	s.background.over = make(chan struct{})
	if s.opts.Now == nil {
		s.opts.Now = time.Now
	}
	return s
}

// Facts says what the store is and can do.
func (s *Store) Facts() driver.Facts { return s.facts }

// Driver returns the backend, for what only the backend can do.
func (s *Store) Driver() driver.Store { return s.driver }

// Close waits for operations under way and releases the backend. [Store.Maintain] it ends.
// Operations that begin later fail with ErrClosed. What loose indexes left behind in the last minute
// stays for Maintain, and so does what could not be removed in some seconds.
func (s *Store) Close() error {
	s.background.close()
	s.upkeep.end(s)
	s.cleaner.close()
	if err := s.driver.Close(); err != nil {
		return fmt.Errorf("repo close %s: %w", s.facts.Name, err)
	}
	return nil
}

func (s *Store) shared(collection string) *shared {
	s.mu.Lock()
	defer s.mu.Unlock()
	sh := s.open[collection]
	if sh == nil {
		sh = &shared{told: map[string]time.Time{}}
		s.open[collection] = sh
	}
	return sh
}

func (s *Store) nowMillis() int64 { return s.opts.Now().UnixMilli() }

// A call is one operation under way: what it is called in errors and events,
// and what it has cost so far.
type call struct {
	op       string
	began    time.Time
	depth    int
	requests int
	rows     int
	tally    *driver.Tally // of an operation that is observed, if the store tells what it sends

	named  bool  // the store wants to know op
	within bool  // it has passed the collection's gate
	way    *way  // of an upkeep that goes on where another one ended
	now    int64 // the time that rows are judged by, before the store was asked for them
}

func (s *Store) begin(op string) call {
	c := call{op: op, named: s.facts.Operations}
	if s.opts.Observe != nil {
		c.began = time.Now()
		if s.facts.Tallies {
			c.tally = new(driver.Tally)
		}
	}
	return c
}

// asks returns the context of a call of the store, which counts what it sends. Where the
// store does not tell, the call itself counts, as one trip of some requests.
func (k *call) asks(ctx context.Context, requests int) context.Context {
	ctx = k.tells(ctx)
	if k.tally != nil {
		return driver.WithTally(ctx, k.tally)
	}
	k.depth, k.requests = k.depth+1, k.requests+requests
	return ctx
}

// tells returns the context of a call of a store that wants to know the operation.
func (k *call) tells(ctx context.Context) context.Context {
	if k.named {
		return driver.WithOperation(ctx, k.op)
	}
	return ctx
}

// walks is asks for a walk, of which got counts the chunks.
func (k *call) walks(ctx context.Context) context.Context {
	ctx = k.tells(ctx)
	if k.tally != nil {
		return driver.WithTally(ctx, k.tally)
	}
	return ctx
}

// got counts a chunk of a walk with its rows.
func (k *call) got(rows int) {
	k.rows += rows
	if k.tally == nil {
		k.depth, k.requests = k.depth+1, k.requests+1
	}
}

// atOnce calls do n times at the same time, each with a call of its own, and adds what
// these cost.
func (k *call) atOnce(n int, do func(i int, k *call)) {
	calls := make([]call, n)
	var tallies []driver.Tally
	if k.tally != nil {
		tallies = make([]driver.Tally, n)
	}
	var all sync.WaitGroup
	for i := range calls {
		calls[i].op, calls[i].named, calls[i].now, calls[i].within = k.op, k.named, k.now, k.within
		if tallies != nil {
			calls[i].tally = &tallies[i]
		}
		all.Go(func() { do(i, &calls[i]) })
	}
	all.Wait()
	depth := 0
	for i := range calls {
		k.requests, k.rows, depth = k.requests+calls[i].requests, k.rows+calls[i].rows, max(depth, calls[i].depth)
	}
	k.depth += depth
	k.tally.Beside(tallies)
}

// sent returns the round trips and requests of the operation so far.
func (k *call) sent() (depth, requests int) {
	if k.tally != nil {
		return k.tally.Count()
	}
	return k.depth, k.requests
}

func (c *collection) begin(op string) call {
	c.renew()
	k := c.store.begin(op)
	k.tick(c.store)
	return k
}

// end reports the call to the observer and makes err an *Error.
func (c *collection) end(k *call, key Key, err error) error {
	if err != nil {
		if gone := c.gone(); gone != nil && errors.Is(err, ErrInvalid) {
			err = gone // the backend does not know the tables any more
		}
		err = c.annotate(k.op, key, err)
	}
	if c.store.opts.Observe != nil {
		depth, requests := k.sent()
		c.store.opts.Observe(Event{Op: k.op, Collection: c.name, Depth: depth, Requests: requests,
			Rows: k.rows, Err: err, Took: time.Since(k.began)})
	}
	return err
}

// get reads rows by key, such that k can judge whether they have expired.
func (s *Store) get(ctx context.Context, k *call, t *driver.Table, keys []driver.Key, mask []int, rows []driver.Row) error {
	if ctx == nil {
		return errNoContext
	}
	k.tick(s)
	if err := s.read(ctx, k, t, keys, mask, rows); err != nil {
		return err
	}
	return s.settle(ctx, k, t, keys, mask, rows)
}

// read reads rows by key and counts what that costs.
func (s *Store) read(ctx context.Context, k *call, t *driver.Table, keys []driver.Key, mask []int, rows []driver.Row) error {
	k.rows += len(keys)
	if err := s.driver.Get(k.asks(ctx, len(keys)), t, keys, mask, rows); err != nil {
		return err
	}
	for i := range rows {
		if err := checkWidth(&rows[i], t, mask); err != nil {
			return err
		}
	}
	return nil
}

// checkWidth sees that a row that a store returned has no more fields than were
// asked for.
func checkWidth(row *driver.Row, t *driver.Table, mask []int) error {
	most := len(t.Fields)
	if mask != nil {
		most = len(mask)
	}
	if len(row.Fields) > most {
		return fmt.Errorf("the store returned %d fields of a row of %s, %d were asked for: %w", len(row.Fields), t.Name, most, ErrInternal)
	}
	return nil
}

func (s *Store) commit(ctx context.Context, k *call, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
	k.tick(s)
	return s.driver.Commit(k.asks(ctx, 1), token, ops)
}
