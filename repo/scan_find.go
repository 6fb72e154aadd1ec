package repo

import (
	"cmp"
	"context"
	"reflect"

	"github.com/polystore/polystore/repo/driver"
)

// A position is where in a run of rows a record was found: the row's Sort.
type position string

// find calls yield for each record found until it returns false.
func (v view[T]) find(ctx context.Context, k *call, q queryDef, yield func(*T, position) bool) error {
	if ctx == nil {
		return errNoContext
	}
	p, err := v.c.planner().plan(q, v.by)
	if err != nil {
		return err
	}
	return v.findBy(ctx, k, &p, yield)
}

// findBy runs a plan. What it yields is right; whether that is all, its error says.
func (v view[T]) findBy(ctx context.Context, k *call, p *plan, yield func(*T, position) bool) (err error) {
	if p.empty() {
		return ctx.Err()
	}
	switch {
	case p.covered:
		err = v.findCovered(ctx, k, p, yield)
	default:
		v.mask = maskWith(v.c.layoutC, v.mask, &p.bound)
		if p.x.Unique && p.equal == len(p.x.part)+len(p.x.sort) {
			err = v.findOwner(ctx, k, p, yield)
		} else {
			err = v.findByKey(ctx, k, p, yield)
		}
	}
	return cmp.Or(err, v.c.answers(ctx, p))
}

// findCovered yields what the rows themselves say.
func (v view[T]) findCovered(ctx context.Context, k *call, p *plan, yield func(*T, position) bool) error {
	b := newReadBuffer(0)
	defer b.release()
	var out T
	into := reflect.ValueOf(&out).Elem()
	n := 0
	for row, err := range v.c.rows(ctx, k, p, p.limit) {
		if err != nil {
			return err
		}
		rec, err := v.c.recordOfRow(b, p, row)
		if err == nil {
			err = v.shape.decode(&rec, into)
		}
		if err != nil {
			return err
		}
		at := position(row.Key.Sort)
		if p.x != nil && p.x.native {
			if at, err = v.c.placeIn(p, &row.Key, rec.vals); err != nil {
				return err
			}
		}
		if n++; !yield(&out, at) || n == p.limit {
			return nil
		}
	}
	return nil
}

// recordOfRow returns the record that a row that covers it says.
func (c *reader) recordOfRow(b *readBuffer, p *plan, row *driver.Row) (record, error) {
	vals := b.vals[:0]
	key := row.Key
	var err error
	if p.x != nil && !p.x.native {
		if key, err = c.recordKey(p.x, row); err != nil {
			return record{}, err
		}
	}
	if vals, err = c.partsOf(vals, key); err != nil {
		return record{}, err
	}
	if p.straight {
		vals = append(vals, row.Fields...)
	}
	for len(vals) < len(c.cols) {
		vals = append(vals, driver.Value{})
	}
	for i := 0; i < len(row.Fields) && !p.straight; i++ {
		if at := p.place[i]; at >= 0 {
			vals[at] = row.Fields[i]
		}
	}
	if p.keyed {
		if vals, err = c.keyValues(vals, p.x, row); err != nil {
			return record{}, err
		}
	}
	b.vals = vals
	return record{vals: vals, extra: row.Extra, expires: row.Expires, version: versionOf(row)}, nil
}

// keyValues takes fields of the record from the key columns of an index row.
func (c *reader) keyValues(vals []driver.Value, x *index, row *driver.Row) ([]driver.Value, error) {
	n := len(vals)
	vals, _, err := driver.ParseParts(vals, row.Key.Partition, x.table.Partition[:len(x.part)])
	if err != nil {
		return vals, err
	}
	if vals, _, err = driver.ParseParts(vals, row.Key.Sort, x.table.Sort[:len(x.sort)]); err != nil {
		return vals, err
	}
	for i, src := range x.part {
		if !src.elem {
			vals[src.at] = vals[n+i]
		}
	}
	for i, src := range x.sort {
		if !src.elem {
			vals[src.at] = vals[n+len(x.part)+i]
		}
	}
	return vals[:n], nil
}

// findByKey yields the records that the rows of an index name.
func (v view[T]) findByKey(ctx context.Context, k *call, p *plan, yield func(*T, position) bool) error {
	var out T
	into := reflect.ValueOf(&out).Elem()
	return v.c.matching(ctx, k, p, v.mask, func(rec *record, at position) (bool, error) {
		if err := v.shape.decode(rec, into); err != nil {
			return false, err
		}
		return yield(&out, at), nil
	})
}
