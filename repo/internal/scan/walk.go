package scan

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/failure"
	"github.com/polystore/polystore/repo/internal/layout"
	"github.com/polystore/polystore/repo/internal/limit"
	"github.com/polystore/polystore/repo/internal/plan"
	"github.com/polystore/polystore/repo/internal/record"
	"github.com/polystore/polystore/repo/internal/store"
)

// A scanned record waits to be sorted.
type scanned struct {
	record.Record
	key driver.Key
}

// scanRows calls each for every live record that meets the conditions and has the
// fields of the order, until it returns false.
func (c *Reader) scanRows(ctx context.Context, k *store.Call, b *plan.Bound, each func(scanned) (bool, error)) error {
	for chunk, err := range c.Store.Driver.Walk(k.Walks(ctx), c.Records, "") {
		if err != nil {
			return err
		}
		k.Got(len(chunk.Rows))
		var f Faults
		if err := f.With(c.settleChunk(ctx, k, &f, chunk.Rows)); err != nil {
			return err
		}
		for i := range chunk.Rows {
			row := &chunk.Rows[i]
			if !c.IsLive(k, row) {
				continue
			}
			rec, err := c.RecordOf(row)
			if err != nil {
				return failure.OfKey(row.Key, err)
			}
			rec.Vals = addUndeclared(b, rec.Vals, rec.Extra)
			if !hasOrder(b.Order, rec.Vals) || !b.Matches(rec.Vals) {
				continue
			}
			if more, err := each(scanned{*rec, row.Key}); err != nil || !more {
				return err
			}
		}
	}
	return c.Holds(ctx, nil)
}

// addUndeclared appends the values of the undeclared fields that a query names.
func addUndeclared(b *plan.Bound, vals []driver.Value, extra []driver.Pair) []driver.Value {
	for _, name := range b.Undeclared {
		var v driver.Value
		if i := slices.IndexFunc(extra, func(p driver.Pair) bool { return p.Name == name }); i >= 0 {
			v = extra[i].Value
		}
		vals = append(vals, v)
	}
	return vals
}

// hasOrder reports whether a record has a place by some sources: a value that has an order, at each of them.
func hasOrder(order []layout.Source, vals []driver.Value) bool {
	for i := range order {
		switch v := order[i].Of(vals); v.Kind() {
		case driver.None, driver.List, driver.Map:
			return false
		}
	}
	return true
}

// trimScan keeps the best records of a limited scan, now and then.
func trimScan(b *plan.Bound, found *[]scanned) error {
	switch {
	case b.Limit > 0 && b.Limit <= limit.MaxSorted:
		if len(*found) >= max(2*b.Limit, 1024) {
			sortScan(b, *found)
			*found = slices.Clip((*found)[:b.Limit])
		}
	case len(*found) > limit.MaxSorted:
		return fmt.Errorf("a scan in order holds at most %d records in memory; give it a Limit or a range: %w", limit.MaxSorted, driver.ErrTooLarge)
	}
	return nil
}

func sortScan(b *plan.Bound, found []scanned) {
	slices.SortFunc(found, func(x, y scanned) int {
		for _, o := range b.Order {
			d := plan.Compare(o.Of(x.Vals), o.Of(y.Vals))
			if o.Desc {
				d = -d
			}
			if d != 0 {
				return d
			}
		}
		return cmp.Or(cmp.Compare(x.key.Partition, y.key.Partition), cmp.Compare(x.key.Sort, y.key.Sort))
	})
}

// settleChunk is settle for the records of a walk that began when k noted the time. Those
// that have expired are taken out of their rows, so that k judges the next chunk alike, and
// so are those that cannot be read any more, which become faults.
func (c *Reader) settleChunk(ctx context.Context, k *store.Call, f *Faults, rows []driver.Row) error {
	began := k.Now
	defer func() { k.Now = began }()
	list, _ := k.ExpiredMeanwhile(c.Store, rows)
	list = slices.DeleteFunc(list, func(i int) bool {
		_, err := c.PartsOf(nil, rows[i].Key)
		return err != nil // nobody can be asked for such a key
	})
	if len(list) == 0 {
		return nil
	}
	keys, again := make([]driver.Key, len(list)), make([]driver.Row, len(list))
	for j, i := range list {
		keys[j] = rows[i].Key
	}
	err := c.Store.Get(ctx, k, c.Records, keys, nil, again)
	for j, i := range list {
		one := err
		if IsOfRow(err) { // of which one is not known
			one = c.Store.Get(ctx, k, c.Records, keys[j:j+1], nil, again[j:j+1])
		}
		if e := f.Take(c.Layout, c.Records, keys[j], one); e != nil {
			return e
		}
		if one != nil || !c.IsLive(k, &again[j]) {
			again[j] = driver.Row{}
		}
		rows[i], rows[i].Key = again[j], keys[j]
	}
	return nil
}

