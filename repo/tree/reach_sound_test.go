package tree_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/tree"
)

// inSorted calls check with an empty tree of each strategy, whose siblings are sorted.
func inSorted(t *testing.T, by []string, check func(t *testing.T, f *tree.Forest[topic], tr *tree.Tree[topic])) {
	for _, s := range all {
		t.Run(string(s), func(t *testing.T) {
			f := openTopics(t, tree.Schema{Collection: "topics", Strategy: s, Sorted: by})
			tr := f.Tree("forum")
			check(t, f, tr)
			if bad, err := tr.Verify(t.Context()); len(bad) > 0 || err != nil {
				t.Error(bad, err)
			}
		})
	}
}

// post inserts topics, each "id votes title" or "id<parent votes title", which "/" separates.
func post(t *testing.T, tr *tree.Tree[topic], topics string) {
	t.Helper()
	for _, one := range strings.Split(topics, "/") {
		var rec topic
		var id string
		if _, err := fmt.Sscan(one, &id, &rec.Votes, &rec.Title); err != nil {
			t.Fatal(one, err)
		}
		id, parent, _ := strings.Cut(id, "<")
		rec.ID = id
		if err := tr.Insert(t.Context(), tree.Under(parent), &rec); err != nil {
			t.Fatal(one, err)
		}
	}
}

func posted(t *testing.T, tr *tree.Tree[topic]) string {
	t.Helper()
	return outline(t, tr.Descendants(t.Context(), "", 0), func(n *topic) string { return n.ID })
}

// Text is sorted in descending order, also where one begins with another, then by ID; roots become children so.
func TestReachSortedByText(t *testing.T) {
	inSorted(t, []string{"votes", "-title"}, func(t *testing.T, _ *tree.Forest[topic], tr *tree.Tree[topic]) {
		post(t, tr, "e 3 zxy/a 1 bcd/c 2 zxy/g 3 abc/h 4 fgh/f 3 abc/b 2 a/b2 2 aa/d 3 ac")
		expect(t, "roots", posted(t, tr), "a c b2 b e d f g h")
		for _, id := range []string{"h", "g", "f", "e", "d", "c", "b2", "b"} {
			if err := tr.Move(t.Context(), id, tree.Under("a")); err != nil {
				t.Fatal(err)
			}
		}
		expect(t, "children", posted(t, tr), "a(c b2 b e d f g h)")
		post(t, tr, "c1<c 0 aca/c2<c 0 acc/c3<c 0 ac/c4<c 0 acb")
		expect(t, "grandchildren", posted(t, tr), "a(c(c2 c4 c1 c3) b2 b e d f g h)")
	})
}

// A sorted node has one place: no other position is taken, and who comes back or stays where it is changes nothing.
func TestReachSortedMoves(t *testing.T) {
	inSorted(t, []string{"votes"}, func(t *testing.T, _ *tree.Forest[topic], tr *tree.Tree[topic]) {
		ctx := t.Context()
		post(t, tr, "rt 1 a/prt<rt 2 b/ac1<prt 1 c/ac2<prt 2 d/ac3<prt 3 e/low 0 f")
		for _, pos := range []tree.Position{tree.FirstUnder(""), tree.FirstUnder("rt"), tree.Before("rt"), tree.After("ac3")} {
			if err := tr.Move(ctx, "ac1", pos); !errors.Is(err, repo.ErrInvalid) || !strings.Contains(err.Error(), "want Under") {
				t.Errorf("move %s: %v", pos, err)
			}
		}
		for _, pos := range []tree.Position{tree.Before("ac1"), {}} {
			if err := tr.Move(ctx, "ac1", pos); !errors.Is(err, repo.ErrInvalid) {
				t.Errorf("move %s: %v", pos, err)
			}
		}
		const want = "low rt(prt(ac1 ac2 ac3))"
		expect(t, "refused", posted(t, tr), want)
		if err := tr.Move(ctx, "ac1", tree.Under("rt")); err != nil {
			t.Fatal(err)
		}
		expect(t, "away", posted(t, tr), "low rt(ac1 prt(ac2 ac3))")
		if err := tr.Move(ctx, "ac1", tree.Under("prt")); err != nil {
			t.Fatal(err)
		}
		expect(t, "back", posted(t, tr), want)
		before, err := repo.Collect(tr.Children(ctx, "prt"))
		if err != nil {
			t.Fatal(err)
		}
		if err := tr.Move(ctx, "ac1", tree.Under("prt")); err != nil {
			t.Fatal(err)
		}
		after, err := repo.Collect(tr.Children(ctx, "prt"))
		if err != nil {
			t.Fatal(err)
		}
		for i := range after {
			expect(t, "the place of "+after[i].ID, after[i].Place+after[i].Path, before[i].Place+before[i].Path)
		}
	})
}

