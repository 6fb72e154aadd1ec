package candidate

import (
	"context"
	"iter"

	"github.com/polystore/polystore/loadtest/internal/operation"
)

// A keeper keeps a collection otherwise than as records in a collection of the store.
type keeper interface {
	do(ctx context.Context, k *operation.Call, g *gatherer) error // sends an operation
	all(ctx context.Context) iter.Seq2[map[string]any, error]     // yields what are records elsewhere
	verify(ctx context.Context, label string) error               // finds what is wrong after the run
}

// kept returns how the model keeps a collection otherwise, nil if it does not.
func (c *Candidate) kept(at int) keeper {
	switch {
	case c.forests[at] != nil:
		return c.forests[at]
	case c.shelves[at] != nil:
		return c.shelves[at]
	case c.nests[at] != nil:
		return c.nests[at]
	}
	return nil
}

// All yields the records of a collection in no order, without copies. Those of trees say where in their tree they are.
func (c *Candidate) All(ctx context.Context, at int) iter.Seq2[map[string]any, error] {
	return c.copied.showing(at, nil, c.Stored(ctx, at))
}

// Stored yields the records with the copies that the model keeps in them.
func (c *Candidate) Stored(ctx context.Context, at int) iter.Seq2[map[string]any, error] {
	if kept := c.kept(at); kept != nil {
		return kept.all(ctx)
	}
	var guests []string
	for _, n := range c.nests {
		if n != nil && n.in.At == at {
			guests = append(guests, n.of.List())
		}
	}
	return func(yield func(map[string]any, error) bool) {
		for chunk, err := range c.repos[at].Walk(ctx, "") {
			if err != nil {
				yield(nil, err)
				return
			}
			for _, rec := range chunk.Items {
				for _, list := range guests {
					delete(rec, list)
				}
				if !yield(rec, nil) {
					return
				}
			}
		}
	}
}
