package graph

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/polystore/polystore/repo"
)

// Lists says how the records of a collection are nodes with lists of their neighbours.
type Lists[T any] struct {
	// List returns the ID of a node and the IDs of its neighbours. The package calls List in the goroutine of the
	// caller, and does not keep or change the slice.
	List func(node *T) (id string, neighbours []string)

	// Key returns the key of the record of a node. Nil stands for repo.Key{id}.
	Key func(id string) repo.Key

	// Field is optional: it names the field that holds the list. If an index answers Where(Field+"[]", id), edges can
	// be followed backwards. A list that has an index holds at most 256 elements.
	Field string

	// Where are conditions that all nodes of the graph meet, such as the tenant. They are for calls that read all
	// nodes or follow edges backwards: the key or an index answers Where itself, and Where with Field. The zero Query
	// is all records of the collection.
	Where repo.Query
}

// OfLists returns the graph of a collection with a record for each node. OfLists reads nothing.
func OfLists[T any](nodes *repo.Repo[T], l Lists[T]) (*Graph, error) {
	s := &listSource[T]{nodes, l}
	if s.Key == nil {
		s.Key = func(id string) repo.Key { return repo.Key{id} }
	}
	plan, err := nodes.Explain(s.query(""))
	g := &Graph{collection: collectionOf(plan, err), source: s}
	switch {
	case l.List == nil || nodes == nil:
		return nil, g.failed("graph", fmt.Errorf("OfLists needs a repository and List: %w", repo.ErrInvalid))
	case l.Field == "":
		g.noIn = fmt.Errorf("Lists.Field is empty; name the field, and add an index whose Partition is field[]: %w", repo.ErrInvalid)
	case err != nil:
		g.noIn = cause(err)
	}
	return g, nil
}

// A listSource has a record for each node.
type listSource[T any] struct {
	repo *repo.Repo[T]
	Lists[T]
}

// query finds the nodes whose lists have a node.
func (s *listSource[T]) query(id string) repo.Query { return s.Where.Where(s.Field+"[]", id) }

func (s *listSource[T]) neighbours(ctx context.Context, nodes []string, along Direction) iter.Seq2[adjacency, error] {
	switch along {
	case Out:
		return s.forwards(ctx, nodes)
	case In:
		return s.backwards(ctx, nodes)
	}
	return func(yield func(adjacency, error) bool) {
		for _, seq := range []iter.Seq2[adjacency, error]{s.forwards(ctx, nodes), s.backwards(ctx, nodes)} {
			for a, err := range seq {
				if !yield(a, err) || err != nil {
					return
				}
			}
		}
	}
}

// forwards yields the lists of nodes.
func (s *listSource[T]) forwards(ctx context.Context, nodes []string) iter.Seq2[adjacency, error] {
	return func(yield func(adjacency, error) bool) {
		for page, err := range readAhead(ctx, manyGets, slices.Collect(slices.Chunk(nodes, getSize)), s.get) {
			if err != nil {
				yield(adjacency{}, err)
				return
			}
			for i := range page.records {
				id, list := s.List(&page.records[i].record)
				if id != page.records[i].id {
					yield(adjacency{}, fmt.Errorf("List does not return the ID by which Key found the node: %w", repo.ErrInvalid))
					return
				}
				if !yield(adjacency{id, list}, nil) {
					return
				}
			}
		}
	}
}

// A named record is the record of a node.
type named[T any] struct {
	id     string
	record T
}

// get yields the records of nodes that have one.
func (s *listSource[T]) get(ctx context.Context, nodes []string) iter.Seq2[named[T], error] {
	return func(yield func(named[T], error) bool) {
		keys := make([]repo.Key, len(nodes))
		for i, id := range nodes {
			keys[i] = s.Key(id)
		}
		records, found, err := s.repo.GetMany(ctx, keys)
		if err != nil {
			yield(named[T]{}, err)
			return
		}
		for i := range records {
			if found[i] && !yield(named[T]{nodes[i], records[i]}, nil) {
				return
			}
		}
	}
}

// backwards yields the nodes whose lists have nodes.
func (s *listSource[T]) backwards(ctx context.Context, nodes []string) iter.Seq2[adjacency, error] {
	find := func(ctx context.Context, id string) iter.Seq2[T, error] { return s.repo.Find(ctx, s.query(id)) }
	return func(yield func(adjacency, error) bool) {
		for page, err := range readAhead(ctx, manyRanges, nodes, find) {
			a := adjacency{page.of, make([]string, len(page.records))}
			for i := range page.records {
				a.neighbours[i], _ = s.List(&page.records[i])
			}
			if !yield(a, err) || err != nil {
				return
			}
		}
	}
}

func (s *listSource[T]) all(ctx context.Context) iter.Seq2[adjacency, error] {
	return func(yield func(adjacency, error) bool) {
		for record, err := range everything(ctx, s.repo, s.Where) {
			var a adjacency
			if err == nil {
				a.node, a.neighbours = s.List(&record)
			}
			if !yield(a, err) || err != nil {
				return
			}
		}
	}
}
