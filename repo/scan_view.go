package repo

import (
	"context"
	"reflect"
	"sync"

	"github.com/polystore/polystore/repo/driver"
)

// A view is how records are read: as which type, and with which fields.
type view[T any] struct {
	c     *reader
	shape *shape
	mask  []int    // ordinals of the fields to read from a record; nil is all
	by    []access // how to read the records, then each index

	scratch *sync.Pool // of *T
}

// newView returns how records are read as a shape; mask is that of the fields of a record, nil for all.
func newView[T any](c *reader, sh *shape, mask []int) view[T] {
	return view[T]{c: c, shape: sh, mask: mask, by: accesses(c.layoutC, sh), scratch: newScratch[T]()}
}

// newScratch returns a pool of zero records. A record that is decoded has to be on
// the heap, and on its way to the caller it need not be a new one.
func newScratch[T any]() *sync.Pool { return &sync.Pool{New: func() any { return new(T) }} }

// get returns the record under a key, or ErrNotFound.
func (v view[T]) get(ctx context.Context, k *call, key []any) (T, error) {
	var out, zero T
	b := newReadBuffer(1)
	defer b.release()
	err := b.oneKey(v.c, key)
	if err == nil {
		err = v.c.store.get(ctx, k, v.c.records, b.keys, v.mask, b.rows)
	}
	if err == nil {
		err = v.c.holds(ctx)
	}
	if err == nil {
		var ok bool
		scratch := v.scratch.Get().(*T)
		if ok, err = v.decode(k, b, &b.rows[0], b.parts, scratch); err == nil && !ok {
			err = driver.ErrNotFound
		}
		out, *scratch = *scratch, zero
		v.scratch.Put(scratch)
	}
	return out, err
}

// exists reports whether there is a record under a key.
func (c *reader) exists(ctx context.Context, k *call, key []any) (bool, error) {
	b := newReadBuffer(1)
	defer b.release()
	err := b.oneKey(c, key)
	if err == nil {
		err = c.store.get(ctx, k, c.records, b.keys, []int{}, b.rows)
	}
	if err == nil {
		err = c.holds(ctx)
	}
	return err == nil && c.isLive(k, &b.rows[0]), err
}

// decode fills out from a row of the Records table whose key has the values parts;
// ok is false when it is no live record.
func (v view[T]) decode(k *call, b *readBuffer, row *driver.Row, parts []driver.Value, out *T) (ok bool, err error) {
	if !v.c.isLive(k, row) {
		return false, nil
	}
	rec := v.c.valuesOf(b, row, parts, v.mask)
	if err := v.shape.decode(&rec, reflect.ValueOf(out).Elem()); err != nil {
		return false, err
	}
	return true, nil
}

// parse is decode for a row whose key is there as a text only.
func (v view[T]) parse(k *call, b *readBuffer, row *driver.Row, key driver.Key, out *T) (ok bool, err error) {
	if b.parts, err = v.c.partsOf(b.parts[:0], key); err == nil {
		ok, err = v.decode(k, b, row, b.parts, out)
	}
	if err != nil {
		err = ofKey(key, err)
	}
	return ok, err
}

// valuesOf returns a row of the Records table as a record whose values belong to
// the buffer.
func (c *reader) valuesOf(b *readBuffer, row *driver.Row, parts []driver.Value, mask []int) record {
	vals := append(b.vals[:0], parts...)
	if mask == nil {
		vals = append(vals, row.Fields...)
	}
	for len(vals) < len(c.cols) {
		vals = append(vals, driver.Value{})
	}
	for i := 0; i < len(row.Fields) && mask != nil; i++ {
		vals[len(c.key)+mask[i]] = row.Fields[i]
	}
	b.vals = vals
	return record{vals: vals, extra: row.Extra, expires: row.Expires, version: versionOf(row)}
}

// readKeys reads the records under keys.
func (v view[T]) readKeys(ctx context.Context, k *call, keys []driver.Key) ([]T, []bool, error) {
	out, found := make([]T, len(keys)), make([]bool, len(keys))
	if len(keys) == 0 {
		return out, found, nil
	}
	b := newReadBuffer(len(keys))
	defer b.release()
	if err := v.c.store.get(ctx, k, v.c.records, keys, v.mask, b.rows); err != nil {
		return nil, nil, err
	}
	if err := v.c.holds(ctx); err != nil {
		return nil, nil, err
	}
	for i := range keys {
		ok, err := v.parse(k, b, &b.rows[i], keys[i], &out[i])
		if err != nil {
			return nil, nil, err
		}
		found[i] = ok
	}
	return out, found, nil
}

// one returns the one record that a query finds: ErrNotFound if it finds none, ErrInvalid if it
// finds several.
func (v view[T]) one(ctx context.Context, k *call, q queryDef) (T, error) {
	var out, zero T
	n := 0
	q.limit = 2
	err := v.find(ctx, k, q, func(t *T, _ position) bool {
		if n++; n == 1 {
			out = *t
		}
		return true
	})
	switch {
	case err != nil:
		return zero, err
	case n == 0:
		return zero, driver.ErrNotFound
	case n > 1:
		return zero, invalid("%s finds more than one record; use Find, or declare the index Unique", q.text(v.c.redact))
	}
	return out, nil
}

// recordOf returns a stored row as a record.
func (c *reader) recordOf(row *driver.Row) (*record, error) {
	vals := make([]driver.Value, 0, len(c.cols))
	vals, err := c.partsOf(vals, row.Key)
	if err != nil {
		return nil, err
	}
	vals = append(vals, row.Fields...)
	for len(vals) < len(c.cols) {
		vals = append(vals, driver.Value{})
	}
	return &record{vals: vals, extra: row.Extra, expires: row.Expires, version: versionOf(row)}, nil
}

// isLive reports whether there is a record in a row that k has read.
func (c *reader) isLive(k *call, row *driver.Row) bool {
	return !row.Rev.IsZero() && !row.Dead && !k.isPast(row.Expires)
}

// explain says how a query is answered.
func (v view[T]) explain(q queryDef) (explanation, error) {
	n := v.c.planner()
	p, err := n.plan(q, v.by)
	if err != nil {
		return explanation{}, err
	}
	return n.explain(&p), nil
}
