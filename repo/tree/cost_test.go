package tree_test

import (
	"context"
	"fmt"
	"io"
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

func (s *slow) Count(ctx context.Context, span driver.Span) (int, error) {
	time.Sleep(time.Millisecond)
	s.requests.Add(1)
	return s.Store.(driver.Counter).Count(ctx, span)
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

// An explained forest is one on a slow store, of which calls cost what Explain says.
type explained struct {
	*tree.Forest[category]
	kind
	slow *slow
	size tree.Size
	want map[string]tree.Cost
}

func openExplained(t *testing.T, k kind, schema tree.Schema, size tree.Size) *explained {
	t.Helper()
	s, on := slowStore(k)
	e := &explained{openStore(t, repo.NewStore(on, atOnce()), schema), k, s, size, map[string]tree.Cost{}}
	s.requests.Store(0)
	begun := time.Now()
	costs, err := tree.Explain[category](e.Nodes().Store(), schema, size)
	if err != nil || s.requests.Load() > 0 || time.Since(begun) > 0 {
		t.Fatalf("explain: %v, after %d requests", err, s.requests.Load())
	}
	for _, c := range costs {
		c.Leaves = ""
		e.want[c.Call] = c
	}
	return e
}

// like compares what a call costs with what Explain says.
func (e *explained) like(t *testing.T, name string, call func() error) {
	t.Helper()
	if got, want := e.compared(t, name, call); got != want {
		t.Errorf("%+v: %v, Explain says %v", e.size, got, want)
	}
}

// compared returns what a call costs, and what Explain says.
func (e *explained) compared(t *testing.T, name string, call func() error) (got, want tree.Cost) {
	t.Helper()
	got, err := e.slow.measured(call)
	if err != nil {
		t.Fatal(name, err)
	}
	want = e.want[name]
	if e.follows { // the store writes rows, too
		got.Rows = want.Rows
	}
	got.Call = name
	delete(e.want, name)
	return got, want
}

// Calls cost what Explain says.
func TestExplainCosts(t *testing.T) {
	for _, k := range kinds() {
		t.Run(k.String(), func(t *testing.T) {
			for _, size := range []tree.Size{{Depth: 4, Children: 5, Below: 155, Levels: 3}, {Depth: 1, Children: 120, Below: 120, Levels: 1}} {
				synctest.Test(t, func(t *testing.T) {
					e := openExplained(t, k, k.schema(), size)
					e.reads(t, e.grown(t, "shop"))
					e.writes(t)
					e.trees(t)
					delete(e.want, "Lift") // of fewer children: see TestExplainLift
					if len(e.want) > 0 {
						t.Errorf("not compared: %v", e.want)
					}
				})
			}
		})
	}
}

// grown returns a tree with a node x of the size, its siblings before it, and b, below the last of which it may come.
func (e *explained) grown(t *testing.T, name string) *tree.Tree[category] {
	t.Helper()
	var nodes []category
	add := func(id, parent string) { nodes = append(nodes, category{Node: tree.Node{ID: id, Parent: parent}}) }
	for _, name := range []string{"a", "b"} {
		last := ""
		for i := range e.size.Depth {
			add(fmt.Sprint(name, i), last)
			last = fmt.Sprint(name, i)
		}
		for i := range e.size.Children - 1 {
			add(fmt.Sprint(name, "s", i), last)
		}
		if name == "a" {
			add("x", last)
			grow(add, "x", e.size.Children, e.size.Levels)
		} else if e.size.Children > 0 {
			add("blast", last)
		}
	}
	tr := e.Tree(name)
	loadAll(t, tr, nodes)
	return tr
}

// grow adds a regular tree below a node.
func grow(add func(id, parent string), id string, children, levels int) {
	for i := range children {
		if levels > 0 {
			child := fmt.Sprint(id, ".", i)
			add(child, id)
			grow(add, child, children, levels-1)
		}
	}
}

func loadAll(t *testing.T, tr *tree.Tree[category], nodes []category) {
	t.Helper()
	n, err := tr.Load(t.Context(), func(yield func(category, error) bool) {
		for i := 0; i < len(nodes) && yield(nodes[i], nil); i++ {
		}
	})
	if n != len(nodes) || err != nil {
		t.Fatal(n, err)
	}
}

// reads compares calls that read.
func (e *explained) reads(t *testing.T, tr *tree.Tree[category]) {
	ctx, way := t.Context(), []string{"x"}
	for i := e.size.Depth - 1; i >= 0; i-- {
		way = append([]string{fmt.Sprint("a", i)}, way...)
	}
	calls := map[string]func() error{
		"Exists":        func() error { _, err := tr.Exists(ctx); return err },
		"Strategy":      func() error { _, err := tr.Strategy(ctx); return err },
		"Settle":        func() error { return tr.Settle(ctx) },
		"Get":           func() error { _, err := tr.Get(ctx, "x"); return err },
		"Parent":        func() error { _, err := tr.Parent(ctx, "x"); return err },
		"Children":      func() error { _, err := repo.Collect(tr.Children(ctx, "x")); return err },
		"Reversed":      func() error { _, err := repo.Collect(tr.Reversed(ctx, "x")); return err },
		"Siblings":      func() error { _, err := repo.Collect(tr.Siblings(ctx, "x")); return err },
		"Next":          func() error { _, err := tr.Next(ctx, "as0"); return err },
		"Previous":      func() error { _, err := tr.Previous(ctx, "x"); return err },
		"Ancestors":     func() error { _, err := tr.Ancestors(ctx, "x"); return err },
		"Depth":         func() error { _, err := tr.Depth(ctx, "x"); return err },
		"IsBelow":       func() error { _, err := tr.IsBelow(ctx, "x", "a0"); return err },
		"HasChildren":   func() error { _, err := tr.HasChildren(ctx, "x"); return err },
		"CountChildren": func() error { _, err := tr.CountChildren(ctx, "x"); return err },
		"ChildrenPage":  func() error { _, err := tr.ChildrenPage(ctx, "x", e.size.Children, ""); return err },
		"Find":          func() error { _, err := tr.Find(ctx, way...); return err },
		"Descendants":   func() error { _, err := repo.Collect(tr.Descendants(ctx, "x", 0)); return err },
		"Annotated":     func() error { _, err := repo.Collect(tr.Annotated(ctx, "x", 0)); return err },
		"Leaves":        func() error { _, err := repo.Collect(tr.Leaves(ctx, "x")); return err },
		"Count":         func() error { _, err := tr.Count(ctx, "x"); return err },
		"WriteLines":    func() error { return tr.WriteLines(ctx, io.Discard, "x") },
		"WriteNested":   func() error { return tr.WriteNested(ctx, io.Discard, "x") },
		"CommonAncestor": func() error {
			_, err := tr.CommonAncestor(ctx, "x", "as0")
			return err
		},
	}
	for name, call := range calls {
		e.like(t, name, call)
	}
}

// writes compares calls that change a node.
func (e *explained) writes(t *testing.T) {
	ctx, at := t.Context(), tree.Under(fmt.Sprint("b", e.size.Depth-1))
	tr, copied := e.grown(t, "written"), e.grown(t, "copied")
	for _, c := range []struct {
		name string
		call func() error
	}{
		{"Insert", func() error { return tr.Insert(ctx, at, &category{Node: tree.Node{ID: "new"}}) }},
		{"Update", func() error {
			_, err := tr.Update(ctx, "new", func(c *category) error { c.Name = "n"; return nil })
			return err
		}},
		{"Delete", func() error { return tr.Delete(ctx, "new") }},
		{"Move", func() error { return tr.Move(ctx, "x", at) }},
		{"DeleteSubtree", func() error { return tr.DeleteSubtree(ctx, "x") }},
		{"Copy", func() error {
			_, err := copied.Copy(ctx, "x", at, func(id string) string { return "copy of " + id })
			return err
		}},
	} {
		e.like(t, c.name, c.call)
	}
	for _, tr := range []*tree.Tree[category]{tr, copied} {
		if bad, err := tr.Verify(ctx); len(bad) > 0 || err != nil {
			t.Error(bad, err)
		}
	}
}

// trees compares calls on a whole tree.
func (e *explained) trees(t *testing.T) {
	ctx := t.Context()
	var nodes []category
	grow(func(id, parent string) { nodes = append(nodes, category{Node: tree.Node{ID: id, Parent: parent}}) }, "", e.size.Children, e.size.Levels)
	tr := e.Tree("loaded")
	e.like(t, "Load", func() error { loadAll(t, tr, nodes); return nil })
	if !e.spread {
		e.like(t, "Verify", func() error { _, err := tr.Verify(ctx); return err })
		e.like(t, "Repair", func() error { _, err := tr.Repair(ctx); return err })
	}
	for _, to := range all {
		name := "Convert to " + string(to)
		if _, ok := e.want[name]; !ok {
			continue
		}
		tr := e.Tree(name)
		loadAll(t, tr, nodes)
		e.like(t, name, func() error { return tr.Convert(ctx, to) })
		if bad, err := tr.Verify(ctx); len(bad) > 0 || err != nil {
			t.Error(bad, err)
		}
	}
}

// What Explain says of a smaller tree is not what calls cost.
func TestExplainOfAnotherSize(t *testing.T) {
	size := tree.Size{Depth: 4, Children: 5, Below: 155, Levels: 3}
	smaller := tree.Size{Depth: 3, Children: 4, Below: 84, Levels: 3}
	synctest.Test(t, func(t *testing.T) {
		schema := tree.Schema{Collection: "categories", Strategy: tree.Ancestors, Also: []tree.Strategy{tree.Path}}
		e := openExplained(t, kind{Strategy: tree.Ancestors}, schema, smaller)
		e.size = size
		ctx, at := t.Context(), tree.Under("b3")
		tr, lifted, whole := e.grown(t, "shop"), e.grown(t, "lifted"), e.grown(t, "whole")
		for name, call := range map[string]func() error{
			"Children":        func() error { _, err := repo.Collect(tr.Children(ctx, "x")); return err },
			"Ancestors":       func() error { _, err := tr.Ancestors(ctx, "x"); return err },
			"WriteLines":      func() error { return tr.WriteLines(ctx, io.Discard, "x") },
			"Insert":          func() error { return tr.Insert(ctx, at, &category{Node: tree.Node{ID: "new"}}) },
			"Lift":            func() error { return lifted.Lift(ctx, "x") },
			"Convert to path": func() error { return whole.Convert(ctx, tree.Path) },
			"Load":            func() error { e.grown(t, "loaded"); return nil },
			"Copy": func() error {
				_, err := tr.Copy(ctx, "x", tree.Under(""), func(id string) string { return id + "2" })
				return err
			},
		} {
			if got, want := e.compared(t, name, call); got == want || want.Call != name {
				t.Errorf("%v, as Explain says of a smaller tree: %v", got, want)
			}
		}
	})
}

// Explain tells of a strategy that the forest lacks what it tells of a forest that has it, and changes nothing.
func TestExplainOfAnotherStrategy(t *testing.T) {
	size := tree.Size{Depth: 3, Children: 7, Below: 56, Levels: 2}
	for _, s := range all {
		store := repo.NewStore(memory.New(nil), nil)
		if _, err := tree.Open[category](t.Context(), store, tree.Schema{Collection: "categories"}); err != nil {
			t.Fatal(err)
		}
		before := catalogued(t, store)
		got, err := tree.Explain[category](store, tree.Schema{Collection: "categories", Strategy: s}, size)
		want, err2 := tree.Explain[category](open(t, s).Nodes().Store(), tree.Schema{Collection: "categories", Strategy: s}, size)
		if err != nil || err2 != nil || !slices.Equal(got, want) || len(got) < 30 {
			t.Errorf("%s: %v, %v, and %v, %v where the forest has it", s, got, err, want, err2)
		}
		if after := catalogued(t, store); !slices.Equal(after, before) {
			t.Errorf("%s: the store has %q, had %q", s, after, before)
		}
	}
}

// A node is lifted at the cost that Explain says, as long as there is room between it and the next one.
func TestExplainLift(t *testing.T) {
	for _, k := range kinds() {
		t.Run(k.String(), func(t *testing.T) {
			sizes := []tree.Size{{Depth: 4, Children: 5, Below: 155, Levels: 3}, {Depth: 2, Children: 80, Below: 80, Levels: 1}, {Depth: 1}}
			if k.Strategy == tree.NestedSets { // whose numbers have less room
				sizes[1] = tree.Size{Depth: 2, Children: 8, Below: 72, Levels: 2}
			}
			for _, size := range sizes {
				synctest.Test(t, func(t *testing.T) {
					e := openExplained(t, k, k.schema(), size)
					tr := e.grown(t, "shop")
					e.like(t, "Lift", func() error { return tr.Lift(t.Context(), "x") })
				})
			}
		})
	}
}

// Calls cost what Explain says where the trees may have each strategy, and conversions do.
func TestExplainConversions(t *testing.T) {
	for _, k := range kinds() {
		t.Run(k.String(), func(t *testing.T) {
			schema := k.schema()
			schema.Also, schema.Name = all, "name"
			if k.spread {
				schema.Also = []tree.Strategy{tree.Adjacency, tree.Ancestors}
			}
			for _, size := range []tree.Size{{Depth: 2, Children: 3, Below: 120, Levels: 4}, {Depth: 2, Children: 110, Below: 110, Levels: 1}} {
				synctest.Test(t, func(t *testing.T) {
					e := openExplained(t, k, schema, size)
					e.trees(t)
				})
			}
		})
	}
}

// A paged slow store reads a few rows at a time.
type paged struct{ *slow }

func (s paged) Facts() driver.Facts {
	f := s.slow.Facts()
	f.Paging = driver.Paging{First: 10, Most: 10}
	return f
}

func (s paged) Range(ctx context.Context, span driver.Span) iter.Seq2[*driver.Row, error] {
	return func(yield func(*driver.Row, error) bool) {
		n := 0
		s.slow.Range(ctx, span)(func(row *driver.Row, err error) bool {
			if n++; n%10 == 0 {
				time.Sleep(time.Millisecond)
				s.requests.Add(1)
			}
			return yield(row, err)
		})
	}
}

// Children that lie together are counted by the store, in one request for each node, as Explain says.
func TestExplainCountChildren(t *testing.T) {
	for _, s := range all {
		synctest.Test(t, func(t *testing.T) {
			const n = 60
			slow, schema := &slow{Store: memory.New(nil)}, tree.Schema{Collection: "categories", Strategy: s}
			f := openOn(t, paged{slow}, schema)
			tr, nodes := f.Tree("shop"), []category{{Node: tree.Node{ID: "x"}}}
			for i := range n {
				nodes = append(nodes, category{Node: tree.Node{ID: fmt.Sprint(i), Parent: "x"}})
			}
			loadAll(t, tr, nodes)
			costs, err := tree.Explain[category](f.Nodes().Store(), schema, tree.Size{Children: n, Below: n, Levels: 1})
			if err != nil {
				t.Fatal(err)
			}
			got, err := slow.measured(func() error {
				counts, err := tr.CountChildren(t.Context(), "x")
				if !slices.Equal(counts, []int{n}) {
					t.Errorf("%s: %d children, want %d", s, counts, n)
				}
				return err
			})
			if got.Call = "CountChildren"; err != nil || !slices.Contains(costs, got) || s != tree.Document && got.Requests != 1 {
				t.Errorf("%s: %+v, %v, Explain says %+v", s, got, err, costs)
			}
			together, err := slow.measured(func() error { _, err := tr.CountChildren(t.Context(), "x", "", "1"); return err })
			if err != nil || together.Depth != got.Depth {
				t.Errorf("%s: of three nodes %+v, %v, of one %+v", s, together, err, got)
			}
		})
	}
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
			plant(t, tr, "a0 a1<a0 a2<a1 a3<a2")
			costs, err := tree.Explain[category](f.Nodes().Store(), schema, tree.Size{Depth: 3})
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
