package repo

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/polystore/polystore/repo/driver"
)

// openOptions say what an opening may do in the store.
type openOptions struct {
	attach  bool
	rebuild bool
}

// openKeeper opens a collection: it brings the collection and the catalog together.
func openKeeper(ctx context.Context, w *writer, collections *registry, k *call, o openOptions) (*keeper, error) {
	c := &keeper{w}
	if err := c.store.checkClock(ctx); err != nil {
		return nil, err
	}
	c.shared = collections.of(c.name)
	if err := c.shared.gate.shut(ctx); err != nil {
		return nil, err
	}
	defer c.shared.gate.open()
	c.share()
	c.attached = o.attach
	if err := c.agree(ctx, k, o); err != nil {
		return nil, err
	}
	return c, nil
}

// agree brings the collection and the catalog together. The caller holds the gate.
func (c *keeper) agree(ctx context.Context, k *call, o openOptions) error {
	cat := c.store.cat
	if err := c.define(ctx, o, cat); err != nil {
		return err
	}
	for range maxAttempts {
		asked := time.Now()
		e, err := readCatalog(ctx, c.store, k, cat, c.name)
		if err != nil {
			return err
		}
		c.lease.since.Store(&asked)
		done, err := c.agreeWith(ctx, k, cat, e, o)
		if done || err != nil {
			return err
		}
	}
	return contention("other programs keep changing the catalog")
}

func (c *keeper) define(ctx context.Context, o openOptions, tables ...*driver.Table) error {
	if o.attach {
		return c.store.driver.Attach(ctx, tables)
	}
	return c.store.driver.Define(ctx, tables)
}

// agreeWith does one attempt; done is false when another program was faster.
func (c *keeper) agreeWith(ctx context.Context, k *call, cat *driver.Table, e *catalogEntry, o openOptions) (done bool, err error) {
	if e == nil {
		if o.attach {
			return false, fmt.Errorf("collection %s is not in the store, and WithoutDefine forbids to create it: %w", c.name, driver.ErrSchema)
		}
		return c.create(ctx, k, cat)
	}
	if e.Dropping {
		return false, fmt.Errorf("the collection is being dropped, or its drop was stopped half-way; end that with repo.DropCollection: %w", driver.ErrSchema)
	}
	if e.Making {
		if o.attach {
			return false, fmt.Errorf("collection %s was not made to the end, and WithoutDefine forbids to go on: %w", c.name, driver.ErrSchema)
		}
		return c.finish(ctx, k, cat, e)
	}
	build, err := e.fits(c.layoutC)
	if err != nil {
		return false, err
	}
	e.setBare(c.layoutC)
	if len(build) > 0 && (!o.rebuild || o.attach) {
		if done, err := c.mayAdd(ctx, build, o); !done {
			return false, err
		}
	}
	if err := c.define(ctx, o, c.tables(build)...); err != nil {
		return false, err
	}
	if len(build) > 0 {
		return c.build(ctx, k, cat, e, build)
	}
	if !o.attach && e.grow(c.layoutC) {
		if ok, err := writeCatalog(ctx, c.store, k, cat, e); !ok {
			return false, err
		}
	}
	if !o.attach && !c.late {
		if ok, err := c.letAll(ctx, k, e); !ok {
			return false, err
		}
	}
	c.adopt(e)
	return true, nil
}

// letAll makes the catalog say what the type of the records allows: that they expire, and
// lack fields. Maps allow everything, and mostly do not.
func (c *keeper) letAll(ctx context.Context, k *call, e *catalogEntry) (ok bool, err error) {
	if c.expires && !e.Expires {
		if ok, err := c.letExpire(ctx, k, e); !ok {
			return false, err
		}
	}
	names := c.mayLack(e.presence().all())
	return c.letLack(ctx, k, e, slices.DeleteFunc(names, func(name string) bool { return c.at(name) < 0 }))
}

// create makes a collection that is not in the catalog. The entry comes before the tables,
// so that who is stopped in between leaves none that DropCollection does not know of.
func (c *keeper) create(ctx context.Context, k *call, cat *driver.Table) (bool, error) {
	e := entryOf(c.layoutC)
	e.Making, e.Made = true, e.Epoch
	if ok, err := writeCatalog(ctx, c.store, k, cat, e); !ok {
		return false, err
	}
	return c.finish(ctx, k, cat, e)
}

// finish makes the tables of a collection of which the catalog says that it is being made:
// by this program, by another one just now, or by one that was stopped.
func (c *keeper) finish(ctx context.Context, k *call, cat *driver.Table, e *catalogEntry) (bool, error) {
	more, err := e.fits(c.layoutC)
	if err != nil || slices.ContainsFunc(more, e.has) {
		return false, fmt.Errorf("another program is making collection %s with another schema, or was stopped while it did; in that case remove what it left with repo.DropCollection: %w", c.name, driver.ErrSchema)
	}
	e.grow(c.layoutC)
	e.setBare(c.layoutC)
	e.Expires = e.Expires || c.expires // nobody has opened it before
	for _, x := range more {
		e.setIndex(indexEntry(x, indexReady))
	}
	if err := c.store.driver.Define(ctx, c.tables(nil)); err != nil {
		return false, err
	}
	e.Making = false
	ok, err := writeCatalog(ctx, c.store, k, cat, e)
	if ok {
		c.adopt(e)
	}
	return ok, err
}

// mayAdd reports whether indexes may be added without WithRebuild: those of a
// collection without records.
func (c *keeper) mayAdd(ctx context.Context, build []*index, o openOptions) (bool, error) {
	var names []string
	for _, x := range build {
		names = append(names, x.name)
	}
	if o.attach {
		return false, fmt.Errorf("index %s is not ready in the store, and WithoutDefine forbids to build it: %w", strings.Join(names, ", "), driver.ErrSchema)
	}
	if err := c.store.driver.Define(ctx, []*driver.Table{c.records}); err != nil {
		return false, err
	}
	for chunk, err := range c.store.driver.Walk(ctx, c.records, "") {
		if err != nil {
			return false, err
		}
		if len(chunk.Rows) == 0 {
			continue
		}
		if err := c.mayBuild(build); err != nil {
			return false, fmt.Errorf("%w: %w", driver.ErrSchema, err)
		}
		return false, fmt.Errorf("index %s is new or was declared otherwise, and the collection has records; open with repo.WithRebuild() to build it: %w", strings.Join(names, ", "), driver.ErrSchema)
	}
	return true, nil
}
