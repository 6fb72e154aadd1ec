package conformance

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/polystore/polystore/conformance/internal/finding"
	"github.com/polystore/polystore/conformance/internal/tested"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// A suite is one run on one store: the store, the run's name, and what it made.
type suite struct {
	open   Open
	store  driver.Store
	facts  driver.Facts
	repo   *repo.Store
	id     string // begins the name of every collection and table
	tables tables
	limits

	observer *observer
	hung     atomic.Int32 // rules that never returned
	goesOn   bool         // when finish has closed the store, rules open it anew

	mu     sync.Mutex
	last   int                 // number of the last env or collection
	shared map[string]*sharing // repositories by collection
	opened []string            // collections to drop
	made   []*driver.Table
	failed []Failure // of rules in a test
}

// newSuite opens the store and makes the tables for the rules that use no
// collection.
func newSuite(ctx context.Context, open Open, o *observer) (*suite, error) {
	s, err := openSuite(ctx, usual, open, o)
	if err != nil {
		return nil, err
	}
	if err := s.define(ctx); err != nil {
		return nil, errors.Join(err, s.finish(context.WithoutCancel(ctx))) // some of them are there
	}
	return s, nil
}

// openSuite opens the store.
func openSuite(ctx context.Context, l limits, open Open, o *observer) (*suite, error) {
	open = open.sound()
	if ctx == nil {
		_, err := open(ctx) // which is an error
		return nil, fmt.Errorf("open the store: %w", err)
	}
	s := &suite{open: open, limits: l, id: newID(), shared: map[string]*sharing{}, observer: o}
	o.names(s.id)
	err := s.within(ctx, "Open", func() error {
		store, err := open(ctx)
		if err == nil {
			s.use(store)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("open the store: %w", err)
	}
	return s, nil
}

// define makes the tables for the rules that use no collection.
func (s *suite) define(ctx context.Context) error {
	s.mark(ctx)
	s.tables = newTables(s.id)
	s.made = s.tables.all(s.facts)
	if err := s.within(ctx, "Define", func() error { return s.store.Define(ctx, s.made) }); err != nil {
		return fmt.Errorf("define the tables of the suite: %w", err)
	}
	return nil
}

// markName is the name of a collection without records that a run makes first and removes
// last. By it Clean finds the run, whose tables need not be of a collection.
func (s *suite) markName() string { return s.id + "_run" }

// mark makes the mark of the run. A store that cannot do it breaks rules that say so.
func (s *suite) mark(ctx context.Context) {
	s.opened = append(s.opened, s.markName())
	schema := itemSchema()
	schema.Collection = s.markName()
	_ = s.within(ctx, "Open of a collection", func() error {
		_, err := repo.Open[item](ctx, s.repo, schema)
		return err
	})
}

// unmark removes the mark of a run that went on when finish had closed the store.
func (s *suite) unmark(ctx context.Context) error {
	if !s.goesOn {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, s.stall)
	defer cancel()
	err := s.within(ctx, "Open, Drop and Close", func() error {
		store, err := s.open(ctx)
		if err != nil {
			return err
		}
		return errors.Join(repo.DropCollection(ctx, repo.NewStore(store, nil), s.markName()), store.Close())
	})
	if err != nil {
		return fmt.Errorf("drop the mark of the run, %s: %w", s.markName(), err)
	}
	return nil
}

func (s *suite) use(store driver.Store) {
	s.store, s.facts = store, store.Facts()
	s.repo = repo.NewStore(store, nil)
}

func newID() string {
	var b [4]byte
	rand.Read(b[:]) // never fails: crypto/rand ends the program instead
	return "cf" + hex.EncodeToString(b[:])
}

// env returns what a run of a rule works with.
func (s *suite) env() *env {
	n := s.number()
	return &env{suite: s, tag: fmt.Sprintf("r%03d", n), base: int64(n) * spread, dog: newWatchdog()}
}

func (s *suite) number() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	return s.last
}

// target returns the store for what is no rule.
func (s *suite) target() tested.Store {
	return tested.Store{Store: s.store, Facts: s.facts, FreshName: s.freshName}
}

// freshName returns a name for a collection that no other rule has.
func (s *suite) freshName() string {
	name := fmt.Sprintf("%s_%d", s.id, s.number())
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opened = append(s.opened, name)
	return name
}

// finish drops everything that the suite made, but for the mark if the run goes on, and
// closes the store.
func (s *suite) finish(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.stall)
	defer cancel()
	errs := []error{s.within(ctx, "Drop", func() error { return s.dropAll(ctx) }), s.within(ctx, "Close", s.store.Close)}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("drop what the suite made (names begin with %s; Clean, or polystore conform --clean, removes them): %w", s.id, err)
	}
	return nil
}

