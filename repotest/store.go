package repotest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/polystore/polystore/repo/driver"
)

// Options are the choices of New. The zero Options are good.
type Options struct {
	Rules []Rule

	// Uncertain makes Facts say that outcomes can be unknown, as it does anyway if
	// Rules can make them so. Set it if rules for Set will.
	Uncertain bool

	// Seed begins the random numbers. The same seed and the same calls in the same
	// order meet the same faults.
	Seed uint64

	// Observe is called after each call, from its goroutine.
	Observe func(Event)
}

// An Event is a call that came back.
type Event struct {
	Call      Call
	Operation string   // of package repo that it was part of, if that is known
	Tables    []string // that it named
	Number    int      // of this call among those of its method, from 1
	Fault     Fault    // what a rule made of it
	Rule      string   // what names the rule, in errors, too; "" if there is no fault
	Refused   bool     // of a Commit
	Err       error
	Took      time.Duration
}

// A Store is a driver.Store, driver.Counter, driver.Ranger, driver.Sizer, driver.Clock, driver.Follower and driver.Grouper
// around another one; what that one cannot do is ErrUnsupported, but for Count. It is safe for concurrent use.
type Store struct {
	inner     driver.Store
	temporary bool // its place is removed when it is closed
	closing   sync.Once
	closed    error // what Close answered
	uncertain bool
	observe   func(Event)

	mu      sync.Mutex
	rules   []counted
	calls   [Group + 1]int
	random  *rand.Rand
	late    []lateCommit
	release chan struct{} // closed by Release
}

// A counted rule knows how many calls it has seen.
type counted struct {
	Rule
	text string // that names it
	seen int
}

// New returns a store that does what inner does, except for what the rules say.
// A rule that makes no sense is ErrInvalid. Nil options are the zero Options.
func New(inner driver.Store, opts *Options) (*Store, error) {
	if r := reflect.ValueOf(inner); inner == nil || r.Kind() == reflect.Pointer && r.IsNil() {
		return nil, fmt.Errorf("repotest: the store within is nil: %w", driver.ErrInvalid)
	}
	if opts == nil {
		opts = &Options{}
	}
	s := &Store{
		inner:     inner,
		uncertain: opts.Uncertain || slices.ContainsFunc(opts.Rules, func(r Rule) bool { return r.unknown() }),
		observe:   opts.Observe,
		random:    rand.New(rand.NewPCG(opts.Seed, 0)),
		release:   make(chan struct{}),
	}
	if s.observe == nil {
		s.observe = func(Event) {}
	}
	if err := s.Set(opts.Rules...); err != nil {
		return nil, err
	}
	return s, nil
}

