package graph_test

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/graph"
)

// A slow store takes a second for each range and for each read by keys.
type slow struct{ driver.Store }

func (s slow) Get(ctx context.Context, t *driver.Table, keys []driver.Key, mask []int, rows []driver.Row) error {
	time.Sleep(time.Second)
	return s.Store.Get(ctx, t, keys, mask, rows)
}

func (s slow) Range(ctx context.Context, span driver.Span) iter.Seq2[*driver.Row, error] {
	return func(yield func(*driver.Row, error) bool) {
		time.Sleep(time.Second)
		s.Store.Range(ctx, span)(yield)
	}
}

// fan returns levels of some nodes each below the start "0/0"; each node has an edge to each of the next level.
func fan(levels, wide int) *naive {
	nodes, last := []string{"0/0"}, []string{"0/0"}
	var edges [][2]string
	for level := range levels {
		var next []string
		for i := range wide {
			next = append(next, fmt.Sprintf("%d/%d", level+1, i))
		}
		for _, from := range last {
			for _, to := range next {
				edges = append(edges, [2]string{from, to})
			}
		}
		nodes, last = append(nodes, next...), next
	}
	return naiveOf(nodes, edges)
}

// A search to depth n takes n waves. A wave is 16 ranges at the same time, or 4 requests of 1,000 nodes.
func TestWaves(t *testing.T) {
	for _, tt := range []struct {
		shape                    string
		levels, wide, depth      int
		along                    graph.Direction
		waves, ops, most, visits int
	}{
		{"edges", 5, 16, 0, graph.Out, 0, 0, 0, 1},
		{"edges", 5, 16, 1, graph.Out, 1, 1, 1, 17},
		{"edges", 5, 16, 4, graph.Out, 4, 1 + 3*16, 16, 1 + 4*16},
		{"edges", 3, 40, 2, graph.Out, 1 + 3, 1 + 40, 16, 81}, // 40 ranges are 3 waves
		{"edges", 5, 8, 4, graph.Both, 4, 2 * (1 + 3*8), 16, 1 + 4*8},
		{"lists", 5, 16, 4, graph.Out, 4, 4, 1, 1 + 4*16},
		{"lists without index", 1, 1000, 2, graph.Out, 2, 2, 1, 1001},
		{"lists without index", 1, 1500, 3, graph.Out, 2, 1 + 2, 2, 1501},
		{"lists without index", 1, 4500, 3, graph.Out, 3, 1 + 5, 4, 4501}, // 5 requests are 2 waves
	} {
		t.Run(fmt.Sprint(tt.shape, tt.wide, "to", tt.depth), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var c counter
				store := repo.NewStore(slow{memory.New(nil)}, c.options())
				defer store.Close()
				g := build(t, store, tt.shape, fan(tt.levels, tt.wide))
				c.reset()
				began, visits := time.Now(), 0
				for _, err := range g.BreadthFirst(t.Context(), []string{"0/0"}, graph.MaxDepth(tt.depth), graph.Along(tt.along)) {
					if visits++; err != nil {
						t.Fatal(err)
					}
				}
				waves, ops := int(time.Since(began)/time.Second), c.ops["find"]+c.ops["get many"]
				if waves != tt.waves || ops != tt.ops || c.most != tt.most || visits != tt.visits {
					t.Errorf("%d waves, %d operations, %d at the same time, %d nodes; want %d, %d, %d, %d\n%v",
						waves, ops, c.most, visits, tt.waves, tt.ops, tt.most, tt.visits, c.ops)
				}
			})
		})
	}
}

// A path between two nodes that are both near to few others is found without a look at the many between them.
func TestPathFromBothEnds(t *testing.T) {
	want := fan(2, 200)
	want = naiveOf(want.nodes, append(want.edges, [2]string{"1/7", "end"}))
	for shape, most := range map[string]int{"edges": 2, "edges without index": 400, "lists": 2, "lists without index": 3} {
		var c counter
		store := repo.NewStore(memory.New(nil), c.options())
		g := build(t, store, shape, want)
		c.reset()
		path, err := g.ShortestPath(t.Context(), "0/0", "end")
		if err != nil || strings.Join(path, " ") != "0/0 1/7 end" {
			t.Errorf("%s: path %q, %v", shape, path, err)
		}
		if n := c.ops["find"] + c.ops["get many"]; n > most || n == 0 {
			t.Errorf("%s: %v operations, want 1 to %d", shape, c.ops, most)
		}
		_ = store.Close()
	}
}

// A record of an edge with more fields than the index has costs a request each; one with From and To alone costs none.
func TestNarrowRecord(t *testing.T) {
	type ends struct {
		From string `repo:"from"`
		To   string `repo:"to"`
		N    int    `repo:"n"`
	}
	type wide struct {
		ends
		Note string `repo:"note"`
	}
	store := newStore(t)
	plan, err := openRepo[wide](t, store, linkSchema).Explain(repo.Where("to", "a"))
	if err != nil || !plan.PerRecord {
		t.Errorf("%v %v: nothing is compared", plan, err)
	}
	narrow := openRepo[ends](t, store, linkSchema)
	plan, err = narrow.Explain(repo.Where("to", "a"))
	if err != nil || plan.PerRecord || plan.Index != "back" {
		t.Errorf("%v %v", plan, err)
	}
}
