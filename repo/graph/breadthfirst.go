package graph

import (
	"context"
	"iter"
)

// A Visit is a node that a search has met.
type Visit struct {
	Node        string
	Distance    int    // the number of edges from the nearest start
	Predecessor string // the node from which Node was met, with Distance-1; "" of a start
}

// BreadthFirst yields the starts with Distance 0, then their neighbours with Distance 1, and so on, each node once,
// with the least distance from any start. A start that no record names is yielded, too. The options are Along,
// MaxDepth and MaxNodes. With MaxDepth(n) there are n waves of reads, one after the other; a node at distance n is
// yielded without a look at its own neighbours.
//
// The search runs anew for each range loop, and lazily: leaving the loop ends the search. An error comes once, last,
// with the zero Visit; a search that meets more nodes than MaxNodes yields as many, and then ErrTooLarge. The
// predecessors lead back to a start, along a shortest path.
//
// The search holds all nodes that it has met in memory, some 100 bytes for each with a short ID (breadth-first search:
// Moore 1959).
func (g *Graph) BreadthFirst(ctx context.Context, starts []string, opts ...Option) iter.Seq2[Visit, error] {
	return func(yield func(Visit, error) bool) {
		s, err := g.begin(ctx, opts, hasAlong|hasDepth)
		if err == nil {
			stopped := false
			err = g.search(ctx, starts, &s, func(v Visit) bool {
				stopped = !yield(v, nil)
				return !stopped
			})
			if stopped {
				return
			}
		}
		if err != nil {
			yield(Visit{}, g.failed("breadth first", err))
		}
	}
}

// search calls visit with each node until visit returns false.
func (g *Graph) search(ctx context.Context, starts []string, s *settings, visit func(Visit) bool) error {
	b := &budget{s, s.nodes}
	f := &frontier{along: s.along, predecessor: map[string]string{}}
	for _, start := range starts {
		if more, err := f.meet(start, start, b, visit); !more || err != nil {
			return err
		}
	}
	for f.distance < s.depth && len(f.level) > 0 {
		if more, err := f.advance(ctx, g, b, visit); !more || err != nil {
			return err
		}
	}
	return nil
}

// A frontier is how far a search has come.
type frontier struct {
	along       Direction
	predecessor map[string]string // of each node that was met; a start is its own
	level       []string          // the nodes at the distance
	distance    int
}

// A budget is how many nodes a search may still meet.
type budget struct {
	*settings
	left int
}

// meet adds a node to the level unless the node was met before.
func (f *frontier) meet(node, from string, b *budget, visit func(Visit) bool) (more bool, err error) {
	if _, met := f.predecessor[node]; met {
		return true, nil
	}
	if b.left--; b.left < 0 {
		return false, b.tooMany()
	}
	f.predecessor[node] = from
	f.level = append(f.level, node)
	v := Visit{Node: node, Distance: f.distance}
	if f.distance > 0 {
		v.Predecessor = from
	}
	return visit(v), nil
}

// advance reads the neighbours of the level, which are the next level, and calls visit with each of them until visit
// returns false.
func (f *frontier) advance(ctx context.Context, g *Graph, b *budget, visit func(Visit) bool) (more bool, err error) {
	level := f.level
	f.level, f.distance = nil, f.distance+1
	for a, err := range g.source.neighbours(ctx, level, f.along) {
		if err != nil {
			return false, err
		}
		for _, to := range a.neighbours {
			if more, err := f.meet(to, a.node, b, visit); !more || err != nil {
				return false, err
			}
		}
	}
	return true, nil
}
