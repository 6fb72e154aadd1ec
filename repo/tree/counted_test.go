package tree_test

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/tree"
)

// A tallied store counts what it reads and writes.
type tallied struct {
	driver.Store

	mu    sync.Mutex
	spans []driver.Span
	counts
}

// counts are how many rows are read, those that are not there with them, and written, and how many commits there are.
type counts struct{ read, written, commits int }

func (c *tallied) count(n counts, spans ...driver.Span) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts = counts{c.read + n.read, c.written + n.written, c.commits + n.commits}
	c.spans = append(c.spans, spans...)
}

func (c *tallied) Get(ctx context.Context, t *driver.Table, keys []driver.Key, mask []int, rows []driver.Row) error {
	c.count(counts{read: len(keys)})
	return c.Store.Get(ctx, t, keys, mask, rows)
}

func (c *tallied) Range(ctx context.Context, span driver.Span) iter.Seq2[*driver.Row, error] {
	return func(yield func(*driver.Row, error) bool) {
		c.count(counts{}, span)
		c.Store.Range(ctx, span)(func(row *driver.Row, err error) bool {
			c.count(counts{read: 1})
			return yield(row, err)
		})
	}
}

func (c *tallied) Commit(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
	n := counts{commits: 1}
	for _, op := range ops {
		if op.Do != driver.Check && op.Do != driver.Fence {
			n.written++
		}
	}
	c.count(n)
	return c.Store.Commit(ctx, token, ops)
}

// of returns what a call counts, but for the ranges.
func (c *tallied) of(t *testing.T, call func() error) counts {
	t.Helper()
	c.counts, c.spans = counts{}, nil
	if err := call(); err != nil {
		t.Fatal(err)
	}
	return c.counts
}

// topics yields so many topics, from one on, of random votes.
func topics(from, n int) iter.Seq2[topic, error] {
	return func(yield func(topic, error) bool) {
		for i := from; i < from+n; i++ {
			rec := topic{Node: tree.Node{ID: fmt.Sprintf("t%06d", i)}, Votes: i * 7919 % 100_003}
			if !yield(rec, nil) {
				return
			}
		}
	}
}

// Sorted siblings are inserted at a cost that does not grow with their number, and their places are short.
func TestSortedSiblingsCostTheSame(t *testing.T) {
	for _, s := range []tree.Strategy{tree.Adjacency, tree.Path} {
		c := &tallied{Store: memory.New(nil)}
		f, err := tree.Open[topic](t.Context(), repo.NewStore(c, nil), tree.Schema{Collection: "topics", Strategy: s, Sorted: []string{"votes"}})
		if err != nil {
			t.Fatal(err)
		}
		tr, there := f.Tree("forum"), 0
		after := func(n int) (took counts) { // what 10 inserts take after so many
			if _, err := tr.Load(t.Context(), topics(there, n-there)); err != nil {
				t.Fatal(err)
			}
			there = n + 10
			return c.of(t, func() (err error) {
				for rec := range topics(n, 10) {
					if err = tr.Insert(t.Context(), tree.Under(""), &rec); err != nil {
						break
					}
				}
				return err
			})
		}
		few, many := after(1_000), after(10_000)
		if few != many || few.written == 0 {
			t.Errorf("%s: 10 inserts after 1,000 siblings: %+v, after 10,000: %+v", s, few, many)
		}
		bytes, last := 0, -1
		for rec, err := range tr.Children(t.Context(), "") {
			if err != nil || rec.Votes < last {
				t.Fatal(rec, err)
			}
			bytes, last = bytes+len(rec.Place), rec.Votes
		}
		if bytes >= 16*there {
			t.Errorf("%s: %d places have %d bytes", s, there, bytes)
		}
	}
}

// grove returns a tree on a tallied store in which so many nodes lie below the node x, in levels of ten.
func grove(t *testing.T, s tree.Strategy, below int) (*tallied, *tree.Tree[category]) {
	t.Helper()
	c := &tallied{Store: memory.New(nil)}
	tr := openOn(t, c, tree.Schema{Collection: "categories", Strategy: s}).Tree("shop")
	nodes := []category{{Node: tree.Node{ID: "to"}}, {Node: tree.Node{ID: "u", Parent: "to"}}, {Node: tree.Node{ID: "v", Parent: "to"}}, {Node: tree.Node{ID: "x"}}}
	for i := range below {
		rec := category{Node: tree.Node{ID: fmt.Sprint(i), Parent: "x"}}
		if i >= 10 {
			rec.Parent = fmt.Sprint(i / 10)
		}
		nodes = append(nodes, rec)
	}
	loadAll(t, tr, append(nodes, category{Node: tree.Node{ID: "y"}}))
	return c, tr
}

// oneRange says why spans are not one run of a partition, page by page.
func oneRange(spans []driver.Span) string {
	for i, s := range spans {
		switch first := spans[0]; {
		case s.Table.Name != first.Table.Name || s.Key.Partition != first.Key.Partition || s.To != first.To || s.Reverse:
			return fmt.Sprintf("range %d is of %s up to %q, the first of %s up to %q", i, s.Table.Name, s.To, first.Table.Name, first.To)
		case i > 0 && s.From <= spans[i-1].From:
			return fmt.Sprintf("range %d does not go on where the one before ended", i)
		}
	}
	return ""
}

// A subtree by path is one range, of which no row is read that is not of it.
func TestSubtreeByPathIsOneRange(t *testing.T) {
	const n = 1000
	for s, one := range map[tree.Strategy]bool{tree.Path: true, tree.Adjacency: false} {
		c, tr := grove(t, s, n)
		took := c.of(t, func() error {
			got, err := tr.Count(t.Context(), "x")
			if err == nil && got != n {
				err = fmt.Errorf("%d nodes", got)
			}
			return err
		})
		why := oneRange(c.spans)
		if (why == "") != one {
			t.Errorf("%s: %d ranges: %s", s, len(c.spans), why)
		}
		// The rows of the index, with that of the node itself, the records by their keys, the node, and the guard before
		// and after.
		if most := 2*(n+1) + 3; one && (took.read > most || !strings.Contains(c.spans[0].Table.Name, "paths")) {
			t.Errorf("%d rows are read of %s, want %d", took.read, c.spans[0].Table.Name, most)
		}
	}
}

// A move by adjacency costs what that of a leaf does, whatever lies below the node.
func TestMoveByAdjacencyIsOneCommit(t *testing.T) {
	for s, below := range map[tree.Strategy]int{tree.Adjacency: 10_000, tree.Path: 1_000} {
		c, tr := grove(t, s, below)
		move := func(id string) counts {
			return c.of(t, func() error { return tr.Move(t.Context(), id, tree.Under("to")) })
		}
		leaf, large := move("y"), move("x")
		if same := s == tree.Adjacency; (leaf == large) != same || same && (large.commits != 1 || large.written > 4) {
			t.Errorf("%s: a leaf: %+v, a node with %d below it: %+v", s, leaf, below, large)
		}
	}
}
