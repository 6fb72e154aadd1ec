package graph

import (
	"context"
	"iter"
)

// Broken returns the graph with other neighbours than its records say: change returns them.
func (g *Graph) Broken(change func(node string, neighbours []string, along Direction) []string) *Graph {
	return &Graph{g.collection, brokenSource{g.source, change}, g.noIn}
}

type brokenSource struct {
	source
	change func(node string, neighbours []string, along Direction) []string
}

func (s brokenSource) neighbours(ctx context.Context, nodes []string, along Direction) iter.Seq2[adjacency, error] {
	return s.broken(s.source.neighbours(ctx, nodes, along), along)
}

func (s brokenSource) all(ctx context.Context) iter.Seq2[adjacency, error] {
	return s.broken(s.source.all(ctx), Out)
}

func (s brokenSource) broken(seq iter.Seq2[adjacency, error], along Direction) iter.Seq2[adjacency, error] {
	return func(yield func(adjacency, error) bool) {
		for a, err := range seq {
			if !yield(adjacency{a.node, s.change(a.node, a.neighbours, along)}, err) {
				return
			}
		}
	}
}
