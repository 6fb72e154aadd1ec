package conformance

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/polystore/polystore/conformance/internal/finding"
	"github.com/polystore/polystore/conformance/internal/rule"
	"github.com/polystore/polystore/conformance/internal/table"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// What a killed run left is removed, and nothing else.
func TestClean(t *testing.T) {
	t.Parallel()
	b := newBroken(driver.ScopeStore)
	b.close = func() error { return nil }
	open := func(context.Context) (driver.Store, error) { return b, nil }
	s, err := newSuite(t.Context(), open, nil) // which nobody finishes
	if err != nil {
		t.Fatal(err)
	}
	e := s.NewEnv()
	own := table.Named(s.ID + ".t9")
	s.Drops(own)
	schema := repo.Schema{Collection: "items", Partition: []string{"id"}}
	drops := countDrops(t, b)
	err = finding.Caught(func() error {
		items := rule.Shared[mark](t.Context(), e, schema)
		return errors.Join(items.Insert(t.Context(), &mark{ID: "a"}), s.Store.Define(t.Context(), []*driver.Table{own}))
	})
	if err != nil {
		t.Fatal(err)
	}
	kept := []string{"cf", "cf12345678", "cfabc_1", "orders", "xcf12345678_1"}
	for _, name := range kept {
		schema.Collection = name
		if _, err := repo.Open[mark](t.Context(), s.Repo, schema); err != nil {
			t.Fatal(err)
		}
	}
	names, err := repo.Collections(t.Context(), s.Repo)
	if err != nil || len(names) != len(kept)+2 {
		t.Fatalf("%v, %v", names, err)
	}
	made := append(s.Tables.All(s.Facts), own)
	if err := s.Store.Attach(t.Context(), made); err != nil {
		t.Fatalf("the tables of the run: %v", err)
	}
	var said []string
	tell := func(text string) { said = append(said, text) }
	for range 2 {
		if err := Clean(t.Context(), open, tell); err != nil {
			t.Fatal(err)
		}
	}
	if drops.Load() == 0 {
		t.Error("nothing was dropped")
	}
	if want := []string{"removed: run " + s.ID + ": " + s.ID + "_items, " + s.ID + "_run", "the store has nothing of a killed run"}; !slices.Equal(said, want) {
		t.Errorf("said %q, want %q", said, want)
	}
	if names, err = repo.Collections(t.Context(), s.Repo); err != nil || !slices.Equal(names, kept) {
		t.Errorf("%v, %v; want %v", names, err, kept)
	}
	for _, table := range made {
		if err := s.Store.Attach(t.Context(), []*driver.Table{table}); !errors.Is(err, driver.ErrSchema) {
			t.Errorf("the table %s is there: %v", strings.TrimPrefix(table.Name, s.ID), err)
		}
	}
}

// A run is found that was killed before it had a collection, or after it had dropped them.
func TestCleanWithoutCollections(t *testing.T) {
	t.Parallel()
	for _, when := range []string{"at the beginning", "in a rule that closes the store", "when a writer was killed"} {
		t.Run(when, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			open := openForChild(dir, "")
			s, err := newSuite(t.Context(), open, nil)
			if err != nil {
				t.Fatal(err)
			}
			left := s.Tables.Sorted
			switch when {
			case "at the beginning":
				err = s.Store.Close()
			case "in a rule that closes the store":
				s.goesOn = true
				err = s.finish(t.Context())
				store, made := s.NewEnv().Opened(t.Context())
				left = made
				err = errors.Join(err, store.Close())
			default:
				s.goesOn = true
				left = table.Named(s.ID + ".t7")
				err = errors.Join(s.finish(t.Context()), writeOnce(t.Context(), open, left))
			}
			var said []string
			err = errors.Join(err, Clean(t.Context(), open, func(text string) { said = append(said, text) }))
			if want := []string{"removed: run " + s.ID + ": " + s.ID + "_run"}; err != nil || !slices.Equal(said, want) {
				t.Fatalf("%v, said %q, want %q", err, said, want)
			}
			store, err := open(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close()
			if err := store.Attach(t.Context(), []*driver.Table{left}); !errors.Is(err, driver.ErrSchema) {
				t.Errorf("the table %s is there: %v", left.Name, err)
			}
		})
	}
}

// writeOnce makes a table, as a child does that is killed then.
func writeOnce(ctx context.Context, open Open, t *driver.Table) error {
	store, err := open(ctx)
	if err != nil {
		return err
	}
	return errors.Join(store.Define(ctx, []*driver.Table{t}), store.Close())
}

// countDrops counts the drops on a store; each must have minutes.
func countDrops(t *testing.T, b *broken) *atomic.Int64 {
	drops := new(atomic.Int64)
	b.drop = func(ctx context.Context, tables []*driver.Table) error {
		if end, _ := ctx.Deadline(); time.Until(end) < 2*time.Minute {
			t.Errorf("a drop has %v", time.Until(end))
		}
		drops.Add(1)
		return b.Store.Drop(ctx, tables)
	}
	return drops
}
