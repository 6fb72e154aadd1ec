package tree_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/tree"
)

func openAll(t testing.TB, s tree.Strategy) *tree.Forest[category] {
	t.Helper()
	return openWith(t, tree.Schema{Collection: "categories", Strategy: s, Also: all})
}

// A tree is the same tree after it was converted, and goes on as one of its new strategy.
func TestConvert(t *testing.T) {
	for _, from := range all {
		for _, to := range all {
			t.Run(fmt.Sprint(from, " to ", to), func(t *testing.T) {
				f, ctx := openAll(t, from), t.Context()
				tr := f.Tree("shop")
				if _, err := tr.Load(ctx, randomNodes(300, 3)); err != nil {
					t.Fatal(err)
				}
				want := list(t, tr, "")
				if err := tr.Convert(ctx, to); err != nil {
					t.Fatal(err)
				}
				if is, err := tr.Strategy(ctx); is != to || err != nil {
					t.Errorf("strategy %q, %v", is, err)
				}
				if got := list(t, tr, ""); !slices.Equal(got, want) {
					t.Errorf("%q, want %q", got, want)
				}
				sound(t, f, to)
				if err := tr.Move(ctx, "n1", tree.Under("n0")); err != nil {
					t.Error(err)
				}
				if err := tr.Insert(ctx, tree.FirstUnder("n7"), &category{Node: tree.Node{ID: "new"}}); err != nil {
					t.Error(err)
				}
				if below, err := tr.IsBelow(ctx, "new", "n7"); !below || err != nil {
					t.Error(below, err)
				}
				sound(t, f, to)
				if bad, err := tr.Verify(ctx); len(bad) > 0 || err != nil {
					t.Error(bad, err)
				}
			})
		}
	}
}

func TestConvertRefusals(t *testing.T) {
	tr, ctx := open(t, tree.Adjacency).Tree("shop"), t.Context()
	for _, to := range []tree.Strategy{tree.Path, "other", ""} {
		if err := tr.Convert(ctx, to); !errors.Is(err, repo.ErrSchema) {
			t.Errorf("to %q, which the schema lacks: %v", to, err)
		}
	}
	f := openAll(t, tree.Adjacency)
	tr = f.Tree("shop")
	ids := chain(t, tr, "", strings.Repeat("x", 200), 8)
	before := list(t, tr, "")
	if err := tr.Convert(ctx, tree.Path); !errors.Is(err, repo.ErrTooLarge) {
		t.Errorf("to paths that are too long: %v", err)
	}
	if got := list(t, tr, ""); !slices.Equal(got, before) {
		t.Errorf("%q after a conversion that was refused", got)
	}
	sound(t, f, tree.Adjacency)
	if err := tr.Insert(ctx, tree.Under(ids[len(ids)-1]), &category{Node: tree.Node{ID: "more"}}); err != nil {
		t.Error(err)
	}
	if rec, err := tr.Get(ctx, ids[0]); err != nil || rec.Path != "" || rec.Keeps != "" {
		t.Errorf("%+v, %v", rec, err)
	}
}

// A tree of a strategy whose index was dropped is not read by another one.
func TestOpenedWithoutTheStrategy(t *testing.T) {
	store, ctx := repo.NewStore(memory.New(nil), nil), t.Context()
	f, err := tree.Open[category](ctx, store, tree.Schema{Collection: "categories", Strategy: tree.Path})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Tree("shop").Insert(ctx, tree.Under(""), &category{Node: tree.Node{ID: "a"}}); err != nil {
		t.Fatal(err)
	}
	schema := tree.Schema{Collection: "categories", Strategy: tree.Adjacency}
	if _, err := tree.Open[category](ctx, store, schema); !errors.Is(err, repo.ErrSchema) {
		t.Errorf("opened without the index: %v, want %v", err, repo.ErrSchema)
	}
	if err := repo.DropIndex(ctx, store, "categories", "paths"); err != nil {
		t.Fatal(err)
	}
	other, err := tree.Open[category](ctx, store, schema)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Tree("shop").Ancestors(ctx, "a"); !errors.Is(err, repo.ErrSchema) || !strings.Contains(err.Error(), "Also") {
		t.Error(err)
	}
}

// A conversion is done although another one brings the tree elsewhere before it returns.
func TestConvertedElsewhere(t *testing.T) {
	h, tr, other := shopBeside(t, tree.Schema{Also: all}, "a b<a")
	h.after = func(n int, _ []driver.Op) {
		if n == 1 {
			if err := other.Convert(t.Context(), tree.Ancestors); err != nil {
				t.Error(err)
			}
		}
	}
	if err := tr.Convert(t.Context(), tree.Path); err != nil {
		t.Error(err)
	}
	if s, err := tr.Strategy(t.Context()); s != tree.Ancestors || err != nil {
		t.Errorf("it is one of %q, %v", s, err)
	}
	whole(t, other, "converted", "a(b)")
}
