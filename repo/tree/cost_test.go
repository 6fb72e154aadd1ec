package tree_test

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/tree"
)

// A slow store takes a millisecond for each call, and counts them.
type slow struct {
	driver.Store
	requests, rows atomic.Int64
}

func (s *slow) Get(ctx context.Context, t *driver.Table, keys []driver.Key, mask []int, rows []driver.Row) error {
	time.Sleep(time.Millisecond)
	s.requests.Add(int64(len(keys)))
	return s.Store.Get(ctx, t, keys, mask, rows)
}

func (s *slow) Range(ctx context.Context, span driver.Span) iter.Seq2[*driver.Row, error] {
	return func(yield func(*driver.Row, error) bool) {
		time.Sleep(time.Millisecond)
		s.requests.Add(1)
		s.Store.Range(ctx, span)(yield)
	}
}

func (s *slow) Commit(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
	time.Sleep(time.Millisecond)
	s.requests.Add(1)
	for _, op := range ops {
		if op.Do != driver.Check && op.Do != driver.Fence {
			s.rows.Add(1)
		}
	}
	return s.Store.Commit(ctx, token, ops)
}

// slowStore returns a slow store for trees of a kind, and how it is opened.
func slowStore(k kind) (*slow, driver.Store) {
	in := k.store()
	s := &slow{Store: in}
	if k.follows {
		return s, slowFollower{s, in}
	}
	return s, s
}

// Facts are those of a store that other programs can reach, as those are whose calls take time.
func (s *slow) Facts() driver.Facts {
	f := s.Store.Facts()
	f.OneProcess = false
	return f
}

// A slowFollower is a slow store that follows references.
type slowFollower struct {
	*slow
	in driver.Follower
}

func (s slowFollower) Follow(ctx context.Context, trail driver.Trail, beside []*driver.Table, yield func(i int, row *driver.Row) bool) error {
	time.Sleep(time.Millisecond)
	s.requests.Add(1)
	return s.in.Follow(ctx, trail, beside, yield)
}

// measured returns what a call takes.
func (s *slow) measured(call func() error) (tree.Cost, error) {
	s.requests.Store(0)
	s.rows.Store(0)
	begun := time.Now()
	err := call()
	return tree.Cost{Depth: int(time.Since(begun) / time.Millisecond), Requests: int(s.requests.Load()), Rows: int(s.rows.Load())}, err
}

// Calls cost what Explain says.
func TestExplain(t *testing.T) {
	for _, k := range kinds() {
		t.Run(k.String(), func(t *testing.T) {
			for _, size := range []tree.Size{{Depth: 4, Children: 5, Levels: 3}, {Depth: 1, Children: 120, Levels: 1}} {
				synctest.Test(t, func(t *testing.T) { explained(t, k, size) })
			}
		})
	}
}

func explained(t *testing.T, k kind, size tree.Size) {
	s, on := slowStore(k)
	f, ctx := openOn(t, on, k.schema()), t.Context()
	tr := f.Tree("shop")
	at, to := chainOf(t, tr, "a", size.Depth), chainOf(t, tr, "b", size.Depth)
	plant(t, tr, "x<"+at)
	size.Below = grow(t, tr, "x", size.Children, size.Levels)
	grow(t, tr, to, size.Children, 1)
	way := []string{"x"}
	for i := size.Depth - 1; i >= 0; i-- {
		way = append([]string{fmt.Sprint("a", i)}, way...)
	}
	costs, err := f.Explain(k.Strategy, size)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]tree.Cost{}
	for _, c := range costs {
		want[c.Call] = c
	}
	calls := []struct {
		name string
		do   func() error
	}{
		{"Get", func() error { _, err := tr.Get(ctx, "x"); return err }},
		{"Parent", func() error { _, err := tr.Parent(ctx, "x"); return err }},
		{"Children", func() error { _, err := repo.Collect(tr.Children(ctx, "x")); return err }},
		{"Ancestors", func() error { _, err := tr.Ancestors(ctx, "x"); return err }},
		{"Depth", func() error { _, err := tr.Depth(ctx, "x"); return err }},
		{"Count", func() error { _, err := tr.Count(ctx, "x"); return err }},
		{"HasChildren", func() error { _, err := tr.HasChildren(ctx, "x"); return err }},
		{"ChildrenPage", func() error { _, err := tr.ChildrenPage(ctx, "x", size.Children, ""); return err }},
		{"Find", func() error { _, err := tr.Find(ctx, way...); return err }},
		{"Descendants", func() error { _, err := tr.Count(ctx, "x"); return err }},
		{"Insert", func() error { return tr.Insert(ctx, tree.Under(to), &category{Node: tree.Node{ID: "new"}}) }},
		{"Update", func() error {
			_, err := tr.Update(ctx, "new", func(c *category) error { c.Name = "n"; return nil })
			return err
		}},
		{"Delete", func() error { return tr.Delete(ctx, "new") }},
		{"Move", func() error { return tr.Move(ctx, "x", tree.Under(to)) }},
		{"DeleteSubtree", func() error { return tr.DeleteSubtree(ctx, "x") }},
	}
	for _, c := range calls {
		got, err := s.measured(c.do)
		if err != nil {
			t.Fatal(c.name, err)
		}
		if k.follows { // the store writes rows, too
			got.Rows = want[c.name].Rows
		}
		if got.Call = c.name; got != want[c.name] {
			t.Errorf("%+v: %+v, Explain says %+v", size, got, want[c.name])
		}
	}
}

// chainOf plants nodes below one another and returns the last.
func chainOf(t *testing.T, tr *tree.Tree[category], name string, n int) (last string) {
	for i := range n {
		id := fmt.Sprint(name, i)
		plant(t, tr, id+"<"+last)
		last = id
	}
	return last
}

// grow plants a regular tree below a node and returns how many nodes it has.
func grow(t *testing.T, tr *tree.Tree[category], id string, children, levels int) (n int) {
	for i := range children {
		if levels > 0 {
			child := fmt.Sprint(id, ".", i)
			plant(t, tr, child+"<"+id)
			n += 1 + grow(t, tr, child, children, levels-1)
		}
	}
	return n
}

// Find costs what Explain says where nodes have names of their own, too.
func TestExplainFind(t *testing.T) {
	for _, k := range kinds() {
		synctest.Test(t, func(t *testing.T) {
			s, schema := &slow{Store: memory.New(nil)}, k.schema()
			schema.Name = "name"
			f, err := tree.Open[category](t.Context(), repo.NewStore(s, nil), schema)
			if err != nil {
				t.Fatal(err)
			}
			tr := f.Tree("shop")
			chainOf(t, tr, "a", 4)
			costs, err := f.Explain(k.Strategy, tree.Size{Depth: 3})
			if err != nil {
				t.Fatal(err)
			}
			got, err := s.measured(func() error { _, err := tr.Find(t.Context(), "a0", "a1", "a2", "a3"); return err })
			if got.Call = "Find"; err != nil || !slices.Contains(costs, got) {
				t.Errorf("%s: %+v, %v, Explain says %+v", k, got, err, costs)
			}
		})
	}
}
