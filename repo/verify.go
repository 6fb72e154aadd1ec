package repo

import (
	"context"
	"fmt"
	"slices"

	"github.com/polystore/polystore/repo/driver"
)

// A Report says how an index and its records agree.
type Report struct {
	Index   string
	Records int      // live records that were read
	Rows    int      // rows and claims of the index that were read
	Missing int      // rows that a record should have and has not
	Stale   int      // rows that no record should have, or that carry other values than it
	Garbage int      // rows in another partition that no record has and no reader returns; Maintain removes them
	Samples []string // some of them, for people
}

// Clean reports whether nothing disagrees.
func (r Report) Clean() bool { return r.Missing == 0 && r.Stale == 0 }

func (r *Report) sample(format string, args ...any) {
	if len(r.Samples) < 10 {
		r.Samples = append(r.Samples, fmt.Sprintf(format, args...))
	}
}

// Verify compares every index of the collection with its records, in both
// directions, and returns a report for each. It reads everything. While others
// write it looks at a disagreement twice before it counts it. Rows that cannot be
// read it passes over: the reports are of the others, and the error names some of them.
func (r *Repo[T]) Verify(ctx context.Context) ([]Report, error) {
	k := r.begin("verify")
	var reports []Report
	if ctx == nil {
		return nil, r.end(&k, nil, errNoContext)
	}
	var f faults
	for _, x := range r.indexes {
		rep, err := r.verify(ctx, &k, &f, x)
		if err != nil {
			return reports, r.end(&k, nil, f.with(fmt.Errorf("index %s: %w", x.name, err)))
		}
		reports = append(reports, rep)
	}
	return reports, r.end(&k, nil, f.with(nil))
}