type dated struct {
	tree.Node
	At time.Time `repo:"at"`
}

// Times sort as such, the zero one first; a field that may be absent does not sort.
func TestReachSortedByTime(t *testing.T) {
	for _, s := range all {
		schema := tree.Schema{Collection: "dated", Strategy: s, Sorted: []string{"at"}}
		f, err := tree.Open[dated](t.Context(), repo.NewStore(memory.New(nil), nil), schema)
		if err != nil {
			t.Fatal(err)
		}
		day := time.Date(2024, 2, 29, 23, 0, 0, 0, time.UTC)
		for _, rec := range []dated{
			{tree.Node{ID: "east"}, day.In(time.FixedZone("", 3600)).Add(time.Minute)}, {tree.Node{ID: "day"}, day}, {tree.Node{ID: "again"}, day},
			{tree.Node{ID: "later"}, day.Add(time.Millisecond)}, {Node: tree.Node{ID: "zero"}}, {tree.Node{ID: "old"}, day.AddDate(-100, 0, 0)},
		} {
			if err := f.Tree("log").Insert(t.Context(), tree.Under(""), &rec); err != nil {
				t.Fatal(s, rec.ID, err)
			}
		}
		got := outline(t, f.Tree("log").Descendants(t.Context(), "", 0), func(n *dated) string { return n.ID })
		expect(t, string(s), got, "zero old again day later east")
	}
	type maybe struct {
		tree.Node
		At *time.Time `repo:"at"`
		By string     `repo:"by,omitempty"`
	}
	for _, by := range []string{"at", "-by"} {
		schema := tree.Schema{Collection: "maybe", Sorted: []string{by}}
		if _, err := tree.Open[maybe](t.Context(), repo.NewStore(memory.New(nil), nil), schema); !errors.Is(err, repo.ErrSchema) {
			t.Errorf("sorted by %s: %v, want %v", by, err, repo.ErrSchema)
		}
	}
}

// Where another program changed the field by which siblings are sorted, that is told of and mended.
func TestReachSortedRepair(t *testing.T) {
	for _, s := range all[:len(all)-1] {
		t.Run(string(s), func(t *testing.T) {
			f, ctx := openTopics(t, tree.Schema{Collection: "topics", Strategy: s, Sorted: []string{"votes"}}), t.Context()
			tr := f.Tree("forum")
			post(t, tr, "a 1 a/b 2 b/b1<b 1 c/b2<b 2 d/c 3 e")
			for _, id := range []string{"b", "b2"} {
				if _, err := f.Nodes().Update(ctx, repo.Key{"forum", id}, func(n *topic) error { n.Votes -= 9; return nil }); err != nil {
					t.Fatal(err)
				}
			}
			bad, err := tr.Verify(ctx)
			if len(bad) == 0 || err != nil {
				t.Error(bad, err)
			}
			if left, err := tr.Repair(ctx); len(left) > 0 || err != nil {
				t.Error(left, err)
			}
			expect(t, "repaired", posted(t, tr), "b(b2 b1) a c")
			if bad, err := tr.Verify(ctx); len(bad) > 0 || err != nil {
				t.Error(bad, err)
			}
		})
	}
}

