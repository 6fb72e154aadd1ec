package repo

import (
	"context"
)

// Get returns the record under key, or ErrNotFound.
func (r *Repo[T]) Get(ctx context.Context, key Key) (T, error) {
	return r.whole().get(ctx, "get", key)
}

// Exists reports whether there is a record under key.
func (r *Repo[T]) Exists(ctx context.Context, key Key) (bool, error) {
	k := r.begin("exists")
	b := newReadBuffer(1)
	defer b.release()
	err := b.oneKey(r.collection, key)
	if err == nil {
		err = r.store.get(ctx, &k, r.records, b.keys, []int{}, b.rows)
	}
	if err == nil {
		err = r.holds(ctx)
	}
	return err == nil && r.isLive(&k, &b.rows[0]), r.end(&k, key, err)
}

// GetMany returns the records under keys, in their order, in one round trip. The
// record of a key under which there is none is the zero T, and found says which.
func (r *Repo[T]) GetMany(ctx context.Context, keys []Key) (records []T, found []bool, err error) {
	return r.whole().getMany(ctx, "get many", keys)
}

// One returns the one record that a query finds: ErrNotFound if it finds none,
// ErrInvalid if it finds several. It is meant for unique indexes.
func (r *Repo[T]) One(ctx context.Context, q Query) (T, error) {
	return r.whole().one(ctx, q)
}

func (r *Repo[T]) whole() view[T] {
	return view[T]{c: r.collection, shape: r.shape, by: r.by, scratch: r.scratch}
}