// dropAll drops everything that the suite made, as of now: rules that hang may make more.
func (s *suite) dropAll(ctx context.Context) error {
	s.mu.Lock()
	opened, made := slices.Clone(s.opened), slices.Clone(s.made)
	s.mu.Unlock()
	if s.goesOn {
		opened = slices.DeleteFunc(opened, func(name string) bool { return name == s.markName() })
	}
	tables, err := s.collectionTables(ctx, opened)
	errs := []error{err, s.store.Drop(ctx, append(tables, made...))} // together, which on some stores is much less work
	failed := s.dropCollections(ctx, opened)
	if failed != nil {
		failed = s.dropCollections(ctx, opened) // those with which others lay
	}
	return errors.Join(append(errs, failed)...)
}

// dropCollections drops some at once: each waits for other programs.
func (s *suite) dropCollections(ctx context.Context, names []string) error {
	errs := make([]error, len(names))
	room := make(chan struct{}, 16)
	var all sync.WaitGroup
	for i, name := range names {
		room <- struct{}{}
		all.Go(func() {
			defer func() { <-room }()
			errs[i] = finding.Caught(func() error { return repo.DropCollection(ctx, s.repo, name) })
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// collectionTables returns the tables of those collections that are there.
func (s *suite) collectionTables(ctx context.Context, names []string) ([]*driver.Table, error) {
	var tables []*driver.Table
	for _, name := range names {
		schema, err := repo.SchemaOf(ctx, s.repo, name)
		if errors.Is(err, repo.ErrNotFound) {
			continue // a rule dropped it
		}
		if err != nil {
			return nil, err
		}
		tables = append(tables, &driver.Table{Name: name, Class: driver.Records})
		for i := range schema.Indexes {
			tables = append(tables, &driver.Table{Name: name + "." + schema.Indexes[i].Name, Class: driver.Rows})
		}
	}
	return tables, nil
}

// drops makes finish drop a table.
func (s *suite) drops(tables ...*driver.Table) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.made = append(s.made, tables...)
}

// A sharing is a repository that rules share, of which one at a time may open it.
type sharing struct {
	turn chan struct{}
	repo any // nil until it is open
}

// sharing returns that of a collection.
func (s *suite) sharing(collection string) *sharing {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shared[collection] == nil {
		s.shared[collection] = &sharing{turn: make(chan struct{}, 1)}
		s.opened = append(s.opened, collection)
	}
	return s.shared[collection]
}

// shared returns the repository on a collection that all rules share.
func shared[T any](ctx context.Context, e *env, schema repo.Schema) *repo.Repo[T] {
	schema.Collection = e.id + "_" + schema.Collection
	sh := e.sharing(schema.Collection)
	select {
	case sh.turn <- struct{}{}:
		defer func() { <-sh.turn }()
	case <-ctx.Done():
		e.broken("open "+schema.Collection+" to return, which another rule has begun", "nothing: %v", ctx.Err())
	}
	if sh.repo == nil {
		r, err := repo.Open[T](ctx, e.repo, schema)
		e.ok("open "+schema.Collection, err)
		sh.repo = r
	}
	return sh.repo.(*repo.Repo[T])
}

// fresh returns a repository on a new collection with a schema.
func fresh[T any](ctx context.Context, e *env, schema repo.Schema) *repo.Repo[T] {
	schema.Collection = e.freshName()
	r, err := repo.Open[T](ctx, e.repo, schema)
	e.ok("open "+schema.Collection, err)
	return r
}
