package upkeep

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/catalog"
	"github.com/polystore/polystore/repo/internal/change"
	"github.com/polystore/polystore/repo/internal/failure"
	"github.com/polystore/polystore/repo/internal/layout"
	"github.com/polystore/polystore/repo/internal/limit"
	"github.com/polystore/polystore/repo/internal/record"
	"github.com/polystore/polystore/repo/internal/scan"
	"github.com/polystore/polystore/repo/internal/store"
)

// build makes indexes of records that are there. Those that the store keeps it fills by
// itself, whoever writes, and several programs may ask it to at once.
func (c *Keeper) build(ctx context.Context, k *store.Call, cat *driver.Table, e *catalog.Entry, build []*layout.Index) (bool, error) {
	if err := c.mayBuild(build); err != nil {
		return false, err
	}
	if slices.ContainsFunc(build, func(x *layout.Index) bool { return !x.Native }) || c.Store.Facts.OneProcess {
		return c.buildAlone(ctx, k, cat, e, build)
	}
	replaces := e.Replaces(build)
	if !e.Awaits(build) {
		e.Grow(c.Layout)
		for _, x := range build {
			e.SetIndex(catalog.NewIndexEntry(x, catalog.IndexBuilding))
		}
		if replaces {
			e.Epoch = catalog.NewEpoch()
		}
		if ok, err := catalog.WriteCatalog(ctx, c.Store, k, cat, e); !ok {
			return false, err
		}
		if replaces {
			c.Shared.Lose()
		}
	}
	if err := catalog.OutlastLease(ctx, c.Store, time.Now()); err != nil { // see stray.go
		return false, err
	}
	for _, x := range build {
		if err := c.keepNative(ctx, x, replaces); err != nil {
			return false, fmt.Errorf("build index %s: %w", x.ID, err)
		}
		e.SetIndex(catalog.NewIndexEntry(x, catalog.IndexReady))
	}
	if ok, err := catalog.WriteCatalog(ctx, c.Store, k, cat, e); !ok {
		return false, err // another program ended it, or began another one
	}
	c.Adopt(e)
	return true, nil
}

// keepNative lets the store keep an index. Where it keeps another one of the name, that goes
// when all programs know. One that is there as declared stays: another program may have made
// it, and read with it since.
func (c *Keeper) keepNative(ctx context.Context, x *layout.Index, told bool) error {
	tables := []*driver.Table{x.Table}
	err := c.Store.Driver.Define(ctx, tables)
	if errors.Is(err, driver.ErrSchema) && !told {
		if err := catalog.OutlastLease(ctx, c.Store, time.Now()); err != nil {
			return err
		}
		err = c.Store.Driver.Define(ctx, tables) // the program that is at it may have dropped the other one
	}
	if !errors.Is(err, driver.ErrSchema) {
		return err
	}
	if err := c.Store.Driver.Drop(ctx, tables); err != nil {
		return err
	}
	return c.Store.Driver.Define(ctx, tables)
}

// buildAlone fills indexes from the records: the caller holds the gate, and no
// other process writes. The catalog says "building" until the rows are complete,
// so that what a crash leaves is refused at the next Open.
func (c *Keeper) buildAlone(ctx context.Context, k *store.Call, cat *driver.Table, e *catalog.Entry, build []*layout.Index) (bool, error) {
	e.Epoch = catalog.NewEpoch()
	e.Grow(c.Layout)
	before := slices.Clone(e.Indexes)
	if e.Replaces(build) {
		c.Shared.Drops.Add(1)
	}
	for _, x := range build {
		e.SetIndex(catalog.NewIndexEntry(x, catalog.IndexBuilding))
	}
	if ok, err := catalog.WriteCatalog(ctx, c.Store, k, cat, e); !ok {
		return false, err
	}
	c.Shared.Epoch = "" // whatever happens now, nobody writes without the indexes
	for _, x := range build {
		err := c.dropBefore(ctx, before, x)
		if err == nil {
			err = c.fill(ctx, k, x)
		}
		if err != nil {
			return false, fmt.Errorf("build index %s: %w", x.ID, err)
		}
		e.SetIndex(catalog.NewIndexEntry(x, catalog.IndexReady))
	}
	if ok, err := catalog.WriteCatalog(ctx, c.Store, k, cat, e); !ok {
		return false, err
	}
	c.Adopt(e)
	return true, nil
}

