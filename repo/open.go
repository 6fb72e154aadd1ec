package repo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/catalog"
	"github.com/polystore/polystore/repo/internal/commit"
	"github.com/polystore/polystore/repo/internal/layout"
	"github.com/polystore/polystore/repo/internal/record"
	"github.com/polystore/polystore/repo/internal/store"
	"github.com/polystore/polystore/repo/internal/upkeep"
)

// A Repo reads and writes the records of one collection as values of type T: a
// struct, map[string]any, or an interface type with [Types]. It may be used by many goroutines at once. Make one
// with [Open].
//
// Every error of a method is or wraps an [*Error]. The methods of a Repo that is nil, or was not
// opened, return ErrInvalid.
type Repo[T any] struct{ now following[T] }

// Open returns a repository on a collection, and creates the collection if it is not there. It
// checks the schema against T, the store's facts, and what the store remembers of the collection.
// It reports all faults at once, each with its remedy, as ErrSchema. Open adds new fields. New indexes are added with
// [WithBuild]; without it only those that nobody can have written a record for: in a new collection, or in an empty one
// that this process has alone or whose store keeps the indexes itself. An index of the store that the schema lacks is
// kept in step, unless the program that declares it derives fields.
//
// If the server tells the time, the first Open of a Store compares the clock of this machine with
// the server's clock, and fails with ErrInvalid if the clocks are more than half a minute apart.
func Open[T any](ctx context.Context, store *Store, schema Schema, opts ...OpenOption) (*Repo[T], error) {
	o, err := openOptionsOf(opts)
	if err = cmp.Or(given(ctx, store), err); err != nil {
		return nil, &Error{Op: "open", Collection: schema.Collection, Err: err}
	}
	ctx, k := store.handle.Begin(ctx, "open", schema.Collection)
	defer k.Leave()
	c, err := openCollection(ctx, store, &k, schema, reflect.TypeFor[T](), o)
	if err != nil {
		return nil, k.End(&Error{Op: k.Op, Collection: schema.Collection, Err: store.Redact(err)})
	}
	r := new(Repo[T])
	_ = r.now.follow(c, func(c *collection) (reads[T], error) { return readsOf[T](c, c.Shape, nil), nil })
	if o.Build {
		c.buildBeside(o.Rate)
	}
	return r, k.End(nil)
}

// Store returns the Store on which r was opened.
func (r *Repo[T]) Store() *Store { return r.on().c.of }

// Check reports, as [Open] does, what is wrong with a schema for records of type T
// on a store with the given facts. It touches no store.
func Check[T any](facts driver.Facts, schema Schema) error {
	sh, err := shapeOf(reflect.TypeFor[T](), schema)
	if err == nil {
		_, err = layout.Compile(&facts, false, schema.def(), sh)
	}
	if err != nil {
		return &Error{Op: "check", Collection: schema.Collection, Err: err}
	}
	return nil
}

// shapeOf compiles the type of a repository.
func shapeOf(t reflect.Type, s Schema) (*record.Mapping, error) {
	switch {
	case t.Kind() == reflect.Interface && len(s.Types.Of) == 0:
		return nil, fmt.Errorf("the records are %s, an interface type, and the schema does not say of which types they are; name these under Types: %w", t, ErrSchema)
	case t.Kind() == reflect.Interface:
		return record.UnionOf(t, versionType, s.Types.Field, s.Types.Of), nil
	case len(s.Types.Of) > 0 || s.Types.Field != "":
		return nil, fmt.Errorf("the schema has Types, and the records are %s; open the collection for an interface type that the types have: %w", t, ErrSchema)
	}
	return record.ShapeOf(t, versionType)
}

func openCollection(ctx context.Context, store *Store, k *store.Call, schema Schema, t reflect.Type, o upkeep.OpenOptions) (*collection, error) {
	d := &catalog.Differs{}
	for {
		w, err := writerOf(store, schema, t, d)
		if err != nil {
			return nil, err
		}
		keeper, err := upkeep.OpenKeeper(ctx, w, &store.collections, k, o)
		if err == nil {
			c := &collection{Keeper: keeper, of: store}
			c.Follow = c.followedAs(schema, t)
			return c, nil
		}
		var ok bool
		if d, ok = errors.AsType[*catalog.Differs](err); !ok || ctx.Err() != nil {
			return nil, err
		}
	}
}

// writerOf compiles a schema with the indexes that the catalog has.
func writerOf(store *Store, schema Schema, t reflect.Type, d *catalog.Differs) (*commit.Writer, error) {
	sh, err := shapeOf(t, schema)
	if err != nil {
		return nil, err
	}
	def := schema.def()
	def.Others, def.Stored = d.Others, d.Stored
	l, err := layout.Compile(&store.handle.Facts, store.handle.Opts.Redact, def, sh)
	if err != nil {
		return nil, err
	}
	return commit.NewWriter(&store.handle, l, sh, &store.cleaner), nil
}

// followedAs returns what makes the collection that follows c when the indexes are others.
func (c *collection) followedAs(schema Schema, t reflect.Type) func(context.Context, *catalog.Entry, *catalog.Differs, time.Time) error {
	return func(ctx context.Context, e *catalog.Entry, d *catalog.Differs, began time.Time) error {
		w, err := writerOf(c.of, schema, t, d)
		if err != nil {
			return err
		}
		next := &collection{Keeper: &upkeep.Keeper{Writer: w}, of: c.of}
		next.Follow = next.followedAs(schema, t)
		if err := next.Succeed(ctx, c.Keeper, e, began); err != nil {
			return err
		}
		c.next.Store(next)
		c.MakeWay(next.Collection)
		return nil
	}
}
