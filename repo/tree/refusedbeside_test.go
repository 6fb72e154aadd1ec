package tree_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/tree"
)

// A granted call succeeds, whatever of a change it sees.
type granted struct {
	what   string
	also   []tree.Strategy
	begin  func(t *testing.T, store driver.Store, schema tree.Schema) // makes the tree
	change func(t *testing.T, store driver.Store, schema tree.Schema) error
	call   client
	want   []string // outlines, of which the tree has one then
}

// planted begins with nodes.
func planted(nodes string) func(t *testing.T, store driver.Store, schema tree.Schema) {
	return func(t *testing.T, store driver.Store, schema tree.Schema) { plant(t, shopOn(t, store, schema), nodes) }
}

// twins begins with two nodes below one that have the same place, where an insert does not write the parent.
func twins(t *testing.T, store driver.Store, schema tree.Schema) {
	h := &hooked{Store: store}
	tr, other := shopOn(t, h, schema), shopOn(t, store, schema)
	plant(t, other, "a")
	h.before = func(n int, _ []driver.Op) error {
		if n == 1 {
			plant(t, other, "n<a")
		}
		return nil
	}
	plant(t, tr, "m<a")
}

// halfMoved begins with nodes of which one is being moved.
func halfMoved(nodes, id, under string) func(t *testing.T, store driver.Store, schema tree.Schema) {
	return func(t *testing.T, store driver.Store, schema tree.Schema) {
		plant(t, shopOn(t, store, schema), nodes)
		h := &hooked{Store: store}
		tr := shopOn(t, h, schema)
		h.diesAt(2)
		if err := tr.Move(t.Context(), id, tree.Under(under)); (err == nil) != (schema.Strategy == tree.Adjacency) {
			t.Fatalf("the move of a program that dies: %v", err)
		}
	}
}

// by makes a change by another client, which may be refused for some reasons.
func by(do client, reasons ...error) func(t *testing.T, store driver.Store, schema tree.Schema) error {
	return func(t *testing.T, store driver.Store, schema tree.Schema) error {
		err := do(t.Context(), shopOn(t, store, schema))
		if slices.ContainsFunc(reasons, func(reason error) bool { return errors.Is(err, reason) }) {
			return nil
		}
		return err
	}
}

// away moves a node, and deletes the one below which it was.
func away(id, to, from string) func(t *testing.T, store driver.Store, schema tree.Schema) error {
	return by(func(ctx context.Context, tr *tree.Tree[category]) error {
		return cmp.Or(tr.Move(ctx, id, tree.Under(to)), tr.Delete(ctx, from))
	}, tree.ErrHasChildren)
}

// packsAfter brings the tree to a document after another change, which may be refused.
func packsAfter(do client) func(t *testing.T, store driver.Store, schema tree.Schema) error {
	return by(func(ctx context.Context, tr *tree.Tree[category]) error {
		_ = do(ctx, tr)
		return tr.Convert(ctx, tree.Document)
	})
}

// halfPacks is a program that begins to bring the tree to a document, and ends before a commit.
func halfPacks(commit int) func(t *testing.T, store driver.Store, schema tree.Schema) error {
	return func(t *testing.T, store driver.Store, schema tree.Schema) error {
		h := &hooked{Store: store}
		tr := shopOn(t, h, schema)
		h.diesAt(commit)
		_ = tr.Convert(t.Context(), tree.Document)
		return nil
	}
}

func insertsAt(id string, pos tree.Position) client {
	return func(ctx context.Context, tr *tree.Tree[category]) error {
		return tr.Insert(ctx, pos, &category{Node: tree.Node{ID: id}})
	}
}

var document = []tree.Strategy{tree.Document}

func grantedCalls() []granted {
	return append(besideDocuments(),
		granted{"an insert after a node that is moved away", nil, planted("p q x<p"), away("x", "q", "p"),
			insertsAt("n", tree.After("x")), []string{"q(x n)", "p(n) q(x)"}},
		granted{"a move after a node that is moved away", nil, planted("p q x<p n"), away("x", "q", "p"),
			func(ctx context.Context, tr *tree.Tree[category]) error { return tr.Move(ctx, "n", tree.After("x")) },
			[]string{"q(x n)", "p(n) q(x)"}},
		granted{"an insert between twins of which one is deleted", nil, twins, by(deletes("n")),
			insertsAt("k", tree.After("m")), []string{"a(m k)"}},
		granted{"an insert that ends a move, and the node is moved on", nil, halfMoved("p q r n<r y<n", "n", "p"), away("n", "q", "p"),
			insertsAt("z", tree.Under("r")), []string{"q(n(y)) r(z)"}},
		deepMove())
}

