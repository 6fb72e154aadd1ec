package repo

import (
	"context"
	"iter"
)

// Count returns the number of records that a query finds, at most its limit.
func (r *Repo[T]) Count(ctx context.Context, q Query) (int, error) {
	ctx, c, k := begin(ctx, "count", r)
	defer k.Leave()
	n, err := c.Count(ctx, &k, q.def)
	return n, c.end(&k, nil, err)
}

// Keys yields the keys of the records that a query finds, without reading the
// records. It is otherwise like [Repo.Find].
func (r *Repo[T]) Keys(ctx context.Context, q Query) iter.Seq2[Key, error] {
	return r.on().c.keys(ctx, q)
}

func (c *collection) keys(ctx context.Context, q Query) iter.Seq2[Key, error] {
	return func(yield func(Key, error) bool) {
		ctx, k := c.begin(ctx, "keys")
		defer k.Leave()
		stopped := false
		err := c.Keys(ctx, &k, q.def, func(key []any) bool {
			k.Return(1)
			stopped = !yield(key, nil)
			return !stopped
		})
		if err = c.end(&k, nil, err); err != nil && !stopped {
			yield(nil, err)
		}
	}
}
