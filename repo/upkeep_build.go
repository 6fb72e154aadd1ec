package repo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/polystore/polystore/repo/driver"
)

// build makes indexes of records that are there. Those that the store keeps it fills by
// itself, whoever writes, and several programs may ask it to at once.
func (c *keeper) build(ctx context.Context, k *call, cat *driver.Table, e *catalogEntry, build []*index) (bool, error) {
	if err := c.mayBuild(build); err != nil {
		return false, err
	}
	if slices.ContainsFunc(build, func(x *index) bool { return !x.native }) || c.store.facts.OneProcess {
		return c.buildAlone(ctx, k, cat, e, build)
	}
	replaces := e.replaces(build)
	if !e.awaits(build) {
		e.grow(c.layoutC)
		for _, x := range build {
			e.setIndex(indexEntry(x, indexBuilding))
		}
		if replaces {
			e.Epoch = newEpoch()
		}
		if ok, err := writeCatalog(ctx, c.store, k, cat, e); !ok {
			return false, err
		}
		if replaces {
			c.shared.lose()
		}
	}
	if err := outlastLease(ctx, c.store, time.Now()); err != nil { // see stray.go
		return false, err
	}
	for _, x := range build {
		if err := c.keepNative(ctx, x, replaces); err != nil {
			return false, fmt.Errorf("build index %s: %w", x.name, err)
		}
		e.setIndex(indexEntry(x, indexReady))
	}
	if ok, err := writeCatalog(ctx, c.store, k, cat, e); !ok {
		return false, err // another program ended it, or began another one
	}
	c.adopt(e)
	return true, nil
}

// keepNative lets the store keep an index. Where it keeps another one of the name, that goes
// when all programs know. One that is there as declared stays: another program may have made
// it, and read with it since.
func (c *keeper) keepNative(ctx context.Context, x *index, told bool) error {
	tables := []*driver.Table{x.table}
	err := c.store.driver.Define(ctx, tables)
	if errors.Is(err, driver.ErrSchema) && !told {
		if err := outlastLease(ctx, c.store, time.Now()); err != nil {
			return err
		}
		err = c.store.driver.Define(ctx, tables) // the program that is at it may have dropped the other one
	}
	if !errors.Is(err, driver.ErrSchema) {
		return err
	}
	if err := c.store.driver.Drop(ctx, tables); err != nil {
		return err
	}
	return c.store.driver.Define(ctx, tables)
}

// buildAlone fills indexes from the records: the caller holds the gate, and no
// other process writes. The catalog says "building" until the rows are complete,
// so that what a crash leaves is refused at the next Open.
func (c *keeper) buildAlone(ctx context.Context, k *call, cat *driver.Table, e *catalogEntry, build []*index) (bool, error) {
	e.Epoch = newEpoch()
	e.grow(c.layoutC)
	before := slices.Clone(e.Indexes)
	if e.replaces(build) {
		c.shared.drops.Add(1)
	}
	for _, x := range build {
		e.setIndex(indexEntry(x, indexBuilding))
	}
	if ok, err := writeCatalog(ctx, c.store, k, cat, e); !ok {
		return false, err
	}
	c.shared.epoch = "" // whatever happens now, nobody writes without the indexes
	for _, x := range build {
		err := c.dropBefore(ctx, before, x)
		if err == nil {
			err = c.fill(ctx, k, x)
		}
		if err != nil {
			return false, fmt.Errorf("build index %s: %w", x.name, err)
		}
		e.setIndex(indexEntry(x, indexReady))
	}
	if ok, err := writeCatalog(ctx, c.store, k, cat, e); !ok {
		return false, err
	}
	c.adopt(e)
	return true, nil
}

// mayBuild says why indexes cannot be made of a collection that there is already.
func (c *keeper) mayBuild(build []*index) error {
	for _, x := range build {
		switch {
		case x.loose:
			return fmt.Errorf("index %s lies in another partition than its records, and such an index is made with its collection; copy the records to a collection with another name: %w", x.name, driver.ErrUnsupported)
		case !x.native && !c.store.facts.OneProcess:
			return fmt.Errorf("index %s must be built, and other processes may write to %s meanwhile; copy the records to a collection with another name: %w", x.name, c.store.facts.Name, driver.ErrUnsupported)
		}
	}
	return nil
}

