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
	if err := c.Shared.Gate.Shut(ctx); err != nil {
		return nil, err
	}
	defer c.Shared.Gate.Open()
	c.Share()
	c.Attached = o.Attach
	if err := c.agree(ctx, k, o); err != nil {
		return nil, err
	}
	return c, nil
}

// agree brings the collection and the catalog together. The caller holds the gate.
func (c *Keeper) agree(ctx context.Context, k *store.Call, o OpenOptions) error {
	cat := c.Store.Cat
	if err := c.define(ctx, o, cat); err != nil {
		return err
	}
	for range limit.MaxAttempts {
		asked := time.Now()
		e, err := catalog.ReadCatalog(ctx, c.Store, k, cat, c.Name)
		if err != nil {
			return err
		}
		c.Lease.Since.Store(&asked)
		done, err := c.agreeWith(ctx, k, cat, e, o)
		if done || err != nil {
			return err
		}
	}
	return failure.Contention("other programs keep changing the catalog")
}

func (c *Keeper) define(ctx context.Context, o OpenOptions, tables ...*driver.Table) error {
	if o.Attach {
		return c.Store.Driver.Attach(ctx, tables)
	}
	return c.Store.Driver.Define(ctx, tables)
}

// agreeWith does one attempt; done is false when another program was faster.
func (c *Keeper) agreeWith(ctx context.Context, k *store.Call, cat *driver.Table, e *catalog.Entry, o OpenOptions) (done bool, err error) {
	if e == nil {
		if o.Attach {
			return false, fmt.Errorf("collection %s is not in the store, and WithoutDefine forbids to create it: %w", c.Name, driver.ErrSchema)
		}
		return c.create(ctx, k, cat)
	}
	if e.Dropping {
		return false, fmt.Errorf("the collection is being dropped, or its drop was stopped half-way; end that with repo.DropCollection: %w", driver.ErrSchema)
	}
	if e.Making {
		if o.Attach {
			return false, fmt.Errorf("collection %s was not made to the end, and WithoutDefine forbids to go on: %w", c.Name, driver.ErrSchema)
		}
		return c.finish(ctx, k, cat, e)
	}
	build, err := e.Fits(c.Layout)
	if err != nil {
		return false, err
	}
	e.SetBare(c.Layout)
	if len(c.Absent) > 0 {
		return false, (&adder{c}).addAbsent(ctx, k, cat, e, o)
	}
	if err := c.define(ctx, o, c.Tables(c.unmade())...); err != nil {
		return false, err
	}
	if len(build) > 0 {
		return false, (&adder{c}).makeNative(ctx, k, cat, e, build, o)
	}
	if !o.Attach && e.Grow(c.Layout) {
		if ok, err := catalog.WriteCatalog(ctx, c.Store, k, cat, e); !ok {
			return false, err
		}
	}
	if !o.Attach && !c.Late {
		if ok, err := c.letAll(ctx, k, e); !ok {
			return false, err
		}
	}
	c.Adopt(e)
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
