package graph

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/polystore/polystore/repo"
)

// Cycle returns the nodes of a cycle in the whole graph, or nil if there is none. Each node of the cycle has an edge to
// the next one, and the last has one to the first; a node with an edge to itself is a cycle of one node. It is any
// cycle, not the shortest. The option is MaxNodes.
//
// Cycle reads all records once, in chunks, and holds nodes and edges in memory: some 100 bytes for each node with a
// short ID, and 8 bytes for each edge. MaxNodes bounds the edges, too: at most 32 for each of these nodes, on average.
func (g *Graph) Cycle(ctx context.Context, opts ...Option) ([]string, error) {
	s, err := g.begin(ctx, opts, 0)
	if err != nil {
		return nil, g.failed("cycle", err)
	}
	n := network{names: names{settings: &s}}
	for a, err := range g.source.all(ctx) {
		if err == nil {
			err = n.add(a, false)
		}
		if err != nil {
			return nil, g.failed("cycle", err)
		}
	}
	return n.cycle(), nil
}

// CycleFrom is Cycle in the part of the graph that can be reached from starts, which it reads level by level. The
// options are Along and MaxNodes. Along In it is the part from which the starts can be reached. Both is ErrInvalid:
// every edge would be a cycle.
func (g *Graph) CycleFrom(ctx context.Context, starts []string, opts ...Option) ([]string, error) {
	s, err := g.begin(ctx, opts, hasAlong)
	if err == nil && s.along == Both {
		err = fmt.Errorf("a cycle has a direction, so Both is no option: %w", repo.ErrInvalid)
	}
	if err != nil {
		return nil, g.failed("cycle", err)
	}
	n := network{names: names{settings: &s}}
	if err := n.load(ctx, g, starts); err != nil {
		return nil, g.failed("cycle", err)
	}
	return n.cycle(), nil
}

// edgesPerNode bounds the edges of a network, on average.
const edgesPerNode = 32

// A network is a part of a graph in memory. The edges of a node are a linked list.
type network struct {
	names
	first []int32 // the first edge of a node, or none
	next  []int32 // the next edge of the same node, or none
	to    []int32 // the node at the end of an edge
}

const none = -1

// load reads what can be reached from starts.
func (n *network) load(ctx context.Context, g *Graph, starts []string) error {
	for _, id := range starts {
		if _, err := n.number(id); err != nil {
			return err
		}
	}
	for read := 0; read < len(n.ids); {
		level := n.ids[read:]
		read = len(n.ids)
		for a, err := range g.source.neighbours(ctx, level, n.settings.along) {
			if err == nil {
				err = n.add(a, n.settings.along == In)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// number returns the number of a node, which has no edges when it is new.
func (n *network) number(id string) (int32, error) {
	at, err := n.names.number(id)
	if err == nil && int(at) == len(n.first) {
		n.first = append(n.first, none)
	}
	return at, err
}

// add adds the edges of a node.
func (n *network) add(a adjacency, back bool) error {
	near, err := n.number(a.node)
	if err != nil {
		return err
	}
	for _, id := range a.neighbours {
		far, err := n.number(id)
		if err != nil {
			return err
		}
		from, to := near, far
		if back {
			from, to = far, near
		}
		if most := min(n.settings.nodes*edgesPerNode, math.MaxInt32); len(n.to) == most {
			return fmt.Errorf("more than %d edges, %d for each of %d nodes: allow more by MaxNodes: %w",
				most, edgesPerNode, n.settings.nodes, repo.ErrTooLarge)
		}
		n.next, n.first[from] = append(n.next, n.first[from]), int32(len(n.to))
		n.to = append(n.to, to)
	}
	return nil
}

// The colours of nodes in a depth-first search.
const (
	white = iota // not met
	grey         // on the path from the root
	black        // not on a cycle
)

// cycle finds a cycle: an edge to a grey node closes one (depth-first search with colours: Cormen, Leiserson, Rivest and
// Stein, Introduction to Algorithms). The path is a slice, so its length is bounded by the memory only. Cycle uses up
// the lists of edges.
func (n *network) cycle() []string {
	colours := make([]uint8, len(n.ids))
	var path []int32
	for root := range n.ids {
		if colours[root] != white {
			continue
		}
		path = append(path, int32(root))
		for len(path) > 0 {
			at := path[len(path)-1]
			colours[at] = grey
			edge := n.first[at]
			if edge == none {
				colours[at] = black
				path = path[:len(path)-1]
				continue
			}
			n.first[at] = n.next[edge]
			switch to := n.to[edge]; colours[to] {
			case grey:
				return n.named(path[slices.Index(path, to):])
			case white:
				path = append(path, to)
			}
		}
	}
	return nil
}

// named returns the IDs of nodes.
func (n *network) named(list []int32) []string {
	ids := make([]string, len(list))
	for i, at := range list {
		ids[i] = n.ids[at]
	}
	return ids
}
