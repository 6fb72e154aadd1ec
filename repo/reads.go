package repo

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/plan"
	"github.com/polystore/polystore/repo/internal/record"
	"github.com/polystore/polystore/repo/internal/scan"
)

// reads are the operations that read records, as one type or another.
type reads[T any] struct {
	c *collection
	v scan.View
	f *following[T] // of which they are
}

// again returns how to read after an error that comes of an index which is not there any more, nil if it does not.
func (r *reads[T]) again(ctx context.Context, err error) *reads[T] {
	if err == nil || ctx == nil || r.f == nil || !errors.Is(err, ErrInvalid) && !errors.Is(err, ErrConflict) {
		return nil
	}
	if r.c.Told(ctx) != nil || r.c.newest() == r.c {
		return nil
	}
	if now := r.f.on(); now.c != r.c {
		return now
	}
	return nil
}

// readsOf returns how records are read as a shape; mask is that of the fields of a record, nil for all.
func readsOf[T any](c *collection, sh *record.Mapping, mask []int) reads[T] {
	return reads[T]{c: c, v: scan.NewView(c.Reader, reflect.TypeFor[T](), sh, mask)}
}

func (r *reads[T]) get(ctx context.Context, key Key) (T, error) {
	ctx, k := r.c.begin(ctx, "get")
	defer k.Leave()
	t := r.v.Scratch()
	err := r.v.Get(ctx, &k, key, t)
	out := *t.(*T)
	r.v.Release(t)
	if err == nil {
		k.Return(1)
	}
	return out, r.c.end(&k, key, err)
}

func (r *reads[T]) getMany(ctx context.Context, keys []Key) ([]T, []bool, error) {
	ctx, k := r.c.begin(ctx, "get many")
	defer k.Leave()
	k.Takes(len(keys))
	list := make([]driver.Key, len(keys))
	for i, key := range keys {
		dk, err := r.c.KeyOf(key)
		if err != nil {
			return nil, nil, r.c.end(&k, key, fmt.Errorf("key %d: %w", i, err))
		}
		list[i] = dk
	}
	out := make([]T, len(keys))
	found, err := r.v.ReadKeys(ctx, &k, list, func(i int) any { return &out[i] })
	for _, there := range found {
		if there {
			k.Return(1)
		}
	}
	if err != nil {
		out = nil
	}
	return out, found, r.c.end(&k, nil, err)
}

func (r *reads[T]) one(ctx context.Context, q Query) (out T, err error) {
	from := ctx
	ctx, k := r.c.begin(ctx, "one")
	defer k.Leave()
	if err = r.v.One(ctx, &k, q.def, func(t any) { out = *t.(*T) }); err == nil {
		k.Return(1)
		return out, r.c.end(&k, nil, nil)
	}
	err = r.c.end(&k, nil, err)
	if now := r.again(from, err); now != nil {
		return now.one(from, q)
	}
	var zero T
	return zero, err
}

func (r *reads[T]) first(ctx context.Context, q Query) (out T, err error) {
	from := ctx
	ctx, k := r.c.begin(ctx, "first")
	defer k.Leave()
	if err = r.v.First(ctx, &k, q.def, func(t any) { out = *t.(*T) }); err == nil {
		k.Return(1)
		return out, r.c.end(&k, nil, nil)
	}
	err = r.c.end(&k, nil, err)
	if now := r.again(from, err); now != nil {
		return now.first(from, q)
	}
	var zero T
	return zero, err
}

func (r *reads[T]) findMany(ctx context.Context, queries []Query) ([][]T, error) {
	from := ctx
	ctx, k := r.c.begin(ctx, "find many")
	defer k.Leave()
	k.Takes(len(queries))
	defs, lists := make([]plan.Query, len(queries)), make([][]T, len(queries))
	for i, q := range queries {
		defs[i], lists[i] = q.def, []T{}
	}
	if err := r.v.FindMany(ctx, &k, defs, func(i int, t any) { lists[i] = append(lists[i], *t.(*T)) }); err != nil {
		err = r.c.end(&k, nil, err)
		if now := r.again(from, err); now != nil {
			return now.findMany(from, queries)
		}
		return nil, err
	}
	for _, list := range lists {
		k.Return(len(list))
	}
	return lists, r.c.end(&k, nil, nil)
}

func (r *reads[T]) find(ctx context.Context, q Query, yield func(T, error) bool) {
	from := ctx
	ctx, k := r.c.begin(ctx, "find")
	defer k.Leave()
	stopped, some := false, false
	err := r.v.Find(ctx, &k, q.def, func(t any, _ scan.Position) bool {
		k.Return(1)
		some = true
		stopped = !yield(*t.(*T), nil)
		return !stopped
	})
	if err = r.c.end(&k, nil, err); err == nil || stopped {
		return
	}
	if now := r.again(from, err); now != nil && !some {
		now.find(from, q, yield)
		return
	}
	var zero T
	yield(zero, err)
}

func (r *reads[T]) firstOfGroups(ctx context.Context, q Query, yield func(T, error) bool) {
	from := ctx
	ctx, k := r.c.begin(ctx, "first of groups")
	defer k.Leave()
	stopped, some := false, false
	err := r.v.FirstOfGroups(ctx, &k, q.def, func(t any) bool {
		k.Return(1)
		some = true
		stopped = !yield(*t.(*T), nil)
		return !stopped
	})
	if err = r.c.end(&k, nil, err); err == nil || stopped {
		return
	}
	if now := r.again(from, err); now != nil && !some {
		now.firstOfGroups(from, q, yield)
		return
	}
	var zero T
	yield(zero, err)
}

func (r *reads[T]) page(ctx context.Context, q Query, cursor string) (Page[T], error) {
	from := ctx
	ctx, k := r.c.begin(ctx, "page")
	defer k.Leave()
	var items []T
	p, err := r.v.ReadPage(ctx, &k, q.def, cursor,
		func(n int) { items = make([]T, 0, n) }, func(t any) { items = append(items, *t.(*T)) })
	if err != nil {
		err = r.c.end(&k, nil, err)
		if now := r.again(from, err); now != nil {
			return now.page(from, q, cursor)
		}
		return Page[T]{}, err
	}
	items = items[:p.Size]
	if p.Back {
		slices.Reverse(items)
	}
	k.Return(len(items))
	return Page[T]{Items: items, Next: p.Next, Prev: p.Prev}, r.c.end(&k, nil, nil)
}

func (r *reads[T]) explain(q Query) (Plan, error) {
	e, err := r.v.Explain(q.def)
	if err != nil || !r.c.opened() {
		return Plan{}, r.c.annotate("explain", nil, err)
	}
	return planOf(e), nil
}
