package repo

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/failure"
	"github.com/polystore/polystore/repo/internal/layout"
	"github.com/polystore/polystore/repo/internal/plan"
	"github.com/polystore/polystore/repo/internal/record"
)

// A View reads the records of a collection as a smaller struct P: the store sends only the fields
// of P, and an index that carries all of them answers a query by itself. Many goroutines may use a
// View at once. Make one with [ViewOf].
type View[P any] struct{ reads reads[P] }

// ViewOf returns a view of a repository's records. The fields of P must be fields of the collection
// with the same types; missing or different fields are ErrSchema, which names all of them at once.
func ViewOf[P, T any](r *Repo[T]) (*View[P], error) {
	c := r.on().c
	if !c.opened() {
		return nil, c.annotate("view", nil, nil)
	}
	sh, err := record.ShapeOf(reflect.TypeFor[P](), versionType)
	if err == nil {
		sh.Place(c.Cols)
		err = errors.Join(sh.Fault, checkView(c.Layout, sh))
	}
	if err != nil {
		return nil, c.annotate("view", nil, err)
	}
	return &View[P]{readsOf[P](c, sh, plan.RecordMask(c.Layout, sh, sh.Positions()))}, nil
}

func checkView(c *layout.Layout, sh *record.Mapping) error {
	var faults []error
	for i := range sh.Fields {
		f := &sh.Fields[i]
		switch {
		case sh.IsMap:
		case f.Kind == driver.None: // which was told
		case f.At < 0:
			faults = append(faults, fmt.Errorf("the collection has no field %s: %w", f.Name, ErrSchema))
		case f.Kind != c.Cols[f.At].Kind:
			faults = append(faults, fmt.Errorf("field %s is of kind %s in the view and %s in the collection: %w", f.Name, f.Kind, c.Cols[f.At].Kind, ErrSchema))
		}
	}
	return errors.Join(faults...)
}

// Get returns the view of the record under key, or ErrNotFound.
func (v *View[P]) Get(ctx context.Context, key Key) (P, error) { return v.on().get(ctx, key) }

// GetMany returns the views of the records under keys: see [Repo.GetMany].
func (v *View[P]) GetMany(ctx context.Context, keys []Key) (views []P, found []bool, err error) {
	return v.on().getMany(ctx, keys)
}

// First returns the view of the first record that a query finds: see [Repo.First].
func (v *View[P]) First(ctx context.Context, q Query) (P, error) { return v.on().first(ctx, q) }

// FindMany returns the views of what each of several queries finds: see [Repo.FindMany].
func (v *View[P]) FindMany(ctx context.Context, queries []Query) ([][]P, error) {
	return v.on().findMany(ctx, queries)
}

// One returns the view of the one record that a query finds: see [Repo.One].
func (v *View[P]) One(ctx context.Context, q Query) (P, error) { return v.on().one(ctx, q) }

// Find yields the views of the records that a query finds: see [Repo.Find].
func (v *View[P]) Find(ctx context.Context, q Query) iter.Seq2[P, error] {
	return func(yield func(P, error) bool) { v.on().find(ctx, q, yield) }
}

// Page returns one page of what a query finds: see [Repo.Page].
func (v *View[P]) Page(ctx context.Context, q Query, cursor string) (Page[P], error) {
	return v.on().page(ctx, q, cursor)
}

// Explain says how a query is answered for this view: see [Repo.Explain].
func (v *View[P]) Explain(q Query) (Plan, error) {
	return v.on().explain(q)
}

// Collect gathers a sequence into a slice. It stops at the first error and
// returns what came before it.
func Collect[T any](seq iter.Seq2[T, error]) ([]T, error) {
	var list []T
	if seq == nil {
		return nil, failure.Invalid("collect: the sequence is nil")
	}
	for x, err := range seq {
		if err != nil {
			return list, err
		}
		list = append(list, x)
	}
	return list, nil
}
