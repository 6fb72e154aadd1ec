package repo

import (
	"context"
)

// Get returns the record under key, or ErrNotFound.
func (r *Repo[T]) Get(ctx context.Context, key Key) (T, error) {
	return r.on().get(ctx, key)
}

// Exists reports whether there is a record under key.
func (r *Repo[T]) Exists(ctx context.Context, key Key) (bool, error) {
	ctx, c, k := begin(ctx, "exists", r)
	defer k.Leave()
	there, err := c.Exists(ctx, &k, key)
	return there, c.end(&k, key, err)
}

// GetMany returns the records under keys, in the order of the keys, in one round trip. A key
// without a record gives the zero T, and false in found.
func (r *Repo[T]) GetMany(ctx context.Context, keys []Key) (records []T, found []bool, err error) {
	return r.on().getMany(ctx, keys)
}

// First returns the first record that a query finds, or ErrNotFound.
func (r *Repo[T]) First(ctx context.Context, q Query) (T, error) {
	return r.on().first(ctx, q)
}

// FindMany returns what each of several queries finds, in the order of the queries, which are asked at the same time:
// the newest comments of each post of a page. If one of them fails it returns no records, and the error of the first
// that failed.
func (r *Repo[T]) FindMany(ctx context.Context, queries []Query) ([][]T, error) {
	return r.on().findMany(ctx, queries)
}

// One returns the one record that a query finds: ErrNotFound if it finds none,
// ErrInvalid if it finds several. It is meant for unique indexes.
func (r *Repo[T]) One(ctx context.Context, q Query) (T, error) {
	return r.on().one(ctx, q)
}