func (c *collection) verify(ctx context.Context, k *call, f *faults, x *index) (Report, error) {
	rep := Report{Index: x.name}
	k.tick(c.store)
	if x.native {
		err := c.verifyNative(ctx, k, f, x, &rep)
		return rep, err
	}
	err := c.eachChunk(ctx, k, f, c.records, func(records []driver.Row) error {
		whole, err := c.complete(ctx, k, x, records)
		for i := 0; i < len(records) && err == nil; i++ {
			if row := &records[i]; c.isLive(k, row) {
				if rep.Records++; !whole[i] {
					err = f.take(c, c.records, row.Key, c.verifyRecord(ctx, k, x, row, &rep))
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
				err = f.take(c, x.table, rows[i].Key, c.verifyRow(ctx, k, x, &rows[i], &rep))
			}
		}
		return err
	})
	return rep, err
}

// verifyRecord counts the rows that a record should have in x and has not.
func (c *collection) verifyRecord(ctx context.Context, k *call, x *index, row *driver.Row, rep *Report) error {
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
func (c *collection) verifyRow(ctx context.Context, k *call, x *index, row *driver.Row, rep *Report) error {
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
func (c *collection) rowHolds(ctx context.Context, k *call, x *index, row *driver.Row) (bool, error) {
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
func (c *collection) hasRow(x *index, row, record *driver.Row) (bool, error) {
	if record.Rev.IsZero() || record.Dead {
		return false, nil
	}
	rec, err := c.recordOf(record)
	if err != nil {
		return false, err
	}
	b := newBuilder()
	defer b.release()
	keys, err := b.storedEntries(nil, c, x, &record.Key, rec.vals)
	if err != nil {
		return false, err
	}
	return slices.Contains(keys, row.Key) && x.carries(row, rec), nil
}

// carries reports whether a row has the covered values of a record.
func (x *index) carries(row *driver.Row, rec *record) bool {
	fields := row.Fields
	if x.Unique {
		fields = fields[min(1, len(fields)):]
	}
	for i, at := range x.covers {
		var v driver.Value
		if i < len(fields) {
			v = fields[i]
		}
		if !v.Equal(rec.vals[at]) {
			return false
		}
	}
	return (row.Expires == rec.expires || x.table.Bare) && (!x.all || slices.EqualFunc(row.Extra, rec.extra, func(p, q driver.Pair) bool {
		return p.Name == q.Name && p.Value.Equal(q.Value)
	}))
}

// printText returns a key that a store returned for people.
func (c *collection) printText(key driver.Key) string {
	vals, err := c.partsOf(nil, key)
	if err != nil {
		return c.quote(key)
	}
	return c.printKey(vals)
}

// quote returns the text of a key for people.
func (c *collection) quote(key driver.Key) string {
	if c.store.opts.Redact {
		return "(redacted)"
	}
	return fmt.Sprintf("%q", key.Partition+key.Sort)
}

// Rebuild makes an index agree with the records again: it removes rows that no
// record should have and writes those that are missing. Readers see what was
// there and right all the time, writers of this process wait, and a Rebuild that
// is interrupted has done a part. Repositories that are open stay so. It needs a
// store that no other process writes to. A record that a program wrote which did not
// know of an index in other partitions is written again, and has another version then. Rows
// and records that cannot be read stay as they are and keep it from no other; the error, ErrCorrupt,
// names some of them. Where they are rows of the index, remove it with [DropIndex] and open with [WithRebuild].
func (r *Repo[T]) Rebuild(ctx context.Context, index string) error {
	k := r.begin("rebuild")
	return r.end(&k, nil, r.rebuild(ctx, &k, index))
}

func (c *collection) rebuild(ctx context.Context, k *call, name string) error {
	if ctx == nil {
		return errNoContext
	}
	i := slices.IndexFunc(c.indexes, func(x *index) bool { return x.name == name })
	if i < 0 {
		return fmt.Errorf("no index %s in the schema: %w", name, ErrNotFound)
	}
	if err := c.shared.gate.shut(ctx); err != nil {
		return err
	}
	defer c.shared.gate.open()
	if c.shared.epoch != c.epoch {
		return errSchemaChanged
	}
	k.within = true // an expired owner of a value is deleted on the way
	x := c.indexes[i]
	var f faults
	var err error
	switch {
	case x.native:
		return c.fill(ctx, k, x)
	case x.loose:
		err = (&upkeep{collection: c, call: k, faults: &f}).sweepLoose(ctx, x)
	default:
		err = c.each(ctx, k, &f, x.table, func(row *driver.Row) error { return c.sweep(ctx, k, x, row) })
	}
	if err == nil {
		err = c.fillFrom(ctx, k, &f, x, c.mendRow)
	}
	if err = f.with(err); err != nil {
		return fmt.Errorf("index %s: %w", name, err)
	}
	return nil
}

// sweep removes a row of x that no live record should have, unless the record that it names
// is changed meanwhile.
func (c *collection) sweep(ctx context.Context, k *call, x *index, row *driver.Row) error {
	op := driver.Op{Do: driver.Delete, Table: x.table, Row: driver.Row{Key: row.Key}}
	if x.Unique {
		op.If, op.Rev = driver.AtRev, row.Rev
	}
	ops := []driver.Op{op}
	if owner, err := c.recordKey(x, row); err == nil {
		var rows [1]driver.Row
		if err := c.store.get(ctx, k, c.records, []driver.Key{owner}, nil, rows[:]); err != nil {
			return err
		}
		rows[0].Key = owner
		good, err := c.hasRow(x, row, &rows[0])
		if err != nil || good && !k.isPast(row.Expires) {
			return err
		}
		check := driver.Op{Do: driver.Check, Table: c.records, Row: driver.Row{Key: owner}, If: driver.AtRev, Rev: rows[0].Rev}
		if rows[0].Rev.IsZero() {
			check.If = driver.Absent
		}
		ops = []driver.Op{check, op}
	}
	_, err := c.store.commit(ctx, k, driver.NewToken(), ops)
	return err
}

// mendRow writes the rows of x that a record lacks.
func (c *collection) mendRow(ctx context.Context, k *call, x *index, row *driver.Row) error {
	missing, err := c.missingRows(ctx, k, x, row)
	if err != nil || len(missing) == 0 {
		return err
	}
	if x.loose {
		return c.mendLoose(ctx, k, x, row, missing)
	}
	return c.writeRows(ctx, k, x, row, missing)
}