// What a strategy keeps of a node, where it is wrong, is told of and mended, and another tree of the forest is sound.
func TestReachRepair(t *testing.T) {
	for _, tt := range []struct {
		name     string
		strategy tree.Strategy
		id       string
		change   func(*category)
	}{
		{"reversed", tree.NestedSets, "2", func(n *category) { n.Left, n.Right = n.Right, n.Left }},
		{"none", tree.NestedSets, "2", func(n *category) { n.Left, n.Right = 0, 0 }},
		{"overlapping", tree.NestedSets, "22", func(n *category) { n.Right = 1<<62 - 1 }},
		{"a root beyond the end", tree.NestedSets, "4", func(n *category) { n.Left, n.Right = 1<<62, 1<<62+9 }},
		{"outside of its parent", tree.NestedSets, "24", func(n *category) { n.Left = 1 }},
		{"a wrong ancestor", tree.Ancestors, "231", func(n *category) { n.Ancestors = []string{"2", "22"} }},
		{"too many", tree.Ancestors, "21", func(n *category) { n.Ancestors = []string{"1", "2"} }},
		{"none of its own", tree.Ancestors, "23", func(n *category) { n.Ancestors = nil }},
		{"a root with some", tree.Ancestors, "4", func(n *category) { n.Ancestors = []string{"4"} }},
		{"of another node", tree.Path, "23", func(n *category) { n.Path = n.Path[:len(n.Path)-1] }},
		{"none", tree.Path, "2", func(n *category) { n.Path = "" }},
	} {
		t.Run(fmt.Sprint(tt.strategy, " ", tt.name), func(t *testing.T) {
			f, ctx := open(t, tt.strategy), t.Context()
			tr, other := f.Tree("shop"), f.Tree("other")
			plant(t, tr, bearded)
			plant(t, other, bearded)
			if _, err := f.Nodes().Update(ctx, repo.Key{"shop", tt.id}, func(n *category) error { tt.change(n); return nil }); err != nil {
				t.Fatal(err)
			}
			bad, err := tr.Verify(ctx)
			if !slices.ContainsFunc(bad, func(p tree.Problem) bool { return p.ID == tt.id }) || err != nil {
				t.Errorf("verify: %v, %v", bad, err)
			}
			if bad, err := other.Verify(ctx); len(bad) > 0 || err != nil {
				t.Errorf("the other tree: %v, %v", bad, err)
			}
			if left, err := tr.Repair(ctx); len(left) > 0 || err != nil {
				t.Errorf("repair: %v, %v", left, err)
			}
			expect(t, "repaired", drawn(t, tr, "", 0), outlined)
			expect(t, "below 2", drawn(t, tr, "2", 0), "21 22 23(231) 24")
			sound(t, f, tt.strategy)
			if err := errors.Join(tr.Move(ctx, "23", tree.Under("1")), tr.DeleteSubtree(ctx, "2")); err != nil {
				t.Error(err)
			}
			expect(t, "changed", drawn(t, tr, "", 0), "1(23(231)) 3 4(41)")
		})
	}
}

