package graph_test

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/graph"
)

const seeds = 40

var directions = []graph.Direction{graph.Out, graph.In, graph.Both}

// Random graphs of each shape answer as the naive ones do.
func TestRandom(t *testing.T) {
	onShapes(t, func(t *testing.T, shape string) {
		for seed := range uint64(seeds) {
			want := random(seed)
			g := build(t, newStore(t), shape, want)
			for _, bad := range differences(t, g, want, shape) {
				t.Errorf("seed %d: %s", seed, bad)
			}
		}
	})
}

// differences says where a graph differs from a naive one.
func differences(t *testing.T, g *graph.Graph, want *naive, shape string) (bad []string) {
	t.Helper()
	tell := func(what string, err error) {
		if err != nil {
			bad = append(bad, fmt.Sprintf("%s: %v", what, err))
		}
	}
	for _, along := range directions {
		if along != graph.Out && !isIndexed(shape) {
			continue
		}
		for i, start := range append(want.nodes, "unknown") {
			starts := []string{start, want.node(i / 2)}
			for _, depth := range []int{i % 4, 9} {
				tell(fmt.Sprintf("breadth first from %q along %d to depth %d", starts, along, depth),
					checkVisits(t, g, want, starts, along, depth))
			}
			for j := range 2 {
				to := want.node(i * (j + 3))
				tell(fmt.Sprintf("path from %q to %q along %d", start, to, along), checkPath(t, g, want, start, to, along))
			}
			if along != graph.Both {
				tell(fmt.Sprintf("cycle from %q along %d", starts, along), checkCycleFrom(t, g, want, starts, along))
			}
		}
	}
	tell("components", checkComponents(t, g, want, shape))
	cycle, err := g.Cycle(t.Context())
	tell("cycle", cmp.Or(err, want.checkCycle(cycle, want.nodes)))
	return bad
}

// node returns some node, "unknown" for one that is not there.
func (n *naive) node(i int) string {
	if i%7 == 6 || len(n.nodes) == 0 {
		return "unknown"
	}
	return n.nodes[i%len(n.nodes)]
}

func checkVisits(t *testing.T, g *graph.Graph, want *naive, starts []string, along graph.Direction, depth int) error {
	far := want.distances(starts, along)
	maps.DeleteFunc(far, func(_ string, n int) bool { return n > depth })
	seen, last := map[string]int{}, 0
	for v, err := range g.BreadthFirst(t.Context(), starts, graph.Along(along), graph.MaxDepth(depth)) {
		_, twice := seen[v.Node]
		near, met := seen[v.Predecessor]
		switch {
		case err != nil:
			return err
		case twice:
			return fmt.Errorf("%q comes twice", v.Node)
		case v.Distance < last:
			return fmt.Errorf("%q comes with distance %d after %d", v.Node, v.Distance, last)
		case v.Distance == 0 && (!slices.Contains(starts, v.Node) || v.Predecessor != ""):
			return fmt.Errorf("%+v is a start", v)
		case v.Distance > 0 && (!met || near != v.Distance-1 || !slices.Contains(want.neighbours(v.Predecessor, along), v.Node)):
			return fmt.Errorf("%+v has a wrong predecessor", v)
		}
		seen[v.Node], last = v.Distance, v.Distance
	}
	if diff := gocmp.Diff(far, seen); diff != "" {
		return errors.New(diff)
	}
	return nil
}

func checkPath(t *testing.T, g *graph.Graph, want *naive, from, to string, along graph.Direction) error {
	far, known := want.distances([]string{from}, along)[to]
	path, err := g.ShortestPath(t.Context(), from, to, graph.Along(along))
	if !known {
		if !errors.Is(err, repo.ErrNotFound) {
			return fmt.Errorf("got %q, %w, want ErrNotFound", path, err)
		}
		return nil
	}
	if err != nil {
		return err
	}
	if len(path) != far+1 || path[0] != from || path[far] != to {
		return fmt.Errorf("got %q, want %d edges", path, far)
	}
	for i := range far {
		if !slices.Contains(want.neighbours(path[i], along), path[i+1]) {
			return fmt.Errorf("%q has no edge from %q to %q", path, path[i], path[i+1])
		}
	}
	bounded, err := g.ShortestPath(t.Context(), from, to, graph.Along(along), graph.MaxDepth(far))
	if err != nil || !slices.Equal(bounded, path) {
		return fmt.Errorf("with depth %d got %q, %w, want %q", far, bounded, err, path)
	}
	if far > 0 {
		if _, err := g.ShortestPath(t.Context(), from, to, graph.Along(along), graph.MaxDepth(far-1)); !errors.Is(err, repo.ErrNotFound) {
			return fmt.Errorf("with depth %d: %w", far-1, err)
		}
	}
	return nil
}

func checkCycleFrom(t *testing.T, g *graph.Graph, want *naive, starts []string, along graph.Direction) error {
	cycle, err := g.CycleFrom(t.Context(), starts, graph.Along(along))
	if err != nil {
		return err
	}
	return want.checkCycle(cycle, slices.Collect(maps.Keys(want.distances(starts, along))))
}

// checkCycle reports an error if a cycle is none, or if it is nil and there is one among some nodes.
func (n *naive) checkCycle(cycle, among []string) error {
	if cycle == nil {
		for _, id := range among {
			far := n.distances(n.out[id], graph.Out)
			if _, back := far[id]; back {
				return fmt.Errorf("%q is on a cycle that was not found", id)
			}
		}
		return nil
	}
	for i, id := range cycle {
		next := cycle[(i+1)%len(cycle)]
		if !slices.Contains(n.out[id], next) || !slices.Contains(among, id) || slices.Contains(cycle[:i], id) {
			return fmt.Errorf("%q is no cycle at %q", cycle, id)
		}
	}
	return nil
}

func checkComponents(t *testing.T, g *graph.Graph, want *naive, shape string) error {
	list, err := g.Components(t.Context())
	if err != nil {
		return err
	}
	got := map[string]bool{}
	for i, c := range list {
		if i > 0 && (len(list[i-1]) < len(c) || len(list[i-1]) == len(c) && list[i-1][0] >= c[0]) {
			return fmt.Errorf("%q are not in order", list)
		}
		if wanted := slices.Sorted(maps.Keys(want.distances(c[:1], graph.Both))); !slices.Equal(c, wanted) {
			return fmt.Errorf("got the component %q, want %q", c, wanted)
		}
		for _, id := range c {
			if got[id] {
				return fmt.Errorf("%q is in two components", id)
			}
			got[id] = true
		}
	}
	for _, id := range want.nodes {
		alone := len(want.out[id])+len(want.in[id]) == 0
		if got[id] == (alone && shape[:5] == "edges") {
			return fmt.Errorf("%q is in a component: %t", id, got[id])
		}
	}
	return nil
}
