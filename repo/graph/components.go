package graph

import (
	"cmp"
	"context"
	"slices"
)

// Components returns the weakly connected components of the whole graph: two nodes are in one component if a path
// leads from one to the other, whatever the directions of its edges. The largest component comes first, of equal ones
// that with the least ID; the nodes of a component are in the order of their IDs. The option is MaxNodes.
//
// Components reads all records once, in chunks, and holds the nodes in memory, but no edges: some 100 to 200 bytes
// for each node with a short ID. It keeps disjoint sets of nodes that it joins at every edge (union by size and path halving:
// Tarjan 1975, Tarjan and van Leeuwen 1984).
func (g *Graph) Components(ctx context.Context, opts ...Option) ([][]string, error) {
	s, err := g.begin(ctx, opts, 0)
	if err != nil {
		return nil, g.failed("components", err)
	}
	sets := disjoint{names: names{settings: &s}}
	for a, err := range g.source.all(ctx) {
		if err == nil {
			err = sets.join(a)
		}
		if err != nil {
			return nil, g.failed("components", err)
		}
	}
	return sets.list(), nil
}

// disjoint are disjoint sets of nodes.
type disjoint struct {
	names
	parent []int32 // of each node; the root of a set is its own
	size   []int32 // of the set of a root
}

// join makes one set of a node and its neighbours.
func (d *disjoint) join(a adjacency) error {
	at, err := d.number(a.node)
	if err != nil {
		return err
	}
	for _, id := range a.neighbours {
		to, err := d.number(id)
		if err != nil {
			return err
		}
		d.union(at, to)
	}
	return nil
}

// number returns the number of a node, which is a set of its own when it is new.
func (d *disjoint) number(id string) (int32, error) {
	n, err := d.names.number(id)
	if err == nil && int(n) == len(d.parent) {
		d.parent, d.size = append(d.parent, n), append(d.size, 1)
	}
	return n, err
}

func (d *disjoint) union(a, b int32) {
	if a, b = d.root(a), d.root(b); a == b {
		return
	}
	if d.size[a] < d.size[b] {
		a, b = b, a
	}
	d.parent[b], d.size[a] = a, d.size[a]+d.size[b]
}

func (d *disjoint) root(n int32) int32 {
	for d.parent[n] != n {
		d.parent[n] = d.parent[d.parent[n]]
		n = d.parent[n]
	}
	return n
}

// list returns the sets.
func (d *disjoint) list() [][]string {
	sets := map[int32][]string{}
	for n := range d.parent {
		root := d.root(int32(n))
		sets[root] = append(sets[root], d.ids[n])
	}
	list := make([][]string, 0, len(sets))
	for _, set := range sets {
		slices.Sort(set)
		list = append(list, set)
	}
	slices.SortFunc(list, func(a, b []string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a[0], b[0]))
	})
	return list
}
