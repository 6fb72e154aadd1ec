package upkeep

import (
	"context"
	"errors"
	"slices"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/layout"
	"github.com/polystore/polystore/repo/internal/limit"
	"github.com/polystore/polystore/repo/internal/scan"
	"github.com/polystore/polystore/repo/internal/store"
)

// A write that depends on nothing which it read, as the insert of a new key, may be sent by a view in which an index is
// not written yet, and come when the index was filled. Its token was made before its program looked at that view, so
// before the filling began. Every record that the filler came to has a younger Rev, and so has all that was written
// since. So a record with an older Rev came late. For clocks that differ the younger ones of a minute are looked at, too.

// mendLate adds the rows of indexes that some records lack which came late.
func (u *upkeep) mendLate(ctx context.Context, rows []driver.Row) error {
	for _, x := range u.Indexes {
		if x.Since == 0 || x.Native || x.Stage != layout.Ready {
			continue
		}
		var keys []driver.Key
		for i := range rows {
			if row := &rows[i]; !row.Dead && row.Rev.Millis() < x.Since+limit.ClockMargin.Milliseconds() {
				keys = append(keys, row.Key)
			}
		}
		if err := u.mendAll(ctx, x, keys); err != nil {
			return err
		}
	}
	return nil
}

// mendAll adds the rows of x that the records of some keys lack.
func (u *upkeep) mendAll(ctx context.Context, x *layout.Index, keys []driver.Key) error {
	if len(keys) == 0 {
		return nil
	}
	u.call.Tick(u.Store)
	records, err := u.readAll(ctx, u.call, u.Records, keys, nil) // a sweep has read them without their fields
	if err != nil {
		return unlessOfRow(err) // whoever reads them is told
	}
	for i := range records {
		records[i].Key = keys[i]
	}
	whole, err := u.complete(ctx, u.call, x, records)
	if err != nil {
		return err
	}
	at := 0
	records = slices.DeleteFunc(records, func(row driver.Row) bool { at++; return whole[at-1] || !u.IsLive(u.call, &row) })
	if len(records) == 0 {
		return nil
	}
	if err := u.MayWrite(ctx); err != nil {
		return err
	}
	mended, errs := make([]bool, len(records)), make([]error, len(records))
	err = u.atOnce(ctx, len(records), func(ctx context.Context, k *store.Call, i int) error {
		mended[i], errs[i] = u.mendOne(ctx, k, x, &records[i])
		return unlessOfRow(errs[i])
	})
	for i := range records {
		if mended[i] {
			u.done.Mended++
		} else if scan.IsOfRow(errs[i]) {
			u.faults.Of(u.Layout, u.Records, records[i].Key, errs[i])
		}
	}
	return err
}

// mendOne adds the rows of x that a record lacks, and reports whether it did. Who changes the record meanwhile adds them.
func (c *Keeper) mendOne(ctx context.Context, k *store.Call, x *layout.Index, row *driver.Row) (bool, error) {
	missing, err := c.missingRows(ctx, k, x, row)
	if err != nil || len(missing) == 0 {
		return false, err
	}
	err = c.mend(ctx, k, x, row, missing)
	if errors.Is(err, errMoved) {
		return false, nil
	}
	return err == nil, err
}
