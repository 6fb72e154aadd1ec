package repo

import (
	"context"
	"sync"
	"time"

	"github.com/polystore/polystore/repo/internal/catalog"
	"github.com/polystore/polystore/repo/internal/commit"
	"github.com/polystore/polystore/repo/internal/commit/remote"
	"github.com/polystore/polystore/repo/internal/layout"
	"github.com/polystore/polystore/repo/internal/record"
	"github.com/polystore/polystore/repo/internal/store"
	"github.com/polystore/polystore/repo/internal/upkeep"
)

// nothing is the collection of a Repo, View or Writes that is nil or zero. Every operation works on it as on any
// other, in a store that refuses all, and ends with ErrNotOpened: so no method needs a check of its own.
var nothing = sync.OnceValue(func() *collection {
	h := &store.Handle{Driver: noBackend{}, Facts: noBackend{}.Facts(), Cat: catalog.Table(), Opts: store.Settings{Now: time.Now}}
	schema := layout.Schema{Collection: "nothing", Partition: []string{"id"}, Fields: map[string]string{"id": "string"}}
	l, err := layout.Compile(&h.Facts, false, schema, &record.Mapping{IsMap: true})
	if err != nil {
		panic(err) // the schema above is a good one
	}
	w := commit.NewWriter(h, l, new(record.Mapping), new(remote.Cleaner))
	w.Shared = new(catalog.Registry).Of(l.Name)
	w.Adopt(catalog.EntryOf(l))
	return &collection{Keeper: &upkeep.Keeper{Writer: w}}
})

// opened reports whether c is a collection that was opened, and not nothing.
func (c *collection) opened() bool { return c.of != nil }

// on returns how r reads, and on what.
func (r *Repo[T]) on() *reads[T] {
	if r != nil {
		return r.now.on()
	}
	return onNothing[T]()
}

// on returns how v reads, and on what.
func (v *View[P]) on() *reads[P] {
	if v != nil {
		return v.now.on()
	}
	return onNothing[P]()
}

func onNothing[T any]() *reads[T] {
	none := readsOf[T](nothing(), new(record.Mapping), nil)
	return &none
}

// begin begins an operation on the collection of r.
func begin[T any](ctx context.Context, op string, r *Repo[T]) (context.Context, *collection, store.Call) {
	c := r.on().c.current(ctx)
	ctx, k := c.begin(ctx, op)
	return ctx, c, k
}
