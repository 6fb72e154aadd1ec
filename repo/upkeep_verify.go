package repo

import (
	"context"
	"fmt"
	"slices"

	"github.com/polystore/polystore/repo/driver"
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

// verify compares an index with the records.
func (c *keeper) verify(ctx context.Context, k *call, f *faults, x *index) (report, error) {
	rep := report{Index: x.name}
	k.tick(c.store)
	if x.native {
		return rep, c.verifyNative(ctx, k, f, x, &rep)
	}
	err := c.eachChunk(ctx, k, f, c.records, func(records []driver.Row) error {
		whole, err := c.complete(ctx, k, x, records)
		for i := 0; i < len(records) && err == nil; i++ {
			if row := &records[i]; c.isLive(k, row) {
				if rep.Records++; !whole[i] {
					err = f.take(c.layoutC, c.records, row.Key, c.verifyRecord(ctx, k, x, row, &rep))
				}
			}
		}
		return err
	})
	if err != nil {
		return rep, err
	}
	err = c.eachChunk(ctx, k, f, x.table, func(rows []driver.Row) error {
		good, err := c.upheld(ctx, k, x, rows)
		for i := 0; i < len(rows) && err == nil; i++ {
			if rep.Rows++; !good[i] {
				err = f.take(c.layoutC, x.table, rows[i].Key, c.verifyRow(ctx, k, x, &rows[i], &rep))
			}
		}
		return err
	})
	return rep, err
}

// verifyRecord counts the rows that a record should have in x and has not.
func (c *keeper) verifyRecord(ctx context.Context, k *call, x *index, row *driver.Row, rep *report) error {
	for attempt := 0; ; attempt++ {
		missing, err := c.missingRows(ctx, k, x, row)
		if err != nil || len(missing) == 0 {
			return err
		}
		var now [1]driver.Row
		if err := c.store.get(ctx, k, c.records, []driver.Key{row.Key}, nil, now[:]); err != nil {
			return err
		}
		now[0].Key = row.Key
		if !c.isLive(k, &now[0]) {
			return nil
		}
		if now[0].Rev == row.Rev || attempt >= maxAttempts {
			rep.Missing += len(missing)
			rep.sample("record %s lacks a row", c.printText(row.Key))
			return nil
		}
		row = &now[0]
	}
}

// verifyRow counts a row of x that its record does not have, or that carries
// other values.
func (c *keeper) verifyRow(ctx context.Context, k *call, x *index, row *driver.Row, rep *report) error {
	for attempt := 0; ; attempt++ {
		if x.loose {
			j, err := c.judge(ctx, k, x, row)
			if err == nil && j.standing != live {
				rep.Garbage++
			}
			return err
		}
		good, err := c.rowHolds(ctx, k, x, row)
		if good || err != nil {
			return err
		}
		var now [1]driver.Row
		if err := c.store.get(ctx, k, x.table, []driver.Key{row.Key}, nil, now[:]); err != nil || now[0].Rev.IsZero() {
			return err
		}
		now[0].Key = row.Key
		if now[0].Rev == row.Rev || attempt >= maxAttempts {
			rep.Stale++
			rep.sample("row %s belongs to no record, or has other values than its record", c.quote(row.Key))
			return nil
		}
		row = &now[0]
	}
}

// rowHolds reports whether the record that a row names has that row.
func (c *keeper) rowHolds(ctx context.Context, k *call, x *index, row *driver.Row) (bool, error) {
	owner, err := c.recordKey(x, row)
	if err != nil {
		return false, nil
	}
	var rows [1]driver.Row
	if err := c.store.get(ctx, k, c.records, []driver.Key{owner}, nil, rows[:]); err != nil {
		return false, err
	}
	rows[0].Key = owner
	return c.hasRow(x, row, &rows[0])
}

// hasRow reports whether a record has a row of x, which is not loose.
func (c *keeper) hasRow(x *index, row, record *driver.Row) (bool, error) {
	if record.Rev.IsZero() || record.Dead {
		return false, nil
	}
	rec, err := c.recordOf(record)
	if err != nil {
		return false, err
	}
	b := newEntryMaker()
	defer b.release()
	keys, err := b.storedEntries(nil, c.layoutC, x, &record.Key, rec.vals)
	if err != nil {
		return false, err
	}
	return slices.Contains(keys, row.Key) && x.carries(row, rec), nil
}
