package graph_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/graph"
)

type link struct {
	From string `repo:"from"`
	To   string `repo:"to"`
	N    int    `repo:"n"`
}

type person struct {
	ID    string   `repo:"id"`
	Knows []string `repo:"knows"`
}

// The shapes of a graph.
var shapes = []string{"edges", "edges without index", "lists", "lists without index"}

func isIndexed(shape string) bool { return !strings.Contains(shape, "without") }

var linkSchema = repo.Schema{
	Collection: "links", Partition: []string{"from"}, Sort: []string{"to", "n"},
	Indexes: []repo.Index{{Name: "back", Partition: []string{"to"}, Sort: []string{"from", "n"}}},
}

var personSchema = repo.Schema{
	Collection: "people", Partition: []string{"id"}, Indexes: []repo.Index{{Name: "back", Partition: []string{"knows[]"}}},
}

// build writes a graph to a store.
func build(t testing.TB, store *repo.Store, shape string, want *naive) *graph.Graph {
	t.Helper()
	var g *graph.Graph
	var err error
	if strings.HasPrefix(shape, "edges") {
		g, err = buildEdges(t, store, isIndexed(shape), want)
	} else {
		g, err = buildLists(t, store, isIndexed(shape), want)
	}
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func buildEdges(t testing.TB, store *repo.Store, indexed bool, want *naive) (*graph.Graph, error) {
	t.Helper()
	schema := linkSchema
	if !indexed {
		schema.Indexes = nil
	}
	r := openRepo[link](t, store, schema)
	insert(t, r, func(yield func(link) bool) {
		for n, e := range want.edges {
			if !yield(link{e[0], e[1], n}) {
				return
			}
		}
	})
	return graph.OfEdges(r, graph.Edges[link]{From: "from", To: "to", Ends: ends})
}

func ends(l *link) (from, to string) { return l.From, l.To }

func buildLists(t testing.TB, store *repo.Store, indexed bool, want *naive) (*graph.Graph, error) {
	t.Helper()
	schema, lists := personSchema, graph.Lists[person]{List: knows}
	if indexed {
		lists.Field = "knows"
	} else {
		schema.Indexes = nil
	}
	r := openRepo[person](t, store, schema)
	insert(t, r, func(yield func(person) bool) {
		for _, id := range want.nodes {
			if !yield(person{id, want.out[id]}) {
				return
			}
		}
	})
	return graph.OfLists(r, lists)
}

func knows(p *person) (id string, neighbours []string) { return p.ID, p.Knows }

func openRepo[T any](t testing.TB, store *repo.Store, schema repo.Schema) *repo.Repo[T] {
	t.Helper()
	r, err := repo.Open[T](t.Context(), store, schema)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func insert[T any](t testing.TB, r *repo.Repo[T], list func(yield func(T) bool)) {
	t.Helper()
	if _, err := r.InsertAll(t.Context(), func(yield func(T, error) bool) {
		list(func(x T) bool { return yield(x, nil) })
	}); err != nil {
		t.Fatal(err)
	}
}

func newStore(t testing.TB) *repo.Store {
	store := repo.NewStore(memory.New(nil), nil)
	t.Cleanup(func() { _ = store.Close() })
	return store
}

// A naive graph is one in memory.
type naive struct {
	nodes []string // in lists, those that have a record
	edges [][2]string
	out   map[string][]string
	in    map[string][]string
}

func naiveOf(nodes []string, edges [][2]string) *naive {
	n := &naive{nodes, edges, map[string][]string{}, map[string][]string{}}
	for _, e := range edges {
		n.out[e[0]] = append(n.out[e[0]], e[1])
		n.in[e[1]] = append(n.in[e[1]], e[0])
	}
	return n
}

func (n *naive) neighbours(id string, along graph.Direction) (list []string) {
	if along != graph.In {
		list = append(list, n.out[id]...)
	}
	if along != graph.Out {
		list = append(list, n.in[id]...)
	}
	return list
}

// distances are by Bellman and Ford, who have no queue.
func (n *naive) distances(starts []string, along graph.Direction) map[string]int {
	far := map[string]int{}
	for _, id := range starts {
		far[id] = 0
	}
	for changed := true; changed; {
		changed = false
		for _, e := range n.edges {
			for _, way := range [][2]string{{e[0], e[1]}, {e[1], e[0]}} {
				forwards := way == e
				if along == graph.Out && !forwards || along == graph.In && forwards && e[0] != e[1] {
					continue
				}
				if at, known := far[way[0]]; known {
					if old, known := far[way[1]]; !known || at+1 < old {
						far[way[1]], changed = at+1, true
					}
				}
			}
		}
	}
	return far
}

// odd are IDs that a codec could get wrong.
var odd = []string{"", "/", "a/b", "a", "b", "\x00", "\x00\x01", "ü", " ", ":", "a:b", "[]", "\n", "%2F", "~"}

// random returns a graph with some loops and parallel edges.
func random(seed uint64) *naive {
	rng := rand.New(rand.NewPCG(seed, 1))
	size := rng.IntN(24)
	var nodes []string
	for i := range size {
		if rng.IntN(3) == 0 && i < len(odd) {
			nodes = append(nodes, odd[i])
			continue
		}
		nodes = append(nodes, fmt.Sprint("n", i))
	}
	var edges [][2]string
	for range size * rng.IntN(4) * 2 / 3 {
		from, to := rng.IntN(size), rng.IntN(size)
		if seed%3 == 0 && from >= to { // no cycle
			continue
		}
		edges = append(edges, [2]string{nodes[from], nodes[to]})
	}
	return naiveOf(nodes, edges)
}

// onShapes runs a test for each shape.
func onShapes(t *testing.T, run func(t *testing.T, shape string)) {
	for _, shape := range shapes {
		t.Run(shape, func(t *testing.T) { run(t, shape) })
	}
}

// A counter counts the operations of a store, and how many were under way at the same time.
type counter struct {
	mu        sync.Mutex
	ops       map[string]int
	now, most int
	keys      []int // of each GetMany
}

func (c *counter) options() *repo.Options {
	return &repo.Options{Tracer: repo.Tracer{Begin: func(ctx context.Context, _ repo.Event) (context.Context, func(repo.Event)) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.now++
		c.most = max(c.most, c.now)
		return ctx, func(end repo.Event) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.now--
			if c.ops == nil {
				c.ops = map[string]int{}
			}
			c.ops[end.Op]++
			if c.keys = append(c.keys, end.Batch); end.Op != "get many" && end.Op != "find" && end.Op != "get" {
				c.keys = nil
			}
		}
	}}}
}

func (c *counter) reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ops, c.most, c.keys = map[string]int{}, 0, nil
}

func isKind(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("got %v, want %v", err, want)
	}
}
