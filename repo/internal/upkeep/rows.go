package upkeep

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/change"
	"github.com/polystore/polystore/repo/internal/failure"
	"github.com/polystore/polystore/repo/internal/layout"
	"github.com/polystore/polystore/repo/internal/limit"
	"github.com/polystore/polystore/repo/internal/record"
	"github.com/polystore/polystore/repo/internal/scan"
	"github.com/polystore/polystore/repo/internal/store"
)

// fillFrom calls write for each live record. Those that have expired need no rows: see fillRow.
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
	token, err := c.restOn(b, x, row, next)
	if err != nil {
		return failure.OfKey(row.Key, err)
	}
	if err := b.AddRows(c.Layout, x, &ch); err != nil {
		return failure.OfKey(row.Key, err)
	}
	if only != nil && (x.Unique || token == next.Version || !x.All) { // else the other rows get the new version, too
		b.Ops = slices.DeleteFunc(b.Ops, func(op driver.Op) bool {
			return op.Table == x.Table && !slices.Contains(only, op.Row.Key)
		})
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

// restOn makes a commit that adds rows of x for one record depend on the record as it was read, and returns its token. A
// row that stands for the record has the record's version. A store that remembers its commits would take another one by
// that token as done: there the record gets a new version.
func (c *Keeper) restOn(b *change.Builder, x *layout.Index, row *driver.Row, rec *record.Record) (driver.Token, error) {
	switch {
	case x.All && c.Records.Ring > 0:
		b.Ops = append(b.Ops, c.touch(x, row))
		return driver.NewToken(), c.addWhole(b, x, row, rec)
	case x.All:
		b.Ops = append(b.Ops, checkOf(c.Records, row))
		return rec.Version, nil
	}
	b.Ops = append(b.Ops, checkOf(c.Records, row))
	return driver.NewToken(), nil
}

// checkOf returns the op that refuses a commit if a record is not as it was read.
func checkOf(t *driver.Table, row *driver.Row) driver.Op {
	return driver.Op{Do: driver.Check, Table: t, Row: driver.Row{Key: row.Key}, If: driver.AtRev, Rev: row.Rev}
}

// twoOwners returns the error for a value of a unique index that two records have.
func (c *Keeper) twoOwners(x *layout.Index, key driver.Key, rec *record.Record, claim *driver.Row) error {
	other := "another record"
	if owner, err := c.RecordKey(x, claim); err == nil {
		other = c.PrintText(owner)
	}
	return driver.Errorf("index %s is unique, and %s and %s both have %s; change one of them, and build it again: %w",
		x.ID, driver.Private(c.PrintText(key)), driver.Private(other), driver.Private(c.Describe(x, rec.Vals)), driver.ErrExists)
}
