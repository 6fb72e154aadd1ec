package repo_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// A halting is a store whose Drop fails at a table, after those before it.
type halting struct {
	driver.Store
	at string
}

func (s *halting) Drop(ctx context.Context, tables []*driver.Table) error {
	for _, t := range tables {
		if t.Name == s.at {
			return fmt.Errorf("drop %s: %w", t.Name, driver.ErrUnavailable)
		}
		if err := s.Store.Drop(ctx, []*driver.Table{t}); err != nil {
			return err
		}
	}
	return nil
}

// A drop that ended half-way leaves no collection whose indexes miss records: it is
// refused until the drop was done again.
func TestHalfDropped(t *testing.T) {
	for _, at := range []string{"things.by_a", "things.by_b", "things"} {
		backend := &halting{Store: memory.New(nil), at: at}
		store := repo.NewStore(backend, nil)
		t.Cleanup(func() { store.Close() })
		schema := thingSchema(repo.Index{Name: "by_a", Partition: []string{"a"}}, repo.Index{Name: "by_b", Partition: []string{"b"}, Unique: true})
		schema.Fields = map[string]string{"id": "string", "a": "string", "b": "string"}
		things, err := repo.Open[map[string]any](t.Context(), store, schema)
		if err != nil {
			t.Fatal(err)
		}
		thing := map[string]any{"id": "1", "a": "x", "b": "y"}
		if err := things.Insert(t.Context(), &thing); err != nil {
			t.Fatal(err)
		}
		if err := repo.DropCollection(t.Context(), store, "things"); !errors.Is(err, repo.ErrUnavailable) {
			t.Fatalf("drop that fails at %s: %v", at, err)
		}
		if err := things.Put(t.Context(), &thing); !errors.Is(err, repo.ErrSchema) {
			t.Errorf("a write after a drop that failed at %s: %v, want ErrSchema", at, err)
		}
		if _, err := repo.Open[map[string]any](t.Context(), store, schema); !errors.Is(err, repo.ErrSchema) {
			t.Errorf("open after a drop that failed at %s: %v, want ErrSchema", at, err)
		}
		backend.at = ""
		if err := repo.DropCollection(t.Context(), store, "things"); err != nil {
			t.Fatal(err)
		}
		if things, err = repo.Open[map[string]any](t.Context(), store, schema); err != nil {
			t.Fatal(err)
		}
		if n, err := things.Count(t.Context(), repo.Where("a", "x")); n != 0 || err != nil {
			t.Errorf("%d things after the drop, %v", n, err)
		}
	}
}
