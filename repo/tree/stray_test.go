package tree_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/tree"
)

// A record beside a document is named, and no conversion takes it for a node or a node's place.
func TestStraysOfADocument(t *testing.T) {
	f, ctx := openAll(t, tree.Document), t.Context()
	tr := f.Tree("shop")
	plant(t, tr, "a b<a")
	for _, id := range []string{"b", "c"} { // as a node, and beside all
		if err := f.Nodes().Put(ctx, &category{Node: tree.Node{Tree: "shop", ID: id}, Name: "stray"}); err != nil {
			t.Fatal(err)
		}
		bad, err := tr.Verify(ctx)
		if len(bad) != 1 || err != nil || bad[0].ID != id || bad[0].Repairable {
			t.Errorf("verify beside %s: %v, %v", id, bad, err)
		}
		if left, err := tr.Repair(ctx); len(left) != 1 || err != nil {
			t.Errorf("repair beside %s: %v, %v", id, left, err)
		}
		for _, to := range records {
			if err := tr.Convert(ctx, to); !errors.Is(err, repo.ErrCorrupt) || !strings.Contains(err.Error(), "Verify") {
				t.Errorf("%s beside %s: %v, want %v", to, id, err, repo.ErrCorrupt)
			}
		}
		if n, err := f.Nodes().Count(ctx, repo.Where("tree", "shop")); n != 1 || err != nil {
			t.Errorf("%d records, %v, want the stray alone", n, err)
		}
		if err := f.Nodes().Delete(ctx, repo.Key{"shop", id}); err != nil {
			t.Fatal(err)
		}
	}
	if err := tr.Convert(ctx, tree.Path); err != nil {
		t.Error(err)
	}
	whole(t, tr, "converted", "a(b)")
}

// A record below no root is not lost when the others come into a document.
func TestOrphanStaysARecord(t *testing.T) {
	for _, from := range records {
		f, ctx := openAll(t, from), t.Context()
		tr := f.Tree("shop")
		plant(t, tr, "a b<a")
		if err := f.Nodes().Put(ctx, &category{Node: tree.Node{Tree: "shop", ID: "c", Parent: "none"}}); err != nil {
			t.Fatal(err)
		}
		err := tr.Convert(ctx, tree.Document)
		if !errors.Is(err, repo.ErrCorrupt) || !strings.Contains(err.Error(), `"c"`) || !strings.Contains(err.Error(), "stays") {
			t.Errorf("%s: %v, want %v", from, err, repo.ErrCorrupt)
		}
		if is, err := tr.Strategy(ctx); is != from || err != nil {
			t.Errorf("%s: it is one of %q, %v", from, is, err)
		}
		if _, err := f.Nodes().Get(ctx, repo.Key{"shop", "c"}); err != nil {
			t.Errorf("%s: the record: %v", from, err)
		}
		plant(t, tr, "none d<b")
		if left, err := tr.Repair(ctx); len(left) > 0 || err != nil {
			t.Errorf("%s: %v, %v", from, left, err)
		}
		if err := tr.Convert(ctx, tree.Document); err != nil {
			t.Errorf("%s: %v", from, err)
		}
		whole(t, tr, string(from), "a(b(d)) none(c)")
	}
}

// A node that another program has put is moved when it is repaired, and not before.
func TestMoveOfAnOrphan(t *testing.T) {
	for _, s := range records {
		f, ctx := openWith(t, tree.Schema{Collection: "c", Strategy: s}), t.Context()
		tr := f.Tree("shop")
		plant(t, tr, "a b")
		for id, parent := range map[string]string{"o": "none", "p": "o"} {
			if err := f.Nodes().Put(ctx, &category{Node: tree.Node{Tree: "shop", ID: id, Parent: parent}}); err != nil {
				t.Fatal(err)
			}
		}
		err := tr.Move(ctx, "o", tree.Under("a"))
		if s != tree.Adjacency { // which keeps nothing
			if !errors.Is(err, repo.ErrCorrupt) || !strings.Contains(err.Error(), "Repair") || errors.Is(err, tree.ErrBelowItself) {
				t.Errorf("%s: %v, want %v", s, err, repo.ErrCorrupt)
			}
			plant(t, tr, "none")
		} else if err != nil {
			t.Error(err)
		}
		if left, err := tr.Repair(ctx); len(left) > 0 || err != nil {
			t.Errorf("%s: %v, %v", s, left, err)
		}
		if err := tr.Move(ctx, "o", tree.Under("b")); err != nil {
			t.Errorf("%s, repaired: %v", s, err)
		}
		want := "a b(o(p)) none"
		if s == tree.Adjacency {
			want = "a b(o(p))"
		}
		whole(t, tr, string(s), want)
	}
}