// Walk calls add for all records, of which so many may be left in the chunk, and chunk after those of a chunk, with its
// mark and an error of those that cannot be read.
func (v *View) Walk(ctx context.Context, k *store.Call, mark string, add func(t any, left int), chunk func(mark string, err error) bool) error {
	b, t := NewReadBuffer(0), v.Scratch()
	defer b.Release()
	defer v.Release(t)
	return v.c.walk(ctx, k, mark, func(row *driver.Row, left int) error {
		ok, err := v.parse(k, b, row, row.Key, v.mask, t)
		if ok && err == nil {
			add(t, left)
		}
		return err
	}, chunk)
}

// WalkOld calls yield for each chunk of all records with the keys of those in an older format, and how many were looked at.
func (v *View) WalkOld(ctx context.Context, k *store.Call, mark string, yield func(keys [][]any, looked int, mark string, err error) bool) error {
	b := NewReadBuffer(0)
	defer b.Release()
	var keys [][]any
	looked := 0
	return v.c.walk(ctx, k, mark, func(row *driver.Row, _ int) (err error) {
		if !v.c.IsLive(k, row) {
			return nil
		}
		looked++
		if b.parts, err = v.c.PartsOf(b.parts[:0], row.Key); err != nil {
			return failure.OfKey(row.Key, err)
		}
		if rec := v.c.valuesOf(b, row, b.parts, nil); v.shape.IsOld(&rec) {
			keys = append(keys, layout.KeyFrom(b.parts))
		}
		return nil
	}, func(mark string, err error) bool {
		more := yield(keys, looked, mark, err)
		keys, looked = nil, 0
		return more
	})
}

// walk calls each with the rows of all records, and chunk after those of a chunk, with its mark and an error of those
// that cannot be read.
func (c *Reader) walk(ctx context.Context, k *store.Call, mark string, each func(row *driver.Row, left int) error, chunk func(mark string, err error) (more bool)) error {
	if ctx == nil {
		return failure.ErrNoContext
	}
	for got, err := range c.Store.Driver.Walk(k.Walks(ctx), c.Records, mark) {
		var f Faults
		if err := f.Unread(err); err != nil {
			return err
		}
		k.Got(len(got.Rows))
		if err := c.settleChunk(ctx, k, &f, got.Rows); err != nil {
			return err
		}
		for i := range got.Rows {
			if err := each(&got.Rows[i], len(got.Rows)-i); err != nil {
				f.Of(c.Layout, c.Records, got.Rows[i].Key, err)
			}
		}
		if !chunk(got.Mark, f.With(nil)) {
			break
		}
	}
	return c.Holds(ctx, nil)
}

// Scan calls yield for each record that a query finds among all.
func (v *View) Scan(ctx context.Context, k *store.Call, q plan.Query, yield func(t any) bool) error {
	if ctx == nil {
		return failure.ErrNoContext
	}
	b, err := plan.BindScan(v.c.Layout, q)
	if err != nil {
		return err
	}
	var found []scanned
	n := 0
	out := v.Scratch()
	defer v.Release(out)
	err = v.c.scanRows(ctx, k, &b, func(rec scanned) (bool, error) {
		if len(b.Order) > 0 {
			found = append(found, rec)
			return true, trimScan(&b, &found)
		}
		if err := v.into(out, &rec.Record); err != nil {
			return false, failure.OfKey(rec.key, err)
		}
		n++
		return yield(out) && n != b.Limit, nil
	})
	if err != nil {
		return err
	}
	sortScan(&b, found)
	for i := range found {
		if b.Limit > 0 && i == b.Limit {
			break
		}
		if err := v.into(out, &found[i].Record); err != nil {
			return failure.OfKey(found[i].key, err)
		}
		if !yield(out) {
			break
		}
	}
	return nil
}
