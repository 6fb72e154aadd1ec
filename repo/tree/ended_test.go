package tree_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/tree"
)

// A paused store calls reading once, before it reads a node of some ID by its key; after so many commits more it is dead.
type paused struct {
	driver.Store
	id      string
	reading func()
	lives   int // commits, if it is to die
}

func (s *paused) Get(ctx context.Context, t *driver.Table, keys []driver.Key, mask []int, rows []driver.Row) error {
	if do := s.reading; do != nil && slices.ContainsFunc(keys, func(k driver.Key) bool { return strings.Contains(k.Sort, s.id) }) {
		s.reading = nil
		do()
	}
	return s.Store.Get(ctx, t, keys, mask, rows)
}

func (s *paused) Commit(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
	if s.lives--; s.lives == 0 {
		return nil, driver.ErrUnavailable
	}
	return s.Store.Commit(ctx, token, ops)
}

// A program ends a change of the structure; another one does its last part, and dies, between the rows of the index and
// the nodes that the first one reads. A child that came to one of these nodes just before is changed, too.
func TestEndedBesideAnother(t *testing.T) {
	for _, strategy := range []tree.Strategy{tree.Adjacency, tree.Path, tree.Ancestors, tree.NestedSets} {
		for name, change := range map[string]func(ctx context.Context, tr *tree.Tree[category]) error{
			"delete subtree": func(ctx context.Context, tr *tree.Tree[category]) error { return tr.DeleteSubtree(ctx, "a") },
			"move":           func(ctx context.Context, tr *tree.Tree[category]) error { return tr.Move(ctx, "a", tree.Under("b")) },
		} {
			t.Run(string(strategy)+"/"+name, func(t *testing.T) { endedBesideAnother(t, strategy, change) })
		}
	}
}

func endedBesideAnother(t *testing.T, strategy tree.Strategy, change func(ctx context.Context, tr *tree.Tree[category]) error) {
	ctx, backend := t.Context(), memory.New(nil)
	open := func(s driver.Store) *tree.Tree[category] {
		f, err := tree.Open[category](ctx, repo.NewStore(s, nil), tree.Schema{Collection: "nodes", Strategy: strategy})
		if err != nil {
			t.Fatal(err)
		}
		return f.Tree("t")
	}
	first, second := &paused{Store: backend, id: "child"}, &paused{Store: backend, id: "child"}
	one, two, three := open(first), open(second), open(backend)
	for _, n := range []struct{ id, parent string }{{"a", ""}, {"b", ""}, {"child", "a"}} {
		if err := three.Insert(ctx, tree.Under(n.parent), &category{Node: tree.Node{ID: n.id}}); err != nil {
			t.Fatal(err)
		}
	}
	came := false
	first.reading = func() {
		second.reading = func() {
			err := three.Insert(ctx, tree.Under("child"), &category{Node: tree.Node{ID: "grandchild"}})
			if came = err == nil; err != nil && !errors.Is(err, repo.ErrNotFound) {
				t.Error(err)
			}
			second.lives = 2
		}
		if err := two.Move(ctx, "b", tree.FirstUnder("")); err == nil && came {
			t.Error("the second program did not die")
		}
	}
	if err := change(ctx, one); err != nil {
		t.Error(err)
	}
	report, err := three.Verify(ctx)
	if err != nil || len(report) > 0 {
		t.Errorf("verified: %+v, %v", report, err)
	}
	_, err = three.Get(ctx, "child")
	above, bad := three.Ancestors(ctx, "grandchild")
	switch {
	case !came:
		t.Logf("the insert was refused")
	case err == nil && (bad != nil || len(above) != 3):
		t.Errorf("the ancestors of the grandchild are %v, %v", above, bad)
	case err != nil && !errors.Is(bad, repo.ErrNotFound):
		t.Errorf("the grandchild is left: %v, %v", above, bad)
	}
}
