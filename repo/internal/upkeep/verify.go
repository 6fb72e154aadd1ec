package upkeep

import (
	"context"
	"fmt"
	"slices"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/commit/remote"
	"github.com/polystore/polystore/repo/internal/layout"
	"github.com/polystore/polystore/repo/internal/limit"
	"github.com/polystore/polystore/repo/internal/scan"
	"github.com/polystore/polystore/repo/internal/store"
)

// A report says how an index and its records agree: repo.Report.
type report struct {
	Index   string
	Records int
	Rows    int
	Missing int
	Stale   int
	Garbage int
	Samples []string
}

func (r *report) sample(format string, args ...any) {
	if len(r.Samples) < 10 {
		r.Samples = append(r.Samples, fmt.Sprintf(format, args...))
	}
}

// Verify compares an index with the records.
func (c *Keeper) Verify(ctx context.Context, k *store.Call, f *scan.Faults, x *layout.Index) (report, error) {
	rep := report{Index: x.ID}
	k.Tick(c.Store)
	if x.Native {
		err := c.verifyNative(ctx, k, f, x, &rep)
		return rep, err
	}
	err := c.EachChunk(ctx, k, f, c.Records, func(records []driver.Row) error {
		whole, err := c.complete(ctx, k, x, records)
		for i := 0; i < len(records) && err == nil; i++ {
			if row := &records[i]; c.IsLive(k, row) {
				if rep.Records++; !whole[i] {
					err = f.Take(c.Layout, c.Records, row.Key, c.verifyRecord(ctx, k, x, row, &rep))
				}
			}
		}
		return err
	})
	if err != nil {
		return rep, err
	}
	err = c.EachChunk(ctx, k, f, x.Table, func(rows []driver.Row) error {
		good, err := c.upheld(ctx, k, x, rows)
		for i := 0; i < len(rows) && err == nil; i++ {
			if rep.Rows++; !good[i] {
				err = f.Take(c.Layout, x.Table, rows[i].Key, c.verifyRow(ctx, k, x, &rows[i], &rep))
			}
		}
		return err
	})
	return rep, err
}

// verifyRecord counts the rows that a record should have in x and has not.
func (c *Keeper) verifyRecord(ctx context.Context, k *store.Call, x *layout.Index, row *driver.Row, rep *report) error {
	for attempt := 0; ; attempt++ {
		missing, err := c.missingRows(ctx, k, x, row)
		if err != nil || len(missing) == 0 {
			return err
		}
		var now [1]driver.Row
		if err := c.Store.Get(ctx, k, c.Records, []driver.Key{row.Key}, nil, now[:]); err != nil {
			return err
		}
		now[0].Key = row.Key
		if !c.IsLive(k, &now[0]) {
			return nil
		}
		if now[0].Rev == row.Rev || attempt >= limit.MaxAttempts {
			rep.Missing += len(missing)
			rep.sample("record %s lacks a row", c.PrintText(row.Key))
			return nil
		}
		row = &now[0]
	}
}

// verifyRow counts a row of x that its record does not have, or that carries
// other values.
func (c *Keeper) verifyRow(ctx context.Context, k *store.Call, x *layout.Index, row *driver.Row, rep *report) error {
	for attempt := 0; ; attempt++ {
		if x.Remote {
			j, err := c.Judge(ctx, k, x, row)
			if err == nil && j.Standing != remote.Live {
				rep.Garbage++
			}
			return err
		}
		good, err := c.rowHolds(ctx, k, x, row)
		if good || err != nil {
			return err
		}
		var now [1]driver.Row
		if err := c.Store.Get(ctx, k, x.Table, []driver.Key{row.Key}, nil, now[:]); err != nil || now[0].Rev.IsZero() {
			return err
		}
		now[0].Key = row.Key
		if now[0].Rev == row.Rev || attempt >= limit.MaxAttempts {
			rep.Stale++
			rep.sample("row %s belongs to no record, or has other values than its record", c.Quote(row.Key))
			return nil
		}
		row = &now[0]
	}
}

// rowHolds reports whether the record that a row names has that row.
func (c *Keeper) rowHolds(ctx context.Context, k *store.Call, x *layout.Index, row *driver.Row) (bool, error) {
	owner, err := c.RecordKey(x, row)
	if err != nil {
		return false, nil
	}
	var rows [1]driver.Row
	if err := c.Store.Get(ctx, k, c.Records, []driver.Key{owner}, nil, rows[:]); err != nil {
		return false, err
	}
	rows[0].Key = owner
	return c.hasRow(x, row, &rows[0])
}

// hasRow reports whether a record has a row of x, which is not remote. One that stands for the record may have a version of
// before: a fence gives the record another one, and leaves the rows.
func (c *Keeper) hasRow(x *layout.Index, row, record *driver.Row) (bool, error) {
	if record.Rev.IsZero() || record.Dead {
		return false, nil
	}
	rec, err := c.RecordOf(record)
	if err != nil {
		return false, err
	}
	b := layout.NewEntryMaker()
	defer b.Release()
	keys, err := b.StoredEntries(nil, c.Layout, x, &record.Key, rec.Vals)
	if err != nil {
		return false, err
	}
	return slices.Contains(keys, row.Key) && x.Carries(row, rec), nil
}
