package upkeep

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/catalog"
	"github.com/polystore/polystore/repo/internal/commit"
	"github.com/polystore/polystore/repo/internal/failure"
	"github.com/polystore/polystore/repo/internal/layout"
	"github.com/polystore/polystore/repo/internal/limit"
	"github.com/polystore/polystore/repo/internal/store"
)

// OpenOptions say what an opening may do in the store.
type OpenOptions struct {
	Attach bool
	Build  bool
	Rate   *int // records that a build reads in a second at most; nil is any number
}

// OpenKeeper opens a collection: it brings the collection and the catalog together.
func OpenKeeper(ctx context.Context, w *commit.Writer, collections *catalog.Registry, k *store.Call, o OpenOptions) (*Keeper, error) {
	c := &Keeper{w}
	if err := c.Store.CheckClock(ctx); err != nil {
		return nil, err
	}
	c.Shared = collections.Of(c.Name)
	c.Attached = o.Attach
	if err := (&opening{Keeper: c, OpenOptions: o, call: k}).agree(ctx); err != nil {
		return nil, err
	}
	return c, nil
}

// An opening brings a collection and the catalog together.
type opening struct {
	*Keeper
	OpenOptions
	call  *store.Call
	lacks []*layout.Index // that the store is to make before the next attempt
	made  []*layout.Index // that it has made after the last one
}

func (o *opening) agree(ctx context.Context) error {
	if err := o.define(ctx, o.Store.Cat); err != nil {
		return err
	}
	for range limit.MaxAttempts {
		done, err := o.attempt(ctx)
		if err == nil && len(o.lacks) > 0 {
			err = o.makeNative(ctx) // which may take long, and others write meanwhile
		}
		if done || err != nil {
			return err
		}
	}
	return failure.Contention("other programs keep changing the catalog")
}

// attempt is alone. Done is false when another program was faster, or there is more to do.
func (o *opening) attempt(ctx context.Context) (done bool, err error) {
	if err := o.Shared.Gate.Shut(ctx); err != nil {
		return false, err
	}
	defer o.Shared.Gate.Open()
	o.Share()
	asked := time.Now()
	e, err := catalog.ReadCatalog(ctx, o.Store, o.call, o.Store.Cat, o.Name)
	if err != nil {
		return false, err
	}
	o.Lease.Since.Store(&asked)
	return o.agreeWith(ctx, e)
}

// agreeWith does one attempt, by what the catalog says, nil if that is nothing.
func (o *opening) agreeWith(ctx context.Context, e *catalog.Entry) (done bool, err error) {
	if e == nil {
		if o.Attach {
			return false, fmt.Errorf("collection %s is not in the store, and WithoutDefine forbids to create it: %w", o.Name, driver.ErrSchema)
		}
		return o.create(ctx, o.call, o.Store.Cat)
	}
	if e.Dropping {
		return false, fmt.Errorf("the collection is being dropped, or its drop was stopped half-way; end that with repo.DropCollection: %w", driver.ErrSchema)
	}
	if e.Making {
		if o.Attach {
			return false, fmt.Errorf("collection %s was not made to the end, and WithoutDefine forbids to go on: %w", o.Name, driver.ErrSchema)
		}
		return o.finish(ctx, o.call, o.Store.Cat, e)
	}
	build, err := e.Fits(o.Layout)
	if err != nil {
		return false, err
	}
	e.SetBare(o.Layout)
	if len(o.Absent) > 0 {
		return false, o.addAbsent(ctx, e)
	}
	if err := o.define(ctx, o.Tables(o.unmade())...); err != nil {
		return false, err
	}
	if len(build) > 0 {
		return false, o.noteNative(ctx, e, build)
	}
	if !o.Attach && e.Grow(o.Layout) {
		if ok, err := catalog.WriteCatalog(ctx, o.Store, o.call, o.Store.Cat, e); !ok {
			return false, err
		}
	}
	if !o.Attach && !o.Late {
		if ok, err := o.letAll(ctx, o.call, e); !ok {
			return false, err
		}
	}
	o.Adopt(e)
	return true, nil
}

// letAll makes the catalog say what the type of the records allows: that they expire, and
// lack fields. Maps allow everything, and mostly do not.
func (c *Keeper) letAll(ctx context.Context, k *store.Call, e *catalog.Entry) (ok bool, err error) {
	if c.Expires && !e.Expires {
		if ok, err := c.LetExpire(ctx, k, e); !ok {
			return false, err
		}
	}
	names := c.MayLack(e.Presence().All())
	return c.LetLack(ctx, k, e, slices.DeleteFunc(names, func(name string) bool { return c.At(name) < 0 || c.IsHidden(c.At(name)) }))
}

// create makes a collection that is not in the catalog. The entry comes before the tables,
// so that who is stopped in between leaves none that DropCollection does not know of.
func (c *Keeper) create(ctx context.Context, k *store.Call, cat *driver.Table) (bool, error) {
	if c.IsOfCatalog() { // of a collection that was dropped meanwhile
		return false, &catalog.Differs{}
	}
	if err := c.mayJoin(ctx, k, cat); err != nil {
		return false, err
	}
	e := catalog.EntryOf(c.Layout)
	e.Making, e.Made = true, e.Epoch
	if ok, err := catalog.WriteCatalog(ctx, c.Store, k, cat, e); !ok {
		return false, err
	}
	return c.finish(ctx, k, cat, e)
}

// mayJoin says what keeps the collection from lying where it is to.
func (c *Keeper) mayJoin(ctx context.Context, k *store.Call, cat *driver.Table) error {
	if c.With() == "" {
		return nil
	}
	e, err := catalog.ReadCatalog(ctx, c.Store, k, cat, c.With())
	if err != nil {
		return err
	}
	return e.MayJoin(c.Layout)
}

// finish makes the tables of a collection of which the catalog says that it is being made:
// by this program, by another one just now, or by one that was stopped.
func (c *Keeper) finish(ctx context.Context, k *store.Call, cat *driver.Table, e *catalog.Entry) (bool, error) {
	more, err := e.Fits(c.Layout)
	if _, ok := errors.AsType[*catalog.Differs](err); ok {
		return false, err
	}
	if err != nil {
		return false, fmt.Errorf("another program is making collection %s with another schema, or was stopped while it did; in that case remove what it left with repo.DropCollection: %w", c.Name, driver.ErrSchema)
	}
	if err := c.mayJoin(ctx, k, cat); err != nil { // by now who drops that collection sees this one
		return false, err
	}
	e.Grow(c.Layout)
	e.SetBare(c.Layout)
	e.Expires = e.Expires || c.Expires // nobody has opened it before
	if len(more) > 0 {
		for _, x := range more {
			e.SetIndex(catalog.NewIndexEntry(x, catalog.IndexReady))
		}
		_, err := catalog.WriteCatalog(ctx, c.Store, k, cat, e)
		return false, err // and compile it with them
	}
	if err := c.Store.Driver.Define(ctx, c.Tables(nil)); err != nil {
		return false, err
	}
	e.Making = false
	ok, err := catalog.WriteCatalog(ctx, c.Store, k, cat, e)
	if ok {
		c.Adopt(e)
	}
	return ok, err
}