// dropBefore removes what an index was that the store kept, if now it is a table, or the
// reverse: of another kind it would not be found by its name.
func (c *keeper) dropBefore(ctx context.Context, before []catalogIndex, x *index) error {
	for _, old := range before {
		if t := old.tableIn(c.name); old.Name == x.name && t.Native != x.native {
			return c.store.driver.Drop(ctx, []*driver.Table{t})
		}
	}
	return nil
}

// fill makes the table of an index anew.
func (c *keeper) fill(ctx context.Context, k *call, x *index) error {
	tables := []*driver.Table{x.table}
	if err := c.store.driver.Drop(ctx, tables); err != nil {
		return err
	}
	if err := c.store.driver.Define(ctx, tables); err != nil {
		return err
	}
	if x.native {
		return nil // complete, or Define had failed
	}
	var f faults
	err := c.fillFrom(ctx, k, &f, x, func(ctx context.Context, k *call, x *index, row *driver.Row) error {
		return c.writeRows(ctx, k, x, row, nil)
	})
	return f.with(err)
}

// fillFrom calls write for each live record. Those that have expired need no rows:
// Maintain removes them, and misses none.
func (c *keeper) fillFrom(ctx context.Context, k *call, f *faults, x *index, write func(context.Context, *call, *index, *driver.Row) error) error {
	k.tick(c.store)
	return c.each(ctx, k, f, c.records, func(row *driver.Row) error {
		for attempt := 0; c.isLive(k, row); attempt++ {
			err := write(ctx, k, x, row)
			if !errors.Is(err, errMoved) || attempt == maxAttempts {
				return err
			}
			var now [1]driver.Row
			if err := cmp.Or(pause(ctx, attempt), c.store.get(ctx, k, c.records, []driver.Key{row.Key}, nil, now[:])); err != nil {
				return ofKey(row.Key, err)
			}
			now[0].Key = row.Key
			row = &now[0]
		}
		return nil
	})
}

// errMoved is the error of rows that were not written because another program changed the
// record.
var errMoved = contention("other programs change the record each time while its index is built; let them rest")

// writeRows writes the rows of x for one record, or only those with some keys.
func (c *keeper) writeRows(ctx context.Context, k *call, x *index, row *driver.Row, only []driver.Key) error {
	next, err := c.recordOf(row)
	if err != nil {
		return err
	}
	b := newBuilder(c.store)
	defer b.release()
	ch := change{key: row.Key, next: next}
	b.ops = append(b.ops, driver.Op{Do: driver.Check, Table: c.records, Row: driver.Row{Key: row.Key}, If: driver.AtRev, Rev: row.Rev})
	if err := b.addRows(c.layoutC, x, &ch); err != nil {
		return ofKey(row.Key, err)
	}
	if only != nil {
		b.ops = slices.DeleteFunc(b.ops, func(op driver.Op) bool {
			return op.Table == x.table && !slices.Contains(only, op.Row.Key)
		})
	}
	token := driver.NewToken()
	if x.all {
		token = next.version // the row stands for the record, its version included
	}
	refusal, err := c.store.commit(ctx, k, token, b.ops)
	switch {
	case err != nil || refusal == nil:
		return err
	case refusal.Op == 0:
		return ofKey(row.Key, errMoved)
	}
	return ofKey(row.Key, c.twoOwners(x, row.Key, next, &refusal.Row))
}

// twoOwners returns the error for a value of a unique index that two records have.
func (c *keeper) twoOwners(x *index, key driver.Key, rec *record, claim *driver.Row) error {
	what, other := "a value", "another record"
	if !c.store.opts.Redact {
		what = c.describe(x, rec.vals)
	}
	if owner, err := c.recordKey(x, claim); err == nil {
		other = c.printText(owner)
	}
	return fmt.Errorf("index %s is unique, and %s and %s both have %s; remove the index with repo.DropIndex, change one of them, and build it again: %w",
		x.name, c.printText(key), other, what, driver.ErrExists)
}
