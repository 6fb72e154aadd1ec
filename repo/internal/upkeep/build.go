package upkeep

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/catalog"
	"github.com/polystore/polystore/repo/internal/layout"
	"github.com/polystore/polystore/repo/internal/store"
)

// An adder adds indexes to a collection that is being opened.
type adder struct{ *Keeper }

// addAbsent adds to the catalog the indexes that the schema declares and the catalog has not. They are ready at once
// where nobody can have written a record; else they are to be filled, and a store that is to keep them must make them.
func (c *adder) addAbsent(ctx context.Context, k *store.Call, cat *driver.Table, e *catalog.Entry, o OpenOptions) error {
	state, err := c.mayAdd(ctx, o)
	if err != nil {
		return err
	}
	tables := []*driver.Table{c.Records}
	for _, x := range c.Absent {
		if err := e.Going(x.ID); err != nil {
			return err
		}
		entry := catalog.NewIndexEntry(x, state)
		entry.Turn = e.Turns[x.ID]
		delete(e.Refused, x.ID)
		if x.Native {
			entry.To(catalog.IndexBuilding)
		} else {
			t := *x.Table
			t.Name = entry.TableIn(c.Name).Name
			tables = append(tables, &t)
		}
		e.SetIndex(entry)
	}
	if err := c.Store.Driver.Define(ctx, tables); err != nil { // before others look for them
		return err
	}
	e.Grow(c.Layout)
	return c.changeTo(ctx, k, cat, e, state != catalog.IndexReady)
}

// changeTo writes an entry with other indexes. Who was faster is seen when it is read again. The caller holds the gate.
func (c *adder) changeTo(ctx context.Context, k *store.Call, cat *driver.Table, e *catalog.Entry, holdsOn bool) error {
	e.Epoch = catalog.NewEpoch()
	ok, err := catalog.WriteCatalog(ctx, c.Store, k, cat, e)
	if ok {
		c.Shared.Changed(e, holdsOn)
	}
	return err
}

// mayAdd returns the state in which indexes may be added.
func (c *adder) mayAdd(ctx context.Context, o OpenOptions) (string, error) {
	var names []string
	alone := c.Store.Facts.OneProcess
	for _, x := range c.Absent {
		names = append(names, x.ID)
	}
	if o.Attach {
		return "", fmt.Errorf("index %s is not in the store, and WithoutDefine forbids to build it: %w", strings.Join(names, ", "), driver.ErrSchema)
	}
	some, err := c.hasRecords(ctx)
	switch {
	case err != nil:
		return "", err
	case !some && alone:
		return catalog.IndexReady, nil
	case o.Build || !some && keptByStore(c.Absent):
		return catalog.IndexDeclared, nil
	case some:
		return "", fmt.Errorf("index %s is new, and the collection has records; open with repo.WithBuild() to build it: %w", strings.Join(names, ", "), driver.ErrSchema)
	}
	return "", fmt.Errorf("index %s is new, and other programs may write to the collection; open with repo.WithBuild() to build it: %w", strings.Join(names, ", "), driver.ErrSchema)
}

// keptByStore reports whether the store keeps all of some indexes.
func keptByStore(list []*layout.Index) bool {
	for _, x := range list {
		if !x.Native {
			return false
		}
	}
	return true
}

// hasRecords reports whether the collection has any row, of a dead record, too.
func (c *adder) hasRecords(ctx context.Context) (bool, error) {
	if err := c.Store.Driver.Define(ctx, []*driver.Table{c.Records}); err != nil {
		return false, err
	}
	for chunk, err := range c.Store.Driver.Walk(ctx, c.Records, "") {
		if err != nil || len(chunk.Rows) > 0 {
			return true, err
		}
	}
	return false, nil
}

// makeNative lets the store make the indexes that it is to keep, whoever writes; several programs may ask it to at once.
func (c *adder) makeNative(ctx context.Context, k *store.Call, cat *driver.Table, e *catalog.Entry, build []*layout.Index, o OpenOptions) error {
	if o.Attach {
		return fmt.Errorf("index %s is not ready in the store, and WithoutDefine forbids to build it: %w", build[0].ID, driver.ErrSchema)
	}
	if !o.Build {
		if some, err := c.hasRecords(ctx); some || err != nil {
			return cmp.Or(err, fmt.Errorf("index %s is not ready in the store: another program lets the store make it, or the store could not; open with repo.WithBuild() to do it: %w", build[0].ID, driver.ErrSchema))
		}
	}
	if err := catalog.OutlastLease(ctx, c.Store, time.Now()); err != nil { // see stray.go
		return err
	}
	for _, x := range build {
		if err := c.Store.Driver.Define(ctx, []*driver.Table{x.Table}); err != nil {
			if errors.Is(err, driver.ErrExists) && c.MayExpire() {
				err = fmt.Errorf("%w; a record that has expired counts until Maintain has removed it", err)
			}
			return fmt.Errorf("build index %s: %w", x.ID, err)
		}
		e.SetIndex(catalog.NewIndexEntry(x, catalog.IndexReady))
	}
	return c.changeTo(ctx, k, cat, e, true)
}
