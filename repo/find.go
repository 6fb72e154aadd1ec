package repo

import (
	"context"
	"iter"
)

// Find yields the records that a query finds. The query runs anew for each range loop, and lazily:
// leaving the loop ends the query. An error comes once, last, with the zero T. A record is yielded
// as it was read; it matched the query then.
func (r *Repo[T]) Find(ctx context.Context, q Query) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) { r.on().find(ctx, q, yield) }
}

// Explain says how a query is answered and what it costs, without running it.
func (r *Repo[T]) Explain(q Query) (Plan, error) {
	return r.on().explain(q)
}
