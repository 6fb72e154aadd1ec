package tree_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/tree"
)

type category struct {
	tree.Node
	Name string `repo:"name"`
}

func TestRandomAgainstAList(t *testing.T) {
	for _, k := range kinds() {
		t.Run(k.String(), func(t *testing.T) {
			f := openOn(t, k.store(), k.schema())
			tr := f.Tree("shop")
			want := &naive{children: map[string][]string{}, parent: map[string]string{}}
			rng := rand.New(rand.NewPCG(7, 7))
			for i := range 3000 {
				want.step(t, rng, tr, i)
				if i%50 == 0 {
					if diff := cmp.Diff(want.list("", 0), list(t, tr, "")); diff != "" {
						t.Fatalf("after %d: %s", i, diff)
					}
				}
			}
		})
	}
}

func open(t testing.TB, s tree.Strategy) *tree.Forest[category] {
	t.Helper()
	return openWith(t, tree.Schema{Collection: "categories", Strategy: s})
}

func openWith(t testing.TB, schema tree.Schema) *tree.Forest[category] {
	t.Helper()
	return openOn(t, memory.New(nil), schema)
}

func openOn(t testing.TB, s driver.Store, schema tree.Schema) *tree.Forest[category] {
	t.Helper()
	return openStore(t, repo.NewStore(s, nil), schema)
}

func openStore(t testing.TB, store *repo.Store, schema tree.Schema) *tree.Forest[category] {
	t.Helper()
	f, err := tree.Open[category](t.Context(), store, schema)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// atOnce returns options with which a commit reads several collections at the same time, in this process, too, as it
// does on a server.
func atOnce() *repo.Options {
	return &repo.Options{Tracer: repo.Tracer{Begin: func(ctx context.Context, _ repo.Event) (context.Context, func(repo.Event)) {
		return ctx, func(repo.Event) {}
	}}}
}

func list(t testing.TB, tr *tree.Tree[category], id string) []string {
	t.Helper()
	var lines []string
	for item, err := range tr.Descendants(t.Context(), id, 0) {
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, strings.Repeat(" ", item.Depth)+item.Node.ID)
	}
	return lines
}

// naive is a tree as lists of children.
type naive struct {
	children map[string][]string
	parent   map[string]string
}

func (n *naive) list(id string, depth int) (lines []string) {
	for _, c := range n.children[id] {
		lines = append(lines, strings.Repeat(" ", depth+1)+c)
		lines = append(lines, n.list(c, depth+1)...)
	}
	return lines
}

func (n *naive) below(id, above string) bool {
	for ; id != ""; id = n.parent[id] {
		if id == above {
			return true
		}
	}
	return false
}

func (n *naive) cut(id string) {
	p := n.parent[id]
	n.children[p] = slices.DeleteFunc(n.children[p], func(c string) bool { return c == id })
}

func (n *naive) remove(id string) {
	for _, c := range slices.Clone(n.children[id]) {
		n.remove(c)
	}
	n.cut(id)
	delete(n.children, id)
	delete(n.parent, id)
}

// put lays a node at a position: "under", "first", "before" or "after" a node.
func (n *naive) put(id, where, at string) {
	p, i := at, 0
	switch where {
	case "under":
		i = len(n.children[p])
	case "before":
		p = n.parent[at]
		i = slices.Index(n.children[p], at)
	case "after":
		p = n.parent[at]
		i = slices.Index(n.children[p], at) + 1
	}
	n.parent[id] = p
	n.children[p] = slices.Insert(n.children[p], i, id)
}

func position(where, at string) tree.Position {
	switch where {
	case "under":
		return tree.Under(at)
	case "first":
		return tree.FirstUnder(at)
	case "before":
		return tree.Before(at)
	}
	return tree.After(at)
}

// step does something to a tree and to the lists, and wants the same of both.
func (n *naive) step(t *testing.T, rng *rand.Rand, tr *tree.Tree[category], i int) {
	t.Helper()
	ctx := t.Context()
	id, at := fmt.Sprint(rng.IntN(60)), fmt.Sprint(rng.IntN(60))
	where := []string{"under", "first", "before", "after"}[rng.IntN(4)]
	if !beside(where) && rng.IntN(8) == 0 {
		at = ""
	}
	var err, want error
	do := ""
	switch rng.IntN(10) {
	case 0, 1, 2, 3:
		do, want = "insert", n.insert(id, where, at)
		err = tr.Insert(ctx, position(where, at), &category{Node: tree.Node{ID: id}})
	case 4, 5, 6, 7:
		do, want = "move", n.move(id, where, at)
		err = tr.Move(ctx, id, position(where, at))
	case 8:
		do, want = "delete", n.delete(id, true)
		err = tr.Delete(ctx, id)
	case 9:
		if rng.IntN(3) > 0 {
			return
		}
		do, want = "delete subtree", n.delete(id, false)
		err = tr.DeleteSubtree(ctx, id)
	}
	what := fmt.Sprintf("%d: %s %s %s %s", i, do, id, where, at)
	if !errors.Is(err, want) {
		t.Fatalf("%s: %v, want %v", what, err, want)
	}
	n.look(t, tr, at, what)
}

func beside(where string) bool { return where == "before" || where == "after" }

// has reports whether a node is there; there is always "".
func (n *naive) has(id string) bool {
	_, has := n.parent[id]
	return has || id == ""
}

func (n *naive) insert(id, where, at string) error {
	switch {
	case beside(where) && at == id:
		return repo.ErrInvalid
	case !n.has(at):
		return repo.ErrNotFound
	case n.has(id):
		return repo.ErrExists
	}
	n.put(id, where, at)
	return nil
}

func (n *naive) move(id, where, at string) error {
	switch {
	case !n.has(id):
		return repo.ErrNotFound
	case beside(where) && at == id:
		return repo.ErrInvalid
	case !n.has(at):
		return repo.ErrNotFound
	case n.below(at, id) || beside(where) && n.below(n.parent[at], id):
		return tree.ErrBelowItself
	}
	n.cut(id)
	n.put(id, where, at)
	return nil
}

func (n *naive) delete(id string, leaf bool) error {
	switch {
	case !n.has(id):
		return repo.ErrNotFound
	case leaf && len(n.children[id]) > 0:
		return tree.ErrHasChildren
	}
	n.remove(id)
	return nil
}

func (n *naive) look(t *testing.T, tr *tree.Tree[category], id, what string) {
	t.Helper()
	ctx := t.Context()
	if _, has := n.parent[id]; !has {
		return
	}
	var want, got []string
	for p := n.parent[id]; p != ""; p = n.parent[p] {
		want = append([]string{p}, want...)
	}
	above, err := tr.Ancestors(ctx, id)
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	for i := range above {
		got = append(got, above[i].ID)
	}
	if !slices.Equal(got, want) {
		t.Fatalf("%s: ancestors of %s: %v, want %v", what, id, got, want)
	}
	if got := list(t, tr, id); !slices.Equal(got, n.list(id, 0)) {
		t.Fatalf("%s: below %s: %q, want %q", what, id, got, n.list(id, 0))
	}
}
