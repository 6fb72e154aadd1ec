package repo

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"

	"github.com/polystore/polystore/repo/driver"
)

// A scanned record waits to be sorted.
type scanned struct {
	record
	key driver.Key
}

// scanRows calls each for every live record that meets the conditions and has the
// fields of the order, until it returns false.
func (c *reader) scanRows(ctx context.Context, k *call, b *bound, each func(scanned) (bool, error)) error {
	for chunk, err := range c.store.driver.Walk(k.walks(ctx), c.records, "") {
		if err != nil {
			return err
		}
		k.got(len(chunk.Rows))
		var f faults
		if err := f.with(c.settleChunk(ctx, k, &f, chunk.Rows)); err != nil {
			return err
		}
		for i := range chunk.Rows {
			row := &chunk.Rows[i]
			if !c.isLive(k, row) {
				continue
			}
			rec, err := c.recordOf(row)
			if err != nil {
				return ofKey(row.Key, err)
			}
			rec.vals = addUndeclared(b, rec.vals, rec.extra)
			if missing(b.order, rec.vals) || !b.matches(rec.vals) {
				continue
			}
			if more, err := each(scanned{*rec, row.Key}); err != nil || !more {
				return err
			}
		}
	}
	return c.holds(ctx)
}

// addUndeclared appends the values of the undeclared fields that a query names. One without
// an order is absent where the query sorts by it.
func addUndeclared(b *bound, vals []driver.Value, extra []driver.Pair) []driver.Value {
	for _, name := range b.undeclared {
		var v driver.Value
		if i := slices.IndexFunc(extra, func(p driver.Pair) bool { return p.Name == name }); i >= 0 {
			v = extra[i].Value
		}
		at := len(vals)
		if (v.Kind() == driver.List || v.Kind() == driver.Map) && slices.ContainsFunc(b.order, func(o source) bool { return o.at == at }) {
			v = driver.Value{}
		}
		vals = append(vals, v)
	}
	return vals
}

// trimScan keeps the best records of a limited scan, now and then.
func trimScan(b *bound, found *[]scanned) error {
	switch {
	case b.limit > 0 && b.limit <= maxSorted:
		if len(*found) >= max(2*b.limit, 1024) {
			sortScan(b, *found)
			*found = slices.Clip((*found)[:b.limit])
		}
	case len(*found) > maxSorted:
		return fmt.Errorf("a scan in order holds at most %d records in memory; give it a Limit or a range: %w", maxSorted, driver.ErrTooLarge)
	}
	return nil
}

func sortScan(b *bound, found []scanned) {
	slices.SortFunc(found, func(x, y scanned) int {
		for _, o := range b.order {
			d := compare(x.vals[o.at], y.vals[o.at])
			if o.desc {
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
func (c *reader) settleChunk(ctx context.Context, k *call, f *faults, rows []driver.Row) error {
	began := k.now
	defer func() { k.now = began }()
	list, _ := k.expiredMeanwhile(c.store, rows)
	list = slices.DeleteFunc(list, func(i int) bool {
		_, err := c.partsOf(nil, rows[i].Key)
		return err != nil // nobody can be asked for such a key
	})
	if len(list) == 0 {
		return nil
	}
	keys, again := make([]driver.Key, len(list)), make([]driver.Row, len(list))
	for j, i := range list {
		keys[j] = rows[i].Key
	}
	err := c.store.get(ctx, k, c.records, keys, nil, again)
	for j, i := range list {
		one := err
		if isOfRow(err) { // of which one is not known
			one = c.store.get(ctx, k, c.records, keys[j:j+1], nil, again[j:j+1])
		}
		if e := f.take(c.layoutC, c.records, keys[j], one); e != nil {
			return e
		}
		if one != nil || !c.isLive(k, &again[j]) {
			again[j] = driver.Row{}
		}
		rows[i], rows[i].Key = again[j], keys[j]
	}
	return nil
}

// walk calls yield for each chunk of all records, with its mark, and with an error of those of it that
// cannot be read.
func (v view[T]) walk(ctx context.Context, k *call, mark string, yield func(items []T, mark string, err error) bool) error {
	if ctx == nil {
		return errNoContext
	}
	c, b := v.c, newReadBuffer(0)
	defer b.release()
	for chunk, err := range c.store.driver.Walk(k.walks(ctx), c.records, mark) {
		var f faults
		if err := f.unread(err); err != nil {
			return err
		}
		k.got(len(chunk.Rows))
		if err := c.settleChunk(ctx, k, &f, chunk.Rows); err != nil {
			return err
		}
		items := make([]T, 0, len(chunk.Rows))
		for i := range chunk.Rows {
			var rec T
			ok, err := v.parse(k, b, &chunk.Rows[i], chunk.Rows[i].Key, &rec)
			if err != nil {
				f.of(c.layoutC, c.records, chunk.Rows[i].Key, err)
			} else if ok {
				items = append(items, rec)
			}
		}
		if !yield(items, chunk.Mark, f.with(nil)) {
			break
		}
	}
	return c.holds(ctx)
}

// scan calls yield for each record that a query finds among all.
func (v view[T]) scan(ctx context.Context, k *call, q queryDef, yield func(*T) bool) error {
	if ctx == nil {
		return errNoContext
	}
	b, err := bindScan(v.c.layoutC, q)
	if err != nil {
		return err
	}
	var found []scanned
	n := 0
	var out T
	err = v.c.scanRows(ctx, k, &b, func(rec scanned) (bool, error) {
		if len(b.order) > 0 {
			found = append(found, rec)
			return true, trimScan(&b, &found)
		}
		if err := v.shape.decode(&rec.record, reflect.ValueOf(&out).Elem()); err != nil {
			return false, ofKey(rec.key, err)
		}
		n++
		return yield(&out) && n != b.limit, nil
	})
	if err != nil {
		return err
	}
	sortScan(&b, found)
	for i := range found {
		if b.limit > 0 && i == b.limit {
			break
		}
		if err := v.shape.decode(&found[i].record, reflect.ValueOf(&out).Elem()); err != nil {
			return ofKey(found[i].key, err)
		}
		if !yield(&out) {
			break
		}
	}
	return nil
}
