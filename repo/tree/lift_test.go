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

// A child that comes while others are lifted is lifted, too, or finds no parent.
func TestLiftBesideInsert(t *testing.T) {
	for _, s := range all {
		lifted := 0
		for at := 1; at < 9; at++ {
			h, tr, other := shopBeside(t, tree.Schema{Strategy: s}, "r a<r x<a y<a b<r")
			inserted := false
			h.before = func(n int, _ []driver.Op) error {
				if n == at {
					inserted = other.Insert(t.Context(), tree.Under("a"), &category{Node: tree.Node{ID: "z"}}) == nil
				}
				return nil
			}
			if err := tr.Lift(t.Context(), "a"); err != nil {
				t.Errorf("%s at commit %d: %v", s, at, err)
			}
			got := drawn(t, other, "", 0)
			if inserted {
				lifted++
			}
			if strings.Contains(got, "z") != inserted || slices.Contains(strings.FieldsFunc(got, func(r rune) bool { return strings.ContainsRune("() ", r) }), "a") {
				t.Errorf("%s at commit %d: inserted %v: %s", s, at, inserted, got)
			}
			whole(t, other, fmt.Sprint(s, at), got)
		}
		if lifted == 0 {
			t.Errorf("%s: no child came beside it", s)
		}
	}
}

// A node that is moved while it is lifted or changed is there, though what was its parent then is gone.
func TestOldParentThatIsGone(t *testing.T) {
	for _, s := range records {
		for name, do := range map[string]client{"lift": lifts("a"), "update": renames("a")} {
			for at := 1; at < 9; at++ {
				h, tr, other := shopBeside(t, tree.Schema{Strategy: s, Sorted: []string{"name"}}, "p q a<p x<a")
				reads := 0
				h.get = func(*driver.Table) error {
					if reads++; reads != at {
						return nil
					}
					return errors.Join(other.Move(t.Context(), "a", tree.Under("q")), other.DeleteSubtree(t.Context(), "p"))
				}
				if err := do(t.Context(), tr); err != nil {
					t.Errorf("%s: %s, when p goes before read %d: %v", s, name, at, err)
				}
			}
		}
	}
}

// More children than a commit takes are lifted in their order.
func TestLiftMany(t *testing.T) {
	for _, k := range kinds() {
		tr := openWith(t, k.schema()).Tree("shop")
		plant(t, tr, "a b c")
		n, err := tr.Load(t.Context(), numbered(1, func(int) string { return "" }, -1, nil))
		if n != 1 || err != nil {
			t.Fatal(n, err)
		}
		var want []string
		for i := range 230 {
			id := fmt.Sprintf("m%03d", i)
			plant(t, tr, id+"<b")
			want = append(want, id)
		}
		if err := tr.Lift(t.Context(), "b"); err != nil {
			t.Errorf("%s: %v", k, err)
		}
		want = append(append([]string{"a"}, want...), "c", "n000")
		if got := beneath(t, tr, ""); !slices.Equal(got, want) {
			t.Errorf("%s: %q", k, got)
		}
	}
}

// Where a node comes after one of many siblings that have the same place, these get others.
func TestSiblingsOfOnePlace(t *testing.T) {
	for _, s := range []tree.Strategy{tree.Adjacency, tree.Path} {
		store, ctx := memory.New(nil), t.Context()
		tr := shopOn(t, store, tree.Schema{Strategy: s})
		plant(t, tr, "r last<r")
		last, err := tr.Get(ctx, "last")
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		for i := range 300 { // as inserts at the same time make them
			id := fmt.Sprintf("n%03d", i)
			plant(t, tr, id+"<r")
			want = append(want, id)
		}
		nodes, err := repo.Open[category](ctx, repo.NewStore(store, nil), schemaOfC(t, store))
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range want {
			if _, err := nodes.Patch(ctx, repo.Key{"shop", id}, repo.Set("place", last.Place)); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := tr.Repair(ctx); err != nil {
			t.Fatal(err)
		}
		if err := tr.Insert(ctx, tree.After("n000"), &category{Node: tree.Node{ID: "x"}}); err != nil {
			t.Errorf("%s: %v", s, err)
		}
		if got := strings.Join(beneath(t, tr, "r")[:4], " "); got != "last n000 x n001" && got != "n000 x n001 n002" {
			t.Errorf("%s: %s", s, got)
		}
		if bad, err := tr.Verify(ctx); len(bad) > 0 || err != nil {
			t.Error(bad, err)
		}
	}
}

func schemaOfC(t *testing.T, store driver.Store) repo.Schema {
	t.Helper()
	s, err := repo.SchemaOf(t.Context(), repo.NewStore(store, nil), "c")
	if err != nil {
		t.Fatal(err)
	}
	return s
}
