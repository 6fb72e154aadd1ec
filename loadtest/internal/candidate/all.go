package candidate

import (
	"context"
	"iter"
)

// All yields the records of a collection in no order, without copies. Those of trees say where in their tree they are.
func (c *Candidate) All(ctx context.Context, at int) iter.Seq2[map[string]any, error] {
	return c.copied.showing(at, nil, c.Stored(ctx, at))
}

// Stored yields the records with the copies that the model keeps in them.
func (c *Candidate) Stored(ctx context.Context, at int) iter.Seq2[map[string]any, error] {
	if f := c.forests[at]; f != nil {
		return f.all(ctx)
	}
	if s := c.shelves[at]; s != nil {
		return s.all(ctx)
	}
	if n := c.nests[at]; n != nil {
		return n.all(ctx)
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
