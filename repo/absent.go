package repo

import (
	"context"
	"iter"
	"reflect"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/failure"
)

// given says which of the arguments of a function on a store is nil.
func given(ctx context.Context, store *Store) error {
	switch {
	case store == nil || store.handle.Driver == nil:
		return failure.ErrNoStore
	case store.handle.Driver == driver.Store(noBackend{}):
		return failure.ErrNoBackend
	}
	return failure.NoContext(ctx)
}

// isNil reports whether an interface holds nothing, or a nil pointer.
func isNil(v any) bool {
	r := reflect.ValueOf(v)
	return v == nil || r.Kind() == reflect.Pointer && r.IsNil()
}

// noBackend is the backend of a Store that was made without one.
type noBackend struct{}

func (noBackend) Facts() driver.Facts { return driver.Facts{Name: "nothing", OneProcess: true} }

func (noBackend) Define(context.Context, []*driver.Table) error { return failure.ErrNoBackend }
func (noBackend) Attach(context.Context, []*driver.Table) error { return failure.ErrNoBackend }
func (noBackend) Drop(context.Context, []*driver.Table) error   { return failure.ErrNoBackend }

func (noBackend) Get(context.Context, *driver.Table, []driver.Key, []int, []driver.Row) error {
	return failure.ErrNoBackend
}

func (noBackend) Range(context.Context, driver.Span) iter.Seq2[*driver.Row, error] {
	return func(yield func(*driver.Row, error) bool) { yield(nil, failure.ErrNoBackend) }
}

func (noBackend) Walk(context.Context, *driver.Table, string) iter.Seq2[driver.Chunk, error] {
	return func(yield func(driver.Chunk, error) bool) { yield(driver.Chunk{}, failure.ErrNoBackend) }
}

func (noBackend) Commit(context.Context, driver.Token, []driver.Op) (*driver.Refusal, error) {
	return nil, failure.ErrNoBackend
}

func (noBackend) Close() error { return failure.ErrNoBackend }
