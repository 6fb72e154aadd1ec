package tree_test

import (
	"cmp"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/tree"
)

// A change that was begun is ended, whatever the records of its nodes have become: programs may write these directly.
func TestPendingOfMeddledNodes(t *testing.T) {
	const shop = "r q<r a<r x<a y<x p"
	type meddle = func(context.Context, *repo.Repo[category]) error
	del := func(id string) meddle {
		return func(ctx context.Context, nodes *repo.Repo[category]) error {
			return nodes.Delete(ctx, repo.Key{"shop", id})
		}
	}
	hang := func(id, parent string) meddle {
		return func(ctx context.Context, nodes *repo.Repo[category]) error {
			_, err := nodes.Update(ctx, repo.Key{"shop", id}, func(c *category) error { c.Parent = parent; return nil })
			return err
		}
	}
	for _, tt := range []struct {
		what   string
		do     client
		meddle meddle
	}{
		{"removal, its node deleted", cuts("a"), del("a")},
		{"removal, a node below deleted", cuts("a"), del("x")},
		{"removal, its node below itself", cuts("a"), hang("a", "y")},
		{"removal, its node its own parent", cuts("a"), hang("a", "a")},
		{"move, its node deleted", moves("a", "q"), del("a")},
		{"move, its node below itself", moves("a", "q"), hang("a", "y")},
		{"move, its node its own parent", moves("a", "q"), hang("a", "a")},
		{"move, its new parent deleted", moves("a", "q"), del("q")},
		{"move, its old parent deleted", moves("a", "p"), del("r")},
	} {
		for _, s := range records {
			h, tr, other := shopBeside(t, tree.Schema{Strategy: s}, shop)
			h.diesAt(2)
			begun := tt.do(t.Context(), tr)
			f, err := tree.Open[category](t.Context(), repo.NewStore(h.Store, nil), tree.Schema{Collection: "c", Strategy: s})
			if err != nil {
				t.Fatal(err)
			}
			if err := tt.meddle(t.Context(), f.Nodes()); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			if err := other.Settle(ctx); err != nil {
				t.Errorf("%s, %s (%v): %v", s, tt.what, begun, err)
			}
			if err := other.Insert(ctx, tree.Under("p"), &category{Node: tree.Node{ID: "new"}}); err != nil {
				t.Errorf("%s, %s: insert elsewhere: %v", s, tt.what, err)
			}
			cancel()
		}
	}
}

// A move that is too deep is taken back though another program deleted its node or the old parent meanwhile: then the
// node, if it is there, goes to an ancestor of the parent.
func TestTakenBackOfMeddledNodes(t *testing.T) {
	for strategy, shape := range map[tree.Strategy]struct {
		id         string
		above, own int
	}{
		tree.Path: {strings.Repeat("x", 100), 6, 4}, tree.Ancestors: {"n", 200, 80},
	} {
		for _, gone := range []string{"", "p"} {
			schema := tree.Schema{Strategy: strategy}
			h, tr, other := shopBeside(t, schema, "r p<r q")
			a := chain(t, other, "", "a"+shape.id, shape.above)
			b := chain(t, other, "p", "b"+shape.id, shape.own)
			h.diesAt(2)
			begun := tr.Move(t.Context(), b[0], tree.Under(a[len(a)-1]))
			schema.Collection = "c"
			f, err := tree.Open[category](t.Context(), repo.NewStore(h.Store, nil), schema)
			if err == nil {
				err = f.Nodes().Delete(t.Context(), repo.Key{"shop", cmp.Or(gone, b[0])})
			}
			if err != nil || !isUnsure(begun) {
				t.Fatal(begun, err)
			}
			settled, insert := other.Settle(t.Context()), other.Insert(t.Context(), tree.Under("q"), &category{Node: tree.Node{ID: "new"}})
			if settled != nil || insert != nil {
				t.Errorf("%s, %q deleted: %v; insert elsewhere: %v", strategy, gone, settled, insert)
			}
			if n, err := other.Get(t.Context(), b[0]); gone != "" && (err != nil || n.Parent != "r") {
				t.Errorf("%s: the node lies below %q, %v, want r", strategy, n.Parent, err)
			}
		}
	}
}
