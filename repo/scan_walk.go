package repo

import (
	"cmp"
	"context"
	"fmt"
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
func (c *collection) scanRows(ctx context.Context, k *call, b *bound, each func(scanned) (bool, error)) error {
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
			rec.vals = b.addUndeclared(rec.vals, rec.extra)
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
func (b *bound) addUndeclared(vals []driver.Value, extra []driver.Pair) []driver.Value {
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
func (c *collection) settleChunk(ctx context.Context, k *call, f *faults, rows []driver.Row) error {
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
		if e := f.take(c, c.records, keys[j], one); e != nil {
			return e
		}
		if one != nil || !c.isLive(k, &again[j]) {
			again[j] = driver.Row{}
		}
		rows[i], rows[i].Key = again[j], keys[j]
	}
	return nil
}
