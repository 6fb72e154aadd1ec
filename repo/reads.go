package repo

import (
	"context"
	"fmt"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/record"
	"github.com/polystore/polystore/repo/internal/scan"
)

// reads are the operations that read records, as one type or another.
type reads[T any] struct {
	c *collection
	v scan.View[T]
}

// readsOf returns how records are read as a shape; mask is that of the fields of a record, nil for all.
func readsOf[T any](c *collection, sh *record.Mapping, mask []int) reads[T] {
	return reads[T]{c, scan.NewView[T](c.Reader, sh, mask)}
}

func (r reads[T]) get(ctx context.Context, key Key) (T, error) {
	k := r.c.begin("get")
	out, err := r.v.Get(ctx, &k, key)
	return out, r.c.end(&k, key, err)
}

func (r reads[T]) getMany(ctx context.Context, keys []Key) ([]T, []bool, error) {
	k := r.c.begin("get many")
	list := make([]driver.Key, len(keys))
	for i, key := range keys {
		dk, err := r.c.KeyOf(key)
		if err != nil {
			return nil, nil, r.c.end(&k, key, fmt.Errorf("key %d: %w", i, err))
		}
		list[i] = dk
	}
	out, found, err := r.v.ReadKeys(ctx, &k, list)
	return out, found, r.c.end(&k, nil, err)
}

func (r reads[T]) one(ctx context.Context, q Query) (T, error) {
	k := r.c.begin("one")
	out, err := r.v.One(ctx, &k, q.def)
	return out, r.c.end(&k, nil, err)
}

func (r reads[T]) find(ctx context.Context, q Query, yield func(T, error) bool) {
	k := r.c.begin("find")
	stopped := false
	err := r.v.Find(ctx, &k, q.def, func(t *T, _ scan.Position) bool {
		stopped = !yield(*t, nil)
		return !stopped
	})
	if err = r.c.end(&k, nil, err); err != nil && !stopped {
		var zero T
		yield(zero, err)
	}
}

func (r reads[T]) page(ctx context.Context, q Query, cursor string) (Page[T], error) {
	k := r.c.begin("page")
	p, err := r.v.ReadPage(ctx, &k, q.def, cursor)
	return Page[T](p), r.c.end(&k, nil, err)
}

func (r reads[T]) explain(q Query) (Plan, error) {
	e, err := r.v.Explain(q.def)
	if err != nil || !r.c.opened() {
		return Plan{}, r.c.annotate("explain", nil, err)
	}
	return planOf(e), nil
}
