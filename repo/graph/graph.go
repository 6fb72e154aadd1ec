package graph

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/polystore/polystore/repo"
)

// A Graph is a directed graph whose edges are records. Make one with [OfEdges] or [OfLists]. Many goroutines may use
// a Graph at once.
type Graph struct {
	collection string
	source     source
	noIn       error // why edges cannot be followed backwards, or nil
}

// A source reads edges.
type source interface {
	// neighbours yields the neighbours of nodes, in the order of the nodes; with Both, those forwards may come first.
	// A node may come several times, each time with other neighbours, or not at all. What is yielded is valid until
	// the next one.
	neighbours(ctx context.Context, nodes []string, along Direction) iter.Seq2[adjacency, error]

	// all yields every node with its neighbours forwards, as neighbours does, but in no order.
	all(ctx context.Context) iter.Seq2[adjacency, error]
}

// An adjacency is a node with some of its neighbours.
type adjacency struct {
	node       string
	neighbours []string
}

// collectionOf returns the name of the collection of a query that was explained.
func collectionOf(plan repo.Plan, err error) string {
	if e, ok := errors.AsType[*repo.Error](err); ok {
		return e.Collection
	}
	return plan.Collection
}

// cause returns err without the operation that package repo names in it, and without a remedy that a graph lacks.
func cause(err error) error {
	if e, ok := err.(*repo.Error); ok && e.Err != nil { //nolint:errorlint // only the outermost error is taken off
		err = e.Err
	}
	return unscanned{err}
}

// An unscanned error does not say that a Scan would help.
type unscanned struct{ error }

func (e unscanned) Error() string { return strings.ReplaceAll(e.error.Error(), ", or use Scan", "") }

func (e unscanned) Unwrap() error { return e.error }

// failed returns the error of a call on the graph. Errors of package repo stay as they are.
func (g *Graph) failed(op string, err error) error {
	if _, ok := errors.AsType[*repo.Error](err); ok || err == nil {
		return err
	}
	collection := ""
	if g != nil {
		collection = g.collection
	}
	return &repo.Error{Op: op, Collection: collection, Retryable: errors.Is(err, repo.ErrTimeout), Err: err}
}

// begin checks the call, and returns its settings.
func (g *Graph) begin(ctx context.Context, opts []Option, takes option) (settings, error) {
	s, err := settingsOf(opts, takes)
	switch {
	case ctx == nil:
		return s, fmt.Errorf("the context is nil: %w", repo.ErrInvalid)
	case g == nil || g.source == nil:
		return s, fmt.Errorf("the graph is empty: make one with OfEdges or OfLists: %w", repo.ErrInvalid)
	case err == nil && s.along != Out && g.noIn != nil:
		return s, fmt.Errorf("edges cannot be followed backwards: %w", g.noIn)
	}
	return s, err
}
