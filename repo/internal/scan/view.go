package scan

import (
	"context"
	"reflect"
	"sync"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/failure"
	"github.com/polystore/polystore/repo/internal/plan"
	"github.com/polystore/polystore/repo/internal/record"
	"github.com/polystore/polystore/repo/internal/store"
)

// A View is how records are read: as which type, and with which fields.
type View[T any] struct {
	c     *Reader
	shape *record.Mapping
	mask  []int         // ordinals of the fields to read from a record; nil is all
	by    []plan.Access // how to read the records, then each index

	scratch *sync.Pool // of *T
}

// NewView returns how records are read as a shape; mask is that of the fields of a record, nil for all.
func NewView[T any](c *Reader, sh *record.Mapping, mask []int) View[T] {
	return View[T]{c: c, shape: sh, mask: mask, by: plan.Accesses(c.Layout, sh), scratch: newScratch[T]()}
}

// newScratch returns a pool of zero records. A record that is decoded has to be on
// the heap, and on its way to the caller it need not be a new one.
func newScratch[T any]() *sync.Pool { return &sync.Pool{New: func() any { return new(T) }} }

// Get returns the record under a key, or ErrNotFound.
func (v View[T]) Get(ctx context.Context, k *store.Call, key []any) (T, error) {
	var out, zero T
	b := NewReadBuffer(1)
	defer b.Release()
	err := b.oneKey(v.c, key)
	if err == nil {
		err = v.c.Store.Get(ctx, k, v.c.Records, b.Keys, v.mask, b.Rows)
	}
	if err == nil {
		err = v.c.Holds(ctx)
	}
	if err == nil {
		var ok bool
		scratch := v.scratch.Get().(*T)
		if ok, err = v.decode(k, b, &b.Rows[0], b.parts, scratch); err == nil && !ok {
			err = driver.ErrNotFound
		}
		out, *scratch = *scratch, zero
		v.scratch.Put(scratch)
	}
	return out, err
}

// Exists reports whether there is a record under a key.
func (c *Reader) Exists(ctx context.Context, k *store.Call, key []any) (bool, error) {
	b := NewReadBuffer(1)
	defer b.Release()
	err := b.oneKey(c, key)
	if err == nil {
		err = c.Store.Get(ctx, k, c.Records, b.Keys, []int{}, b.Rows)
	}
	if err == nil {
		err = c.Holds(ctx)
	}
	return err == nil && c.IsLive(k, &b.Rows[0]), err
}

// decode fills out from a row of the Records table whose key has the values parts;
// ok is false when it is no live record.
func (v View[T]) decode(k *store.Call, b *readBuffer, row *driver.Row, parts []driver.Value, out *T) (ok bool, err error) {
	if !v.c.IsLive(k, row) {
		return false, nil
	}
	rec := v.c.valuesOf(b, row, parts, v.mask)
	if err := v.shape.Decode(&rec, reflect.ValueOf(out).Elem()); err != nil {
		return false, err
	}
	return true, nil
}

// parse is decode for a row whose key is there as a text only.
func (v View[T]) parse(k *store.Call, b *readBuffer, row *driver.Row, key driver.Key, out *T) (ok bool, err error) {
	if b.parts, err = v.c.PartsOf(b.parts[:0], key); err == nil {
		ok, err = v.decode(k, b, row, b.parts, out)
	}
	if err != nil {
		err = failure.OfKey(key, err)
	}
	return ok, err
}

// valuesOf returns a row of the Records table as a record whose values belong to
// the buffer.
func (c *Reader) valuesOf(b *readBuffer, row *driver.Row, parts []driver.Value, mask []int) record.Record {
	vals := append(b.vals[:0], parts...)
	if mask == nil {
		vals = append(vals, row.Fields...)
	}
	for len(vals) < len(c.Cols) {
		vals = append(vals, driver.Value{})
	}
	for i := 0; i < len(row.Fields) && mask != nil; i++ {
		vals[len(c.Key)+mask[i]] = row.Fields[i]
	}
	b.vals = vals
	return record.Record{Vals: vals, Extra: row.Extra, Expires: row.Expires, Version: record.VersionOf(row)}
}

// ReadKeys reads the records under keys.
func (v View[T]) ReadKeys(ctx context.Context, k *store.Call, keys []driver.Key) ([]T, []bool, error) {
	out, found := make([]T, len(keys)), make([]bool, len(keys))
	if len(keys) == 0 {
		return out, found, nil
	}
	b := NewReadBuffer(len(keys))
	defer b.Release()
	if err := v.c.Store.Get(ctx, k, v.c.Records, keys, v.mask, b.Rows); err != nil {
		return nil, nil, err
	}
	if err := v.c.Holds(ctx); err != nil {
		return nil, nil, err
	}
	for i := range keys {
		ok, err := v.parse(k, b, &b.Rows[i], keys[i], &out[i])
		if err != nil {
			return nil, nil, err
		}
		found[i] = ok
	}
	return out, found, nil
}

// One returns the one record that a query finds: ErrNotFound if it finds none, ErrInvalid if it
// finds several.
func (v View[T]) One(ctx context.Context, k *store.Call, q plan.Query) (T, error) {
	var out, zero T
	n := 0
	q.Limit = 2
	err := v.Find(ctx, k, q, func(t *T, _ Position) bool {
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
		return zero, failure.Invalid("%s finds more than one record; use Find, or declare the index Unique", q.Text(v.c.Redact))
	}
	return out, nil
}

// RecordOf returns a stored row as a record.
func (c *Reader) RecordOf(row *driver.Row) (*record.Record, error) {
	vals := make([]driver.Value, 0, len(c.Cols))
	vals, err := c.PartsOf(vals, row.Key)
	if err != nil {
		return nil, err
	}
	vals = append(vals, row.Fields...)
	for len(vals) < len(c.Cols) {
		vals = append(vals, driver.Value{})
	}
	return &record.Record{Vals: vals, Extra: row.Extra, Expires: row.Expires, Version: record.VersionOf(row)}, nil
}

// IsLive reports whether there is a record in a row that k has read.
func (c *Reader) IsLive(k *store.Call, row *driver.Row) bool {
	return !row.Rev.IsZero() && !row.Dead && !k.IsPast(row.Expires)
}

// Explain says how a query is answered.
func (v View[T]) Explain(q plan.Query) (plan.Explanation, error) {
	n := v.c.planner()
	p, err := n.Plan(q, v.by)
	if err != nil {
		return plan.Explanation{}, err
	}
	return n.Explain(p), nil
}