// Set replaces the rules. Rules whose outcomes are unknown need a store that has
// said from the beginning that it is Uncertain, since package repo asks only once.
func (s *Store) Set(rules ...Rule) error {
	next := make([]counted, len(rules))
	for i, r := range rules {
		if err := r.check(s.uncertain); err != nil {
			return err
		}
		next[i].Rule, next[i].text = r, fmt.Sprintf("rule %d of repotest", i+1)
		if r.Name != "" {
			next[i].text = fmt.Sprintf("rule %q of repotest", r.Name)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rules = next
	return nil
}

// Release does the late commits, in their order, and lets all blocked calls go on.
func (s *Store) Release() {
	s.mu.Lock()
	close(s.release)
	s.release = make(chan struct{})
	late := s.late
	s.late = nil
	s.mu.Unlock()
	for _, c := range late {
		s.do(c)
	}
}

// Within returns the store within.
func (s *Store) Within() driver.Store { return s.inner }

// Facts are those of the store within, and perhaps that it is Uncertain.
func (s *Store) Facts() driver.Facts {
	f := s.inner.Facts()
	f.Uncertain, f.Operations = f.Uncertain || s.uncertain, true
	if _, ok := s.inner.(driver.Counter); !ok {
		f.Counts = driver.Ability{Has: true, Reason: "by reading the rows of the span"}
	}
	return f
}

// Close closes the store within, after it has removed the place of an isolated one. Late commits are
// not done any more.
func (s *Store) Close() error {
	s.closing.Do(func() { s.closed = s.close() })
	return s.closed
}

func (s *Store) close() error {
	s.mu.Lock()
	s.late = nil
	close(s.release)
	s.release = make(chan struct{})
	s.mu.Unlock()
	return errors.Join(s.erase(), s.inner.Close())
}

// Define makes the tables exist.
func (s *Store) Define(ctx context.Context, tables []*driver.Table) error {
	return s.call(ctx, Define, tables, func() error { return s.inner.Define(ctx, tables) })
}

// Attach makes the store know tables that exist.
func (s *Store) Attach(ctx context.Context, tables []*driver.Table) error {
	return s.call(ctx, Attach, tables, func() error { return s.inner.Attach(ctx, tables) })
}

// Drop removes the tables with all their rows.
func (s *Store) Drop(ctx context.Context, tables []*driver.Table) error {
	return s.call(ctx, Drop, tables, func() error { return s.inner.Drop(ctx, tables) })
}

// Get reads the rows under keys into rows.
func (s *Store) Get(ctx context.Context, t *driver.Table, keys []driver.Key, mask []int, rows []driver.Row) error {
	return s.call(ctx, Get, []*driver.Table{t}, func() error { return s.inner.Get(ctx, t, keys, mask, rows) })
}

// Count returns the number of rows of a span.
func (s *Store) Count(ctx context.Context, span driver.Span) (n int, err error) {
	err = s.call(ctx, Count, []*driver.Table{span.Table}, func() error {
		if c, ok := s.inner.(driver.Counter); ok {
			n, err = c.Count(ctx, span)
			return err
		}
		for _, err := range s.inner.Range(ctx, span) {
			if err != nil {
				return err
			}
			n++
		}
		return nil
	})
	return n, err
}

// Size returns the bytes of a table, or ErrUnsupported if the store within does
// not know them.
func (s *Store) Size(ctx context.Context, t *driver.Table) (n int64, err error) {
	err = s.call(ctx, Size, []*driver.Table{t}, func() error {
		sizer, ok := s.inner.(driver.Sizer)
		if !ok {
			return fmt.Errorf("repotest: size: the store within does not know it: %w", driver.ErrUnsupported)
		}
		n, err = sizer.Size(ctx, t)
		return err
	})
	return n, err
}

// Time returns what the clock of the store within shows, or ErrUnsupported if it has none.
// No rule is about it.
func (s *Store) Time(ctx context.Context) (time.Time, error) {
	clock, ok := s.inner.(driver.Clock)
	if !ok {
		return time.Time{}, fmt.Errorf("repotest: time: the store within has no clock: %w", driver.ErrUnsupported)
	}
	return clock.Time(ctx)
}

// Range yields the rows of a span.
func (s *Store) Range(ctx context.Context, span driver.Span) iter.Seq2[*driver.Row, error] {
	return loop(ctx, s, Range, span.Table, s.inner.Range(ctx, span))
}

// Ranges yields the rows of several spans by one call, or ErrUnsupported if the store within cannot. For rules and events
// it is a Range.
func (s *Store) Ranges(ctx context.Context, spans []driver.Span, yield func(i int, row *driver.Row) bool) error {
	ranger, ok := s.inner.(driver.Ranger)
	if !ok || len(spans) == 0 {
		return fmt.Errorf("repotest: ranges: the store within reads one by one: %w", driver.ErrUnsupported)
	}
	of := 0
	for row, err := range loop(ctx, s, Range, spans[0].Table, func(yield func(*driver.Row, error) bool) {
		more := true
		err := ranger.Ranges(ctx, spans, func(i int, row *driver.Row) bool {
			of = i
			more = yield(row, nil)
			return more
		})
		if more && err != nil {
			yield(nil, err)
		}
	}) {
		if err != nil {
			return err
		}
		if !yield(of, row) {
			return nil
		}
	}
	return nil
}

// Walk yields all rows of a table.
func (s *Store) Walk(ctx context.Context, t *driver.Table, mark string) iter.Seq2[driver.Chunk, error] {
	return loop(ctx, s, Walk, t, s.inner.Walk(ctx, t, mark))
}

// loop yields what seq yields, until it meets a fault.
func loop[T any](ctx context.Context, s *Store, c Call, t *driver.Table, seq iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		m := s.meet(ctx, c, []*driver.Table{t})
		err := m.wait(ctx)
		defer func() { m.end(false, err) }()
		var none T
		if err != nil {
			yield(none, err)
			return
		}
		n := 0
		for v, e := range seq {
			_, goesOn := errors.AsType[driver.Unread](e)
			if err = e; n == m.after && (err == nil || goesOn) {
				err, goesOn = m.refuse(), false
			}
			if err != nil && !goesOn {
				yield(none, err)
				return
			}
			if !yield(v, e) {
				return
			}
			n++
		}
		if err = m.refuse(); err != nil && n <= m.after { // there were fewer
			yield(none, err)
		}
	}
}

// call does a call that either goes through or does not.
func (s *Store) call(ctx context.Context, c Call, tables []*driver.Table, do func() error) error {
	m := s.meet(ctx, c, tables)
	err := m.wait(ctx)
	if err == nil {
		err = m.refuse()
	}
	if err == nil {
		err = do()
	}
	m.end(false, err)
	return err
}
