package tree_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/tree"
)

// IDs and names may be any text; what is none is refused.
func TestOddIDs(t *testing.T) {
	odd := []string{"a/b", "{x}", "a:b", "%23", "#", "~", "é", "\x00", " ", "tree", strings.Repeat("long", 60)}
	for _, k := range kinds() {
		t.Run(k.String(), func(t *testing.T) {
			schema, ctx := k.schema(), t.Context()
			schema.Name = "name"
			f := openWith(t, schema)
			tr, parent := f.Tree("shop {#/%} é"), ""
			var want []string
			for i, id := range odd {
				if err := tr.Insert(ctx, tree.Under(parent), &category{Node: tree.Node{ID: id}, Name: strings.Repeat("n", 400) + id}); err != nil {
					if k.Strategy == tree.Path && errors.Is(err, repo.ErrTooLarge) && i > 5 {
						continue
					}
					t.Fatalf("%q under %q: %v", id, parent, err)
				}
				want = append(want, id)
				if parent = id; i%3 == 2 {
					parent = ""
				}
			}
			var got []string
			for item, err := range tr.Descendants(ctx, "", 0) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, item.Node.ID)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%q, want %q", got, want)
			}
			above, err := tr.Ancestors(ctx, "a:b")
			if got := idsOf(t, above, err); !slices.Equal(got, []string{"a/b", "{x}"}) {
				t.Errorf("above a:b are %q", got)
			}
			long := tr.Insert(ctx, tree.Under(""), &category{Node: tree.Node{ID: "long"}, Name: strings.Repeat("n", 1100)})
			if k.Strategy != tree.Document && (!errors.Is(long, repo.ErrTooLarge) || !strings.Contains(long.Error(), "names")) {
				t.Errorf("a name of 1,100 bytes: %v", long)
			}
			for id, want := range map[string]error{"": repo.ErrInvalid, "\xff": repo.ErrInvalid, strings.Repeat("x", 2000): repo.ErrTooLarge} {
				err := tr.Insert(ctx, tree.Under(""), &category{Node: tree.Node{ID: id}})
				if len(id) > 1000 && !strings.Contains(fmt.Sprint(err), "at most 1024 bytes") {
					t.Errorf("an ID of %d bytes: %.300v", len(id), err)
				}
				if !errors.Is(err, want) && !errors.Is(err, repo.ErrInvalid) {
					t.Errorf("a node %.10q: %v, want %v", id, err, want)
				}
			}
			if bad, err := tr.Verify(ctx); len(bad) > 0 || err != nil {
				t.Error(bad, err)
			}
		})
	}
}

// What is not there is not found, by whichever call.
func TestUnknownNodes(t *testing.T) {
	for _, k := range kinds() {
		t.Run(k.String(), func(t *testing.T) {
			tr, ctx := openOn(t, k.store(), k.schema()).Tree("shop"), t.Context()
			for _, made := range []bool{false, true} {
				if made {
					plant(t, tr, "a b<a")
				}
				rec := func() *category { return &category{Node: tree.Node{ID: "new"}} }
				calls := map[string]error{
					"insert under":   tr.Insert(ctx, tree.Under("no"), rec()),
					"insert before":  tr.Insert(ctx, tree.Before("no"), rec()),
					"insert after":   tr.Insert(ctx, tree.After(""), rec()),
					"move":           tr.Move(ctx, "no", tree.Under("")),
					"move of none":   tr.Move(ctx, "", tree.Under("")),
					"delete":         tr.Delete(ctx, "no"),
					"delete subtree": tr.DeleteSubtree(ctx, "no"),
					"lift":           tr.Lift(ctx, "no"),
				}
				if made {
					calls["move under"] = tr.Move(ctx, "b", tree.Under("no"))
				}
				_, calls["get"] = tr.Get(ctx, "no")
				_, calls["parent"] = tr.Parent(ctx, "no")
				_, calls["next"] = tr.Next(ctx, "no")
				_, calls["ancestors"] = tr.Ancestors(ctx, "no")
				_, calls["depth"] = tr.Depth(ctx, "no")
				_, calls["update"] = tr.Update(ctx, "no", func(*category) error { return nil })
				_, calls["find"] = tr.Find(ctx, "no")
				_, calls["copy"] = tr.Copy(ctx, "no", tree.Under(""), func(id string) string { return id + "2" })
				for _, err := range tr.Descendants(ctx, "no", 0) {
					calls["descendants"] = err
				}
				for name, err := range calls {
					if !errors.Is(err, repo.ErrNotFound) && !errors.Is(err, repo.ErrInvalid) {
						t.Errorf("%s, of a tree with nodes: %v: %v", name, made, err)
					}
				}
			}
			if got := list(t, tr, ""); len(got) != 2 {
				t.Errorf("%q after calls that were refused", got)
			}
		})
	}
}

// A chain of 10,000 nodes is read from end to end, or refused while it grows.
func TestDepth(t *testing.T) {
	for _, s := range []tree.Strategy{tree.Adjacency, tree.NestedSets} {
		t.Run(string(s), func(t *testing.T) {
			const n = 10_000
			tr, ctx := open(t, s).Tree("shop"), t.Context()
			loaded, err := tr.Load(ctx, func(yield func(category, error) bool) {
				for i := range n {
					rec := category{Node: tree.Node{ID: fmt.Sprint(i)}}
					if i > 0 {
						rec.Parent = fmt.Sprint(i - 1)
					}
					if !yield(rec, nil) {
						return
					}
				}
			})
			if loaded != n || err != nil {
				t.Fatal(loaded, err)
			}
			if depth, err := tr.Depth(ctx, fmt.Sprint(n-1)); depth != n-1 || err != nil {
				t.Error(depth, err)
			}
			if got, err := tr.Count(ctx, ""); got != n || err != nil {
				t.Error(got, err)
			}
			if err := tr.Move(ctx, "0", tree.Under(fmt.Sprint(n-1))); !errors.Is(err, tree.ErrBelowItself) {
				t.Errorf("the top below the end: %v", err)
			}
		})
	}
}

// A record that another program wrote without a place is told of, and repaired.
func TestForeignRecord(t *testing.T) {
	for _, k := range kinds() {
		if k.Strategy == tree.Document {
			continue
		}
		t.Run(k.String(), func(t *testing.T) {
			f, ctx := openOn(t, k.store(), k.schema()), t.Context()
			tr := f.Tree("shop")
			plant(t, tr, "a b<a")
			if err := f.Nodes().Insert(ctx, &category{Node: tree.Node{Tree: "shop", ID: "foreign", Parent: "a"}}); err != nil {
				t.Fatal(err)
			}
			if err := tr.Insert(ctx, tree.Under("foreign"), &category{Node: tree.Node{ID: "c"}}); !errors.Is(err, repo.ErrCorrupt) || !strings.Contains(err.Error(), "Repair") {
				t.Errorf("an insert below it: %v, want %v", err, repo.ErrCorrupt)
			}
			bad, err := tr.Verify(ctx)
			if len(bad) == 0 || err != nil {
				t.Errorf("verify: %v, %v", bad, err)
			}
			if left, err := tr.Repair(ctx); len(left) > 0 || err != nil {
				t.Error(left, err)
			}
			if got := list(t, tr, ""); !slices.Equal(got, []string{" a", "  b", "  foreign"}) {
				t.Errorf("%q after a repair", got)
			}
			plant(t, tr, "c<foreign")
			sound(t, f, k.Strategy)
		})
	}
}