// Inserts below one node at once are all there, and each writer's are in its order.
func TestReachInsertsAtOnce(t *testing.T) {
	inEach(t, func(t *testing.T, tr *tree.Tree[category]) {
		plant(t, tr, "top")
		var writers sync.WaitGroup
		for w := range 5 {
			writers.Go(func() {
				for i := range 5 {
					if err := tr.Insert(t.Context(), tree.Under("top"), &category{Node: tree.Node{ID: fmt.Sprint(w, "-", i)}}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		writers.Wait()
		next := map[string]int{}
		for _, id := range strings.Fields(ids(t, tr.Children(t.Context(), "top"))) {
			w, i, _ := strings.Cut(id, "-")
			expect(t, "next of "+w, i, fmt.Sprint(next[w]))
			next[w]++
		}
		expect(t, "children", next, map[string]int{"0": 5, "1": 5, "2": 5, "3": 5, "4": 5})
	})
}

// However many nodes are inserted and moved into one gap, there is room for more.
func TestReachOneGap(t *testing.T) {
	inEach(t, func(t *testing.T, tr *tree.Tree[category]) {
		plant(t, tr, "first last a")
		want := []string{"first", "last", "a"}
		for i := range 200 {
			id := fmt.Sprint("n", i)
			plant(t, tr, id+"<a")
			if err := tr.Move(t.Context(), id, []tree.Position{tree.After("first"), tree.Before("last")}[i%2]); err != nil {
				t.Fatal(err)
			}
			want = slices.Insert(want, []int{1, len(want) - 2}[i%2], id)
		}
		expect(t, "roots", strings.Fields(ids(t, tr.Children(t.Context(), ""))), want)
	})
}

// A node that comes before its siblings leaves them as they are.
func TestReachFirstInsert(t *testing.T) {
	for _, s := range []tree.Strategy{tree.Adjacency, tree.Path, tree.Ancestors} {
		tr, ctx := open(t, s).Tree("shop"), t.Context()
		plant(t, tr, bearded)
		records := func() map[string]category {
			list := map[string]category{}
			for item, err := range tr.Descendants(ctx, "", 0) {
				if err != nil {
					t.Fatal(err)
				}
				list[item.Node.ID] = item.Node
			}
			return list
		}
		want := records()
		for _, pos := range []tree.Position{tree.FirstUnder("2"), tree.FirstUnder("2"), tree.FirstUnder(""), tree.Before("22")} {
			rec := category{Node: tree.Node{ID: fmt.Sprint("x", len(want))}}
			if err := tr.Insert(ctx, pos, &rec); err != nil {
				t.Fatal(err)
			}
			want[rec.ID] = rec
		}
		expect(t, string(s), records(), want)
	}
}

// A counted store counts its reads.
type counted struct {
	driver.Store
	reads *atomic.Int64
}

func (c counted) Get(ctx context.Context, t *driver.Table, keys []driver.Key, mask []int, rows []driver.Row) error {
	c.reads.Add(1)
	return c.Store.Get(ctx, t, keys, mask, rows)
}

func (c counted) Range(ctx context.Context, span driver.Span) iter.Seq2[*driver.Row, error] {
	c.reads.Add(1)
	return c.Store.Range(ctx, span)
}

// Where docs/howto/trees.md promises one range or two reads, a deep tree costs as many calls of the store as a shallow
// one. The others show that calls are counted.
func TestReachCosts(t *testing.T) {
	for s, grows := range map[tree.Strategy][2]bool{ // a subtree, ancestors
		tree.Adjacency: {true, true}, tree.Path: {}, tree.Ancestors: {}, tree.NestedSets: {false, true}, tree.Document: {},
	} {
		t.Run(string(s), func(t *testing.T) {
			var reads atomic.Int64
			store := repo.NewStore(counted{memory.New(nil), &reads}, nil)
			f, err := tree.Open[category](t.Context(), store, tree.Schema{Collection: "categories", Strategy: s})
			if err != nil {
				t.Fatal(err)
			}
			var subtree, ancestors [2]int64
			for i, depth := range []int{4, 12} {
				tr := f.Tree(fmt.Sprint(depth))
				list := chain(t, tr, "", "n", depth)
				reads.Store(0)
				beneath(t, tr, list[0])
				subtree[i] = reads.Swap(0)
				above, err := tr.Ancestors(t.Context(), list[depth-1])
				if ancestors[i] = reads.Load(); len(above) != depth-1 || err != nil {
					t.Error(above, err)
				}
			}
			if got := [2]bool{subtree[0] != subtree[1], ancestors[0] != ancestors[1]}; got != grows {
				t.Errorf("a subtree costs %d calls, ancestors %d: they grow %v, want %v", subtree, ancestors, got, grows)
			}
		})
	}
}
