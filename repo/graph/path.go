package graph

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/polystore/polystore/repo"
)

// ShortestPath returns the nodes of a path with the fewest edges, both ends included. From a node to itself the path
// is this one node, and nothing is read. If there is no path, or none of MaxDepth edges at most, ShortestPath is
// ErrNotFound. The options are Along, MaxDepth and MaxNodes. A path along In follows every edge from its end to its
// beginning.
//
// Where edges can be followed backwards, the search goes from both ends, each time from the end that has fewer nodes
// to look at (bidirectional search: Pohl 1971). It then meets far fewer nodes than a search from one end. A path of n
// edges takes at most n waves of reads.
func (g *Graph) ShortestPath(ctx context.Context, from, to string, opts ...Option) ([]string, error) {
	s, err := g.begin(ctx, opts, hasAlong|hasDepth)
	var path []string
	switch {
	case err != nil:
	case from == to:
		path = []string{from}
	default:
		path, err = g.shortest(ctx, from, to, &s)
	}
	return path, g.failed("shortest path", err)
}

func (g *Graph) shortest(ctx context.Context, from, to string, s *settings) ([]string, error) {
	b := &budget{s, s.nodes - 1} // beside the ends, and one for the node that is met from both
	ahead := &frontier{along: s.along, predecessor: map[string]string{from: from}, level: []string{from}}
	back := &frontier{along: s.along.reversed(), predecessor: map[string]string{to: to}, level: []string{to}}
	for range s.depth {
		side, other := ahead, back
		if g.noIn == nil && len(back.level) < len(ahead.level) {
			side, other = back, ahead
		}
		if len(side.level) == 0 {
			break
		}
		// No node was met from both ends so far. So a path is longer than both distances together, and the first
		// node that is met from both ends is on a shortest one.
		meeting := ""
		more, err := side.advance(ctx, g, b, func(v Visit) bool {
			_, met := other.predecessor[v.Node]
			if met {
				meeting = v.Node
			}
			return !met
		})
		if err != nil {
			return nil, err
		}
		if !more {
			path := ahead.toStart(meeting)
			slices.Reverse(path)
			return append(path, back.toStart(meeting)[1:]...), nil
		}
		if b.left == 0 {
			return nil, s.tooMany()
		}
	}
	if s.depth < math.MaxInt {
		return nil, fmt.Errorf("no path of %d edges at most: %w", s.depth, repo.ErrNotFound)
	}
	return nil, fmt.Errorf("no path: %w", repo.ErrNotFound)
}

// toStart returns the nodes from a node that was met to the start.
func (f *frontier) toStart(node string) []string {
	path := []string{node}
	for f.predecessor[node] != node {
		node = f.predecessor[node]
		path = append(path, node)
	}
	return path
}
