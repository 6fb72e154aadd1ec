package graph

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/polystore/polystore/repo"
)

// Edges says how the records of a collection are edges.
type Edges[T any] struct {
	// From and To name the text fields that hold the IDs of the two nodes. The key or an index answers
	// Where(From, id), mostly a key with Partition From and Sort To. If an index also answers Where(To, id), edges can
	// be followed backwards.
	From, To string

	// Ends returns the two IDs. The package calls Ends in the goroutine of the caller.
	Ends func(edge *T) (from, to string)

	// Where are conditions that all edges of the graph meet, such as the tenant. The zero Query is all records of the
	// collection. With conditions, the key or an index also answers Where itself, for calls that read all edges.
	Where repo.Query
}

// OfEdges returns the graph of a collection with a record for each edge. OfEdges reads nothing. If no index answers
// Where(e.From, id), OfEdges is ErrNoIndex; the text names the index to add. If the records have no field e.From or
// e.To, OfEdges is ErrInvalid.
//
// An index that does not hold all fields of T costs one more request for each edge (see [repo.Plan]). The remedy is a
// repository of the same collection whose record has From and To alone: any index holds these, if they are in the key.
func OfEdges[T any](edges *repo.Repo[T], e Edges[T]) (*Graph, error) {
	s := &edgeSource[T]{edges, e}
	plan, err := edges.Explain(s.query(edge{}))
	g := &Graph{collection: collectionOf(plan, err), source: s}
	switch {
	case e.From == "" || e.To == "" || e.Ends == nil:
		return nil, g.failed("graph", fmt.Errorf("Edges needs From, To and Ends: %w", repo.ErrInvalid))
	case err != nil:
		return nil, &repo.Error{Op: "graph", Collection: g.collection, Err: fmt.Errorf("edges cannot be followed: %w", cause(err))}
	}
	if _, err := edges.Explain(s.query(edge{back: true})); errors.Is(err, repo.ErrNoIndex) {
		g.noIn = cause(err)
	} else if err != nil {
		return nil, &repo.Error{Op: "graph", Collection: g.collection, Err: fmt.Errorf("To: %w", cause(err))}
	}
	return g, nil
}

// An edgeSource has a record for each edge.
type edgeSource[T any] struct {
	repo *repo.Repo[T]
	Edges[T]
}

// An edge is an end of edges: that at which they begin or, backwards, that at which they end.
type edge struct {
	node string
	back bool
}

func (s *edgeSource[T]) query(at edge) repo.Query {
	if at.back {
		return s.Where.Where(s.To, at.node)
	}
	return s.Where.Where(s.From, at.node)
}

func (s *edgeSource[T]) neighbours(ctx context.Context, nodes []string, along Direction) iter.Seq2[adjacency, error] {
	var list []edge
	for _, node := range nodes {
		if along != In {
			list = append(list, edge{node, false})
		}
		if along != Out {
			list = append(list, edge{node, true})
		}
	}
	find := func(ctx context.Context, at edge) iter.Seq2[T, error] { return s.repo.Find(ctx, s.query(at)) }
	return func(yield func(adjacency, error) bool) {
		for page, err := range readAhead(ctx, manyRanges, list, find) {
			var a adjacency
			if err == nil {
				a, err = s.adjacent(page)
			}
			if !yield(a, err) || err != nil {
				return
			}
		}
	}
}

// adjacent returns the neighbours that a page of edges has.
func (s *edgeSource[T]) adjacent(page page[edge, T]) (adjacency, error) {
	a := adjacency{page.of.node, make([]string, len(page.records))}
	for i := range page.records {
		near, far := s.Ends(&page.records[i])
		if page.of.back {
			near, far = far, near
		}
		if a.neighbours[i] = far; near != a.node {
			return a, fmt.Errorf("Ends does not return the fields From and To, in this order: %w", repo.ErrInvalid)
		}
	}
	return a, nil
}

func (s *edgeSource[T]) all(ctx context.Context) iter.Seq2[adjacency, error] {
	return func(yield func(adjacency, error) bool) {
		to := make([]string, 1)
		for record, err := range everything(ctx, s.repo, s.Where) {
			a := adjacency{neighbours: to}
			if err == nil {
				a.node, to[0] = s.Ends(&record)
			}
			if !yield(a, err) || err != nil {
				return
			}
		}
	}
}
