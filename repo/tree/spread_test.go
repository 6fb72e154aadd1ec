package tree_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/tree"
)

// The nodes of a spread tree lie in partitions of their own.
func TestSpreadLiesApart(t *testing.T) {
	ctx := t.Context()
	for _, spread := range []bool{false, true} {
		store := repo.NewStore(memory.New(nil), nil)
		f, err := tree.Open[category](ctx, store, tree.Schema{Collection: "c", Spread: spread})
		if err != nil {
			t.Fatal(err)
		}
		plant(t, f.Tree("shop"), "a b<a")
		g := store.Group()
		f.Nodes().In(g).Patch(repo.Key{"shop", "a"}, repo.Set("name", "x"))
		f.Nodes().In(g).Patch(repo.Key{"shop", "b"}, repo.Set("name", "y"))
		if err := g.Commit(ctx); errors.Is(err, repo.ErrInvalid) != spread {
			t.Errorf("spread: %v; a group in one partition: %v", spread, err)
		}
	}
}

func TestSpreadRefusals(t *testing.T) {
	ctx, partition := t.Context(), driver.ScopePartition
	for _, s := range []tree.Strategy{tree.Path, tree.NestedSets, tree.Document} {
		for _, schema := range []tree.Schema{{Strategy: s}, {Also: []tree.Strategy{s}}} {
			schema.Collection, schema.Spread = "c", true
			_, err := tree.Open[category](ctx, repo.NewStore(memory.New(nil), nil), schema)
			if !errors.Is(err, repo.ErrSchema) || !strings.Contains(err.Error(), string(s)) {
				t.Errorf("%+v: %v, want %v", schema, err, repo.ErrSchema)
			}
		}
	}
	store := repo.NewStore(memory.New(&memory.Options{Scope: &partition}), nil)
	if _, err := tree.Open[category](ctx, store, tree.Schema{Collection: "c", Spread: true}); !errors.Is(err, repo.ErrUnsupported) || !strings.Contains(err.Error(), "guard") {
		t.Errorf("on a store of partitions: %v, want %v with its reason", err, repo.ErrUnsupported)
	}
	if _, err := tree.Open[category](ctx, store, tree.Schema{Collection: "c"}); err != nil {
		t.Error(err)
	}
}

func TestSpreadConverts(t *testing.T) {
	ctx := t.Context()
	f := openWith(t, tree.Schema{Collection: "c", Spread: true, Also: []tree.Strategy{tree.Ancestors}})
	tr := f.Tree("shop")
	plant(t, tr, jobs)
	want := list(t, tr, "")
	for _, to := range []tree.Strategy{tree.Ancestors, tree.Adjacency} {
		if err := tr.Convert(ctx, to); err != nil {
			t.Fatal(err)
		}
		if got := list(t, tr, ""); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", to, got, want)
		}
		sound(t, f, to)
	}
}