func besideDocuments() []granted {
	list := []granted{
		{"a walk below a node of a tree that becomes a document", document, planted("a e<a b"), by(packs),
			func(ctx context.Context, tr *tree.Tree[category]) error {
				_, err := tr.Count(ctx, "e")
				return err
			}, []string{"a(e) b"}},
		{"a deletion that another ends before the tree becomes a document", document, planted("a e<a b"), packsAfter(renames("e")),
			deletes("e"), []string{"a b"}},
		{"a lift that another ends before the tree becomes a document", document, planted("a d<a b"), packsAfter(deletes("a")),
			func(ctx context.Context, tr *tree.Tree[category]) error {
				if err := tr.Lift(ctx, "a"); !isUnsure(err) {
					return err
				}
				return nil
			}, []string{"d b"}},
	}
	for commit := 2; commit < 6; commit++ {
		list = append(list, granted{fmt.Sprintf("a deletion in a tree that became a document up to commit %d", commit), document,
			planted("a e<a b"), halfPacks(commit), deletes("e"), []string{"a b"}})
	}
	return list
}

// deepMove ends a move that is taken back, since what lies below the node would be too deep for a path.
func deepMove() granted {
	x := strings.Repeat("x", 100)
	chain := func(id string, n int) (ids, nodes []string) {
		for i := range n {
			ids = append(ids, fmt.Sprint(id, i, x))
			nodes = append(nodes, strings.TrimSuffix(ids[i]+"<"+ids[max(0, i-1)], "<"+ids[i]))
		}
		return ids, nodes
	}
	above, first := chain("a", 6)
	own, second := chain("b", 4)
	nodes := strings.Join(slices.Concat(first, second, []string{"c", "d"}), " ")
	return granted{"a move that ends one that is too deep, and the node is deleted", nil, halfMoved(nodes, own[0], above[5]), by(cuts(own[0])),
		moves("d", "c"), []string{strings.Join(above, "(") + strings.Repeat(")", 5) + " c(d)"}}
}

// What was read at different times is no reason for a refusal: a call is refused only for what was so at one time.
func TestRefusedBesideOthers(t *testing.T) {
	for _, b := range grantedCalls() {
		for _, s := range records {
			at := 1
			for ; b.meets(t, tree.Schema{Strategy: s, Also: b.also}, at); at++ {
			}
			if at < 3 {
				t.Errorf("%s, %s: met at %d reads only", b.what, s, at-1)
			}
		}
	}
}

// meets makes the call and, at one of its reads, the change, unless it has fewer.
func (b *granted) meets(t *testing.T, schema tree.Schema, at int) bool {
	t.Helper()
	h := &hooked{Store: memory.New(nil)}
	b.begin(t, h.Store, schema)
	tr, other := shopOn(t, h, schema), shopOn(t, h.Store, schema)
	var reads atomic.Int64
	read := func() {
		if reads.Add(1) == int64(at) {
			if err := b.change(t, h.Store, schema); err != nil {
				t.Errorf("%s, %s, at read %d: the change: %v", b.what, schema.Strategy, at, err)
			}
		}
	}
	h.get = func(*driver.Table) error { read(); return nil }
	h.row = func(int) { read() }
	err := b.call(t.Context(), tr)
	if reads.Load() < int64(at) {
		return false
	}
	bad, failed := other.Verify(t.Context())
	if got := drawn(t, other, "", 0); err != nil || failed != nil || len(bad) > 0 || !slices.Contains(b.want, got) {
		t.Errorf("%s, %s, at read %d: %v; the tree is %.300s, want %.300q; %v, %v", b.what, schema.Strategy, at, err, got, b.want, bad, failed)
	}
	return reads.Load() < 1000 && !errors.Is(err, repo.ErrContention)
}
