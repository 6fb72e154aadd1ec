package repo

import (
	"context"
	"fmt"
	"reflect"
	"sync"

	"github.com/polystore/polystore/repo/driver"
)

// A view is how records are read: as which type, and with which fields.
type view[T any] struct {
	c     *collection
	shape *shape
	mask  []int    // ordinals of the fields to read from a record; nil is all
	by    []access // how to read the records, then each index

	scratch *sync.Pool // of *T
}

// newScratch returns a pool of zero records. A record that is decoded has to be on
// the heap, and on its way to the caller it need not be a new one.
func newScratch[T any]() *sync.Pool { return &sync.Pool{New: func() any { return new(T) }} }

func (v view[T]) get(ctx context.Context, op string, key Key) (T, error) {
	k := v.c.begin(op)
	b := newReadBuffer(1)
	defer b.release()
	err := b.oneKey(v.c, key)
	if err == nil {
		err = v.c.store.get(ctx, &k, v.c.records, b.keys, v.mask, b.rows)
	}
	if err == nil {
		err = v.c.holds(ctx)
	}
	var out, zero T
	if err == nil {
		var ok bool
		scratch := v.scratch.Get().(*T)
		if ok, err = v.decode(&k, b, &b.rows[0], b.parts, scratch); err == nil && !ok {
			err = driver.ErrNotFound
		}
		out, *scratch = *scratch, zero
		v.scratch.Put(scratch)
	}
	return out, v.c.end(&k, key, err)
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
func (c *collection) valuesOf(b *readBuffer, row *driver.Row, parts []driver.Value, mask []int) record {
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

func (v view[T]) getMany(ctx context.Context, op string, keys []Key) ([]T, []bool, error) {
	k := v.c.begin(op)
	dks := make([]driver.Key, len(keys))
	for i, key := range keys {
		dk, err := v.c.keyOf(key)
		if err != nil {
			return nil, nil, v.c.end(&k, key, fmt.Errorf("key %d: %w", i, err))
		}
		dks[i] = dk
	}
	out, found, err := v.readKeys(ctx, &k, dks)
	return out, found, v.c.end(&k, nil, err)
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

func (v view[T]) one(ctx context.Context, q Query) (T, error) {
	k := v.c.begin("one")
	var out T
	n := 0
	err := v.find(ctx, &k, q.Limit(2), func(t *T, _ position) bool {
		if n++; n == 1 {
			out = *t
		}
		return true
	})
	switch {
	case err == nil && n == 0:
		err = driver.ErrNotFound
	case err == nil && n > 1:
		err = invalid("%s finds more than one record; use Find, or declare the index Unique", q.text(v.c.store.opts.Redact))
	}
	if err != nil {
		var zero T
		return zero, v.c.end(&k, nil, err)
	}
	return out, v.c.end(&k, nil, nil)
}

// recordOf returns a stored row as a record.
func (c *collection) recordOf(row *driver.Row) (*record, error) {
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
func (c *collection) isLive(k *call, row *driver.Row) bool {
	return !row.Rev.IsZero() && !row.Dead && !k.isPast(row.Expires)
}
