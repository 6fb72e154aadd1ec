package crash_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/polystore/polystore/backends"
	"github.com/polystore/polystore/internal/raw"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// A site is a store on which writers are killed.
type site struct {
	url, kind, collection string

	facts  driver.Facts
	source *raw.Source
	made   map[string]string // the collections of chores
}

// read reads what is in the collection.
func (s *site) read(ctx context.Context) ([]raw.Row, error) {
	tables := houseTables
	if s.kind == "native" { // the store itself keeps the indexes
		tables = raw.Tables{"": houseTables[""]}
	}
	return s.source.Reader(s.collection, tables)(ctx)
}

// of returns s with the collection of a chore.
func (s *site) of(chore string) *site {
	other := *s
	other.collection = s.made[chore]
	return &other
}

// apart reports whether an index lies in other partitions than its records, and is kept in
// step by the portable protocol.
func (s *site) apart(table string) bool {
	return s.facts.Scope == driver.ScopePartition && table != "near" && s.kind != "native"
}

// rowsOfEntry returns how many rows of this module an entry has.
func (s *site) rowsOfEntry() int {
	if s.kind == "native" {
		return 0
	}
	return 1
}

// open opens the collection as a program does that begins now, by a clock that is ahead.
func (s *site) open(ctx context.Context, ahead time.Duration) (*repo.Store, *repo.Repo[member], error) {
	store, err := backends.Open(ctx, s.url, &repo.Options{Now: func() time.Time { return time.Now().Add(ahead) }})
	if err != nil {
		return nil, nil, err
	}
	r, err := repo.Open[member](ctx, store, schemaOf(s.collection, s.kind))
	if err != nil {
		return nil, nil, errors.Join(err, store.Close())
	}
	s.facts = store.Facts()
	return store, r, nil
}

// openHouse is open, with the badges of the members.
func (s *site) openHouse(ctx context.Context) (*repo.Store, house, error) {
	store, r, err := s.open(ctx, 0)
	if err != nil {
		return nil, house{}, err
	}
	all, err := houseOf(ctx, r, s.collection)
	if err != nil {
		return nil, house{}, errors.Join(err, store.Close())
	}
	return store, all, nil
}

// test kills writers on s, and looks at what they leave: what its readers, and all that
// come after it, can live with.
func (s *site) test(t *testing.T) {
	store, _, err := s.openHouse(t.Context()) // which makes the collections
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	points := s.killAll(t, false)
	findings := s.lookAt(t, points)
	seen := map[string]bool{}
	before := 0
	for p, f := range findings {
		for _, fault := range f.faults {
			t.Errorf("%s: %s", p.home, fault)
		}
		if p.done && !maps.Equal(f.state, p.last()) {
			t.Errorf("%s: the write was acknowledged, and there is %v", p.home, f.state)
		}
		undone := maps.Equal(f.state, p.first())
		if undone {
			before++
		}
		seen[fmt.Sprint(p.path.name, " ", undone)] = true
	}
	if len(seen) != 2*len(paths()) {
		t.Errorf("not every write was killed both before it was done and after: %v", seen)
	}
	s.use(t, points, findings)
	s.sweep(t, points)
	s.control(t)
	s.upkeep(t)
	t.Logf("%d points, %d of them before the write was done", len(points), before)
}

// lookAt reads what is there by the store's own driver.
func (s *site) lookAt(t *testing.T, points []*point) map[*point]finding {
	t.Helper()
	rows, err := s.read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	findings := map[*point]finding{}
	for _, p := range points {
		findings[p] = p.look(s, rows)
	}
	return findings
}

// The control: where commits are torn apart, and rows come after their records, some point
// leaves something wrong.
func (s *site) control(t *testing.T) {
	t.Helper()
	findings := s.lookAt(t, s.killAll(t, true, "insert", "group", pair))
	store, r, err := s.openHouse(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	faults, badges := 0, 0
	for p, f := range findings {
		faults += len(f.faults)
		if p.path.name == pair && p.badged(t.Context(), r, f) != nil {
			badges++
		}
	}
	if faults == 0 || badges == 0 {
		t.Errorf("writers whose commits are torn apart leave %d faults, and %d badges that are wrong; want some of either", faults, badges)
	}
	t.Logf("the control: %d faults, %d badges", faults, badges)
}