// mayBuild says why indexes cannot be made of a collection that there is already.
func (c *Keeper) mayBuild(build []*layout.Index) error {
	for _, x := range build {
		switch {
		case x.Remote:
			return fmt.Errorf("index %s lies in another partition than its records, and such an index is made with its collection; copy the records to a collection with another name: %w", x.ID, driver.ErrUnsupported)
		case !x.Native && !c.Store.Facts.OneProcess:
			return fmt.Errorf("index %s must be built, and other processes may write to %s meanwhile; copy the records to a collection with another name: %w", x.ID, c.Store.Facts.Name, driver.ErrUnsupported)
		}
	}
	return nil
}

// dropBefore removes what an index was that the store kept, if now it is a table, or the
// reverse: of another kind it would not be found by its name.
func (c *Keeper) dropBefore(ctx context.Context, before []catalog.IndexEntry, x *layout.Index) error {
	for _, old := range before {
		if t := old.TableIn(c.Name); old.Name == x.ID && t.Native != x.Native {
			return c.Store.Driver.Drop(ctx, []*driver.Table{t})
		}
	}
	return nil
}

// fill makes the table of an index anew.
func (c *Keeper) fill(ctx context.Context, k *store.Call, x *layout.Index) error {
	tables := []*driver.Table{x.Table}
	if err := c.Store.Driver.Drop(ctx, tables); err != nil {
		return err
	}
	if err := c.Store.Driver.Define(ctx, tables); err != nil {
		return err
	}
	if x.Native {
		return nil // complete, or Define had failed
	}
	var f scan.Faults
	err := c.fillFrom(ctx, k, &f, x, func(ctx context.Context, k *store.Call, x *layout.Index, row *driver.Row) error {
		return c.writeRows(ctx, k, x, row, nil)
	})
	return f.With(err)
}

// fillFrom calls write for each live record. Those that have expired need no rows:
// Maintain removes them, and misses none.
func (c *Keeper) fillFrom(ctx context.Context, k *store.Call, f *scan.Faults, x *layout.Index, write func(context.Context, *store.Call, *layout.Index, *driver.Row) error) error {
	k.Tick(c.Store)
	return c.Each(ctx, k, f, c.Records, func(row *driver.Row) error {
		for attempt := 0; c.IsLive(k, row); attempt++ {
			err := write(ctx, k, x, row)
			if !errors.Is(err, errMoved) || attempt == limit.MaxAttempts {
				return err
			}
			var now [1]driver.Row
			if err := cmp.Or(store.Pause(ctx, attempt), c.Store.Get(ctx, k, c.Records, []driver.Key{row.Key}, nil, now[:])); err != nil {
				return failure.OfKey(row.Key, err)
			}
			now[0].Key = row.Key
			row = &now[0]
		}
		return nil
	})
}

// errMoved is the error of rows that were not written because another program changed the
// record.
var errMoved = failure.Contention("other programs change the record each time while its index is built; let them rest")

// writeRows writes the rows of x for one record, or only those with some keys.
func (c *Keeper) writeRows(ctx context.Context, k *store.Call, x *layout.Index, row *driver.Row, only []driver.Key) error {
	next, err := c.RecordOf(row)
	if err != nil {
		return err
	}
	b := change.NewBuilder(c.Store)
	defer b.Release()
	ch := change.Change{Key: row.Key, Next: next}
	b.Ops = append(b.Ops, driver.Op{Do: driver.Check, Table: c.Records, Row: driver.Row{Key: row.Key}, If: driver.AtRev, Rev: row.Rev})
	if err := b.AddRows(c.Layout, x, &ch); err != nil {
		return failure.OfKey(row.Key, err)
	}
	if only != nil {
		b.Ops = slices.DeleteFunc(b.Ops, func(op driver.Op) bool {
			return op.Table == x.Table && !slices.Contains(only, op.Row.Key)
		})
	}
	token := driver.NewToken()
	if x.All {
		token = next.Version // the row stands for the record, its version included
	}
	refusal, err := c.Store.Commit(ctx, k, token, b.Ops)
	switch {
	case err != nil || refusal == nil:
		return err
	case refusal.Op == 0:
		return failure.OfKey(row.Key, errMoved)
	}
	return failure.OfKey(row.Key, c.twoOwners(x, row.Key, next, &refusal.Row))
}

// twoOwners returns the error for a value of a unique index that two records have.
func (c *Keeper) twoOwners(x *layout.Index, key driver.Key, rec *record.Record, claim *driver.Row) error {
	what, other := "a value", "another record"
	if !c.Store.Opts.Redact {
		what = c.Describe(x, rec.Vals)
	}
	if owner, err := c.RecordKey(x, claim); err == nil {
		other = c.PrintText(owner)
	}
	return fmt.Errorf("index %s is unique, and %s and %s both have %s; remove the index with repo.DropIndex, change one of them, and build it again: %w",
		x.ID, c.PrintText(key), other, what, driver.ErrExists)
}
