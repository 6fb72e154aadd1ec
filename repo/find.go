package repo

import (
	"context"
	"iter"
)

// Find yields the records that a query finds. The query runs anew for each range
// loop, and lazily: leaving the loop ends it. An error comes once, last, with the
// zero T. A record is yielded as it is read: it met the conditions then.
func (r *Repo[T]) Find(ctx context.Context, q Query) iter.Seq2[T, error] {
	return r.whole().seq(ctx, "find", q)
}

// Explain says how a query is answered and what it costs, without running it.
func (r *Repo[T]) Explain(q Query) (Plan, error) {
	p, err := r.plan(q, r.by)
	if err != nil {
		return Plan{}, r.annotate("explain", nil, err)
	}
	return r.explain(&p), nil
}