// byName is a schema whose siblings have different names.
func byName(s tree.Strategy) tree.Schema {
	return tree.Schema{Collection: "c", Strategy: s, Indexes: []repo.Index{{Name: "one", Partition: []string{"tree"}, Sort: []string{"parent", "name"}, Unique: true}}}
}

// A node whose child cannot take its place keeps all children, in their order.
func TestLiftIsRefused(t *testing.T) {
	for _, s := range records {
		for taken, name := range map[string]string{"its parent's": "a", "its uncle's": "b"} {
			tr, ctx := openWith(t, byName(s)).Tree("shop"), t.Context()
			plant(t, tr, "r a<r b<r w<a x<a y<a z<a v<z")
			named := func(name string) {
				if _, err := tr.Update(ctx, "x", func(c *category) error { c.Name = name; return nil }); err != nil {
					t.Fatal(err)
				}
			}
			named(name)
			for range 2 {
				err := tr.Lift(ctx, "a")
				e, ok := errors.AsType[*repo.Error](err)
				if !ok || !errors.Is(err, repo.ErrExists) || errors.Is(err, repo.ErrUnknownOutcome) || e.Index != "one" || !strings.Contains(e.Key, "x") {
					t.Errorf("%s, %s name: %v, want %v", s, taken, err, repo.ErrExists)
				}
				whole(t, tr, fmt.Sprint(s, taken), "r(a(w x y z(v)) b)")
			}
			named("other")
			if err := tr.Lift(ctx, "a"); err != nil {
				t.Errorf("%s, %s name: %v", s, taken, err)
			}
			whole(t, tr, fmt.Sprint(s, taken), "r(w x y z(v) b)")
		}
	}
}

// A lift that is refused leaves alone what others have moved, and where its client ends another lift does the rest.
func TestLiftIsRefusedBeside(t *testing.T) {
	for _, s := range records {
		for at := 1; at < 12; at++ {
			h, tr, other := shopBeside(t, byName(s), "r a<r b<r w<a x<a y<a z<a")
			rename := func(name string) {
				if _, err := other.Update(t.Context(), "w", func(c *category) error { c.Name = name; return nil }); err != nil {
					t.Error(err)
				}
			}
			rename("a")
			moved := false
			h.before = func(n int, _ []driver.Op) error {
				if n == at {
					moved = true
					if err := other.Move(t.Context(), "y", tree.Under("b")); err != nil {
						t.Error(err)
					}
				}
				return nil
			}
			if err := tr.Lift(t.Context(), "a"); !errors.Is(err, repo.ErrExists) {
				t.Errorf("%s at commit %d: %v, want %v", s, at, err, repo.ErrExists)
			}
			want := "r(a(w x y z) b)"
			if moved {
				want = "r(a(w x z) b(y))"
			}
			whole(t, other, fmt.Sprint(s, at), want)
			h.diesAt(at)
			_ = tr.Lift(t.Context(), "a")
			h.before = nil
			rename("w")
			if err := other.Lift(t.Context(), "a"); err != nil {
				t.Errorf("%s at commit %d: %v", s, at, err)
			}
			if bad, err := other.Verify(t.Context()); len(bad) > 0 || err != nil {
				t.Errorf("%s at commit %d: %v, %v", s, at, bad, err)
			}
		}
	}
}
