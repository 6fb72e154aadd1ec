package rule

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/polystore/polystore/conformance/internal/finding"
	"github.com/polystore/polystore/conformance/internal/table"
	"github.com/polystore/polystore/conformance/internal/tested"
	"github.com/polystore/polystore/conformance/internal/watchdog"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// A Suite is one run on one store: the store, the run's name, and what it made.
type Suite struct {
	Open   func(context.Context) (driver.Store, error) // opens the store once more
	Store  driver.Store
	Facts  driver.Facts
	Repo   *repo.Store
	ID     string // begins the name of every collection and table
	Tables table.Set
	Limit  time.Duration // for a rule to come to its next step

	Seed      uint64       // of what rules draw
	Histories int          // of a tree of each kind, for a rule that makes some
	Hung      atomic.Int32 // rules that never returned

	mu     sync.Mutex
	last   int                 // number of the last env or collection
	shared map[string]*sharing // repositories by collection
	opened []string            // collections to drop
	made   []*driver.Table
}

// NewSuite returns a run on a store that Use is to give to it.
func NewSuite(open func(context.Context) (driver.Store, error), limit time.Duration) *Suite {
	return &Suite{Open: open, Limit: limit, ID: newID(), shared: map[string]*sharing{}}
}

// Use makes a store that of the run.
func (s *Suite) Use(store driver.Store) {
	s.Store, s.Facts = store, store.Facts()
	s.Repo = repo.NewStore(store, nil)
}

func newID() string {
	var b [4]byte
	rand.Read(b[:]) // never fails: crypto/rand ends the program instead
	return "cf" + hex.EncodeToString(b[:])
}

// Define makes the tables for the rules that use no collection.
func (s *Suite) Define(ctx context.Context) error {
	s.Tables = table.New(s.ID)
	made := s.Tables.All(s.Facts)
	s.Drops(made...)
	return s.Store.Define(ctx, made)
}

// NewEnv returns what a run of a rule works with.
func (s *Suite) NewEnv() *Env {
	n := s.Number()
	return &Env{Suite: s, Tag: fmt.Sprintf("r%03d", n), Base: int64(n) * spread, dog: watchdog.New()}
}

// Number returns a number that nothing else in the run has.
func (s *Suite) Number() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	return s.last
}

// Target returns the store for what is no rule.
func (s *Suite) Target() tested.Store {
	return tested.Store{Store: s.Store, Facts: s.Facts, FreshName: s.FreshName}
}

// FreshName returns a name for a collection that no other rule has.
func (s *Suite) FreshName() string {
	name := fmt.Sprintf("%s_%d", s.ID, s.Number())
	s.DropsCollection(name)
	return name
}

// DropsCollection makes DropAll drop a collection.
func (s *Suite) DropsCollection(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opened = append(s.opened, name)
}

// Drops makes DropAll drop tables.
func (s *Suite) Drops(tables ...*driver.Table) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.made = append(s.made, tables...)
}

// Adopt makes the suite that of a run that was killed: DropAll drops what that one left.
func (s *Suite) Adopt(id string, collections []string, tables []*driver.Table) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ID, s.opened, s.made = id, collections, tables
}

// Forget makes DropAll drop nothing of what was made so far.
func (s *Suite) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opened, s.made = nil, nil
}

// DropAll drops everything that the suite made, as of now, but for one collection: rules that
// hang may make more.
func (s *Suite) DropAll(ctx context.Context, but string) error {
	s.mu.Lock()
	opened, made := slices.Clone(s.opened), slices.Clone(s.made)
	s.mu.Unlock()
	opened = slices.DeleteFunc(opened, func(name string) bool { return name == but })
	tables, err := s.collectionTables(ctx, opened)
	errs := []error{err, s.Store.Drop(ctx, append(tables, made...))} // together, which on some stores is much less work
	failed := s.dropCollections(ctx, opened)
	if failed != nil {
		failed = s.dropCollections(ctx, opened) // those with which others lay
	}
	return errors.Join(append(errs, failed)...)
}

// dropCollections drops some at once: each waits for other programs.
func (s *Suite) dropCollections(ctx context.Context, names []string) error {
	errs := make([]error, len(names))
	room := make(chan struct{}, 64)
	var all sync.WaitGroup
	for i, name := range names {
		room <- struct{}{}
		all.Go(func() {
			defer func() { <-room }()
			errs[i] = finding.Caught(func() error { return repo.DropCollection(ctx, s.Repo, name) })
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// collectionTables returns the tables of those collections that are there.
func (s *Suite) collectionTables(ctx context.Context, names []string) ([]*driver.Table, error) {
	var tables []*driver.Table
	for _, name := range names {
		schema, err := repo.SchemaOf(ctx, s.Repo, name)
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
