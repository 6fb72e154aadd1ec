package conformance

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// ruleLimit is how long a rule may take: it is for stores that hang, not for slow servers.
const ruleLimit = 3 * time.Minute

// A suite is one run on one store: the store, the run's name, and what it made.
type suite struct {
	open   Open
	store  driver.Store
	facts  driver.Facts
	repo   *repo.Store
	id     string        // begins the name of every collection and table
	limit  time.Duration // of a rule
	stall  time.Duration // of what is no rule
	tables tables

	observer *observer

	mu     sync.Mutex
	last   int            // number of the last env or collection
	repos  map[string]any // shared repositories by collection
	opened []string       // collections to drop
	made   []*driver.Table
	failed []Failure // of rules in a test
}

// newSuite opens the store and makes the tables for the rules that use no
// collection.
func newSuite(ctx context.Context, open Open) (*suite, error) {
	s, err := openSuite(ctx, stallLimit, open)
	if err != nil {
		return nil, err
	}
	if err := s.define(ctx); err != nil {
		return nil, errors.Join(err, s.finish(context.WithoutCancel(ctx))) // some of them are there
	}
	return s, nil
}

// openSuite opens the store.
func openSuite(ctx context.Context, stall time.Duration, open Open) (*suite, error) {
	open = open.sound()
	s := &suite{open: open, limit: ruleLimit, stall: stall, id: newID(), repos: map[string]any{}}
	err := within(s.stall, "Open", func() error {
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
	s.tables = newTables(s.id)
	s.made = s.tables.all(s.facts)
	if err := within(s.stall, "Define", func() error { return s.store.Define(ctx, s.made) }); err != nil {
		return fmt.Errorf("define the tables of the suite: %w", err)
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
	return &env{suite: s, tag: fmt.Sprintf("r%03d", n), base: int64(n) * spread}
}

func (s *suite) number() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	return s.last
}

// freshName returns a name for a collection that no other rule has.
func (s *suite) freshName() string {
	name := fmt.Sprintf("%s_%d", s.id, s.number())
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opened = append(s.opened, name)
	return name
}

// finish drops everything that the suite made and closes the store.
func (s *suite) finish(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, s.stall)
	defer cancel()
	errs := []error{within(s.stall, "Drop", func() error { return s.dropAll(ctx) }), within(s.stall, "Close", s.store.Close)}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("drop what the suite made (names begin with %s): %w", s.id, err)
	}
	return nil
}

// dropAll drops everything that the suite made.
func (s *suite) dropAll(ctx context.Context) error {
	tables, err := s.collectionTables(ctx)
	errs := []error{err, s.store.Drop(ctx, append(tables, s.made...))} // together, which on some stores is much less work
	return errors.Join(append(errs, s.dropCollections(ctx))...)
}

// dropCollections drops what was opened, some at once: each waits for other programs.
func (s *suite) dropCollections(ctx context.Context) error {
	errs := make([]error, len(s.opened))
	room := make(chan struct{}, 16)
	var all sync.WaitGroup
	for i, name := range s.opened {
		room <- struct{}{}
		all.Go(func() {
			defer func() { <-room }()
			errs[i] = caught(func() error { return repo.DropCollection(ctx, s.repo, name) })
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// collectionTables returns the tables of the collections that are there.
func (s *suite) collectionTables(ctx context.Context) ([]*driver.Table, error) {
	var tables []*driver.Table
	for _, name := range s.opened {
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

// shared returns the repository on a collection that all rules share.
func shared[T any](ctx context.Context, e *env, schema repo.Schema) *repo.Repo[T] {
	s := e.suite
	s.mu.Lock()
	defer s.mu.Unlock()
	name := s.id + "_" + schema.Collection
	if r, ok := s.repos[name].(*repo.Repo[T]); ok {
		return r
	}
	schema.Collection = name
	r, err := repo.Open[T](ctx, s.repo, schema)
	e.ok("open "+schema.Collection, err)
	s.repos[name] = r
	s.opened = append(s.opened, name)
	return r
}

// fresh returns a repository on a new collection with a schema.
func fresh[T any](ctx context.Context, e *env, schema repo.Schema) *repo.Repo[T] {
	schema.Collection = e.freshName()
	r, err := repo.Open[T](ctx, e.repo, schema)
	e.ok("open "+schema.Collection, err)
	return r
}
