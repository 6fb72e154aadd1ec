package repo

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strings"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/failure"
	"github.com/polystore/polystore/repo/internal/layout"
	"github.com/polystore/polystore/repo/internal/plan"
	"github.com/polystore/polystore/repo/internal/record"
)

// A View reads the records of a collection as a smaller struct P: the store sends only the fields
// of P, and an index that carries all of them answers a query by itself. Many goroutines may use a
// View at once. Make one with [ViewOf].
type View[P any] struct{ now following[P] }

// ViewOf returns a view of a repository's records. The fields of P must be fields of the collection
// with the same types, or parts of such, named by their paths: `repo:"address.city"`. A field of P tagged
// `repo:",extra"` has all others. Missing or different fields are ErrSchema, which names all of them at once.
func ViewOf[P, T any](r *Repo[T]) (*View[P], error) {
	c := r.on().c
	if !c.opened() {
		return nil, c.annotate("view", nil, nil)
	}
	return viewAs(c, func(c *collection) (reads[P], error) {
		sh, err := record.ViewShapeOf(reflect.TypeFor[P](), versionType)
		if err == nil {
			sh.Place(c.Cols)
			err = errors.Join(sh.Fault, checkView(c.Layout, sh))
		}
		if err != nil {
			return reads[P]{}, err
		}
		return readsAs[P](c, sh), nil
	})
}

func viewAs[P any](c *collection, of func(*collection) (reads[P], error)) (*View[P], error) {
	v := new(View[P])
	if err := v.now.follow(c, of); err != nil {
		return nil, c.annotate("view", nil, err)
	}
	return v, nil
}

func readsAs[P any](c *collection, sh *record.Mapping) reads[P] {
	return readsOf[P](c, sh, plan.RecordMask(c.Layout, sh, sh.Positions()))
}

// FieldsOf is ViewOf for fields that are known at run time: a view of records as maps that have some fields under
// their names. A name may be a path, and, where records have undeclared fields, that of one of these. A map lacks what
// its record lacks. Wrong names are ErrSchema.
func FieldsOf[T any](r *Repo[T], names ...string) (*View[map[string]any], error) {
	c := r.on().c
	if !c.opened() {
		return nil, c.annotate("view", nil, nil)
	}
	if len(names) == 0 {
		return nil, c.annotate("view", nil, fmt.Errorf("a view of no fields: %w", ErrSchema))
	}
	var faults []error
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			faults = append(faults, driver.Errorf("field %.64q is named twice: %w", c.Raw(name), ErrSchema))
		}
		faults = append(faults, checkName(c.Layout, name))
	}
	if err := errors.Join(faults...); err != nil {
		return nil, c.annotate("view", nil, err)
	}
	names = slices.Clone(names)
	return viewAs(c, func(c *collection) (reads[map[string]any], error) {
		sh := record.SomeOf(names, versionType)
		sh.Place(c.Cols)
		return readsAs[map[string]any](c, sh), nil
	})
}

// checkName is ErrSchema if there can be no field, or part of one, of a name.
func checkName(c *layout.Layout, name string) error {
	src, _, err := c.Find(name)
	if err == nil && src.At < 0 {
		if !c.Extra {
			return fmt.Errorf("the collection has no field %.64q: %w", name, ErrSchema)
		}
		field, _ := record.CutPath(name)
		err = record.CheckExtra(field, &record.Mapping{})
	}
	return asSchema(err)
}

// asSchema is an error of an argument as one of a schema.
func asSchema(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", strings.TrimSuffix(err.Error(), ": "+ErrInvalid.Error()), ErrSchema)
}

func checkView(c *layout.Layout, sh *record.Mapping) error {
	var faults []error
	for i := range sh.Fields {
		if f := &sh.Fields[i]; !sh.IsMap && f.Kind != driver.None { // the rest was told
			faults = append(faults, checkField(c, f.Name, f.Kind))
		}
	}
	return errors.Join(faults...)
}

// checkField is ErrSchema if a view has a field, or a part of one, that the collection has not, or of another kind.
func checkField(c *layout.Layout, name string, kind driver.Kind) error {
	src, has, err := c.Find(name)
	switch {
	case err != nil:
		return asSchema(err)
	case src.At < 0:
		return fmt.Errorf("the collection has no field %s: %w", name, ErrSchema)
	case kind != has.Kind && has.Kind != driver.None:
		return fmt.Errorf("field %s is of kind %s in the view and %s in the collection: %w", name, kind, has.Kind, ErrSchema)
	}
	return nil
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
