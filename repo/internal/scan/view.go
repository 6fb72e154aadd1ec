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

// A View is how records are read: as which type, and with which fields. It is no generic type, so that another type of
// records costs little time to compile: what it takes and gives are pointers to records of that type, in an any.
type View struct {
	c     *Reader
	shape *record.Mapping
	mask  []int         // ordinals of the fields to read from a record; nil is all
	by    []plan.Access // how to read the records, then each index

	scratch *sync.Pool // of pointers to zero records
}

// NewView returns how records are read as a type and its shape; mask is that of the fields of a record, nil for all.
func NewView(c *Reader, of reflect.Type, sh *record.Mapping, mask []int) View {
	scratch := &sync.Pool{New: func() any { return reflect.New(of).Interface() }}
	return View{c: c, shape: sh, mask: mask, by: plan.Accesses(c.Layout, sh), scratch: scratch}
}

// Scratch returns a pointer to a zero record. A record that is decoded has to be on the heap, and on its way to the
// caller it need not be a new one. Release it afterwards.
func (v *View) Scratch() any { return v.scratch.Get() }

// Release gives a record back that nothing points to.
func (v *View) Release(t any) {
	reflect.ValueOf(t).Elem().SetZero()
	v.scratch.Put(t)
}

// into fills a record.
func (v *View) into(t any, rec *record.Record) error {
	return v.shape.Decode(rec, reflect.ValueOf(t).Elem())
}

// Get reads the record under a key into t, or is ErrNotFound.
func (v *View) Get(ctx context.Context, k *store.Call, key []any, t any) error {
	b := NewReadBuffer(1)
	defer b.Release()
	kept, mask := v.keeper(ctx)
	err := b.oneKey(v.c, key)
	if err == nil {
		err = v.c.Store.Get(ctx, k, v.c.Records, b.Keys, mask, b.Rows)
	}
	if err == nil {
		err = v.c.Holds(ctx, nil)
	}
	if err == nil {
		var ok bool
		if ok, err = v.decode(k, b, &b.Rows[0], b.parts, mask, t); err == nil && !ok {
			err = driver.ErrNotFound
		}
		if kept != nil && err == nil {
			kept.Keep(v.c.Records, b.Keys[0], &b.Rows[0], mask)
		}
	}
	return err
}

// keeper returns what keeps the records that are read under a context, nil if nothing does, and which fields are read.
func (v *View) keeper(ctx context.Context) (*store.Recall, []int) {
	kept, whole := store.KeeperOf(ctx)
	if whole {
		return kept, nil
	}
	return kept, v.mask
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
		err = c.Holds(ctx, nil)
	}
	return err == nil && c.IsLive(k, &b.Rows[0]), err
}

// decode fills t from a row of the Records table, read with a mask, whose key has the values parts;
// ok is false when it is no live record.
func (v *View) decode(k *store.Call, b *readBuffer, row *driver.Row, parts []driver.Value, mask []int, t any) (ok bool, err error) {
	if !v.c.IsLive(k, row) {
		return false, nil
	}
	rec := v.c.valuesOf(b, row, parts, mask)
	if err := v.into(t, &rec); err != nil {
		return false, err
	}
	return true, nil
}

// parse is decode for a row whose key is there as a text only.
func (v *View) parse(k *store.Call, b *readBuffer, row *driver.Row, key driver.Key, mask []int, t any) (ok bool, err error) {
	if b.parts, err = v.c.PartsOf(b.parts[:0], key); err == nil {
		ok, err = v.decode(k, b, row, b.parts, mask, t)
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

// ReadKeys reads the records under keys, each into what at returns, and says which were found.
func (v *View) ReadKeys(ctx context.Context, k *store.Call, keys []driver.Key, at func(i int) any) ([]bool, error) {
	found := make([]bool, len(keys))
	if len(keys) == 0 {
		return found, nil
	}
	b := NewReadBuffer(len(keys))
	defer b.Release()
	kept, mask := v.keeper(ctx)
	if err := v.c.Store.Get(ctx, k, v.c.Records, keys, mask, b.Rows); err != nil {
		return nil, err
	}
	if err := v.c.Holds(ctx, nil); err != nil {
		return nil, err
	}
	for i := range keys {
		ok, err := v.parse(k, b, &b.Rows[i], keys[i], mask, at(i))
		if err != nil {
			return nil, err
		}
		if found[i] = ok; ok && kept != nil {
			kept.Keep(v.c.Records, keys[i], &b.Rows[i], mask)
		}
	}
	return found, nil
}

// One calls keep with the one record that a query finds. It is ErrNotFound if there is none, ErrInvalid if there are
// several.
func (v *View) One(ctx context.Context, k *store.Call, q plan.Query, keep func(t any)) error {
	n := 0
	q.Limit = 2
	err := v.Find(ctx, k, q, func(t any, _ Position) bool {
		if n++; n == 1 {
			keep(t)
		}
		return true
	})
	switch {
	case err != nil:
		return err
	case n == 0:
		return driver.ErrNotFound
	case n > 1:
		return failure.Invalid("%s finds more than one record; use Find, or declare the index Unique", q.Text(v.c.Redact))
	}
	return nil
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
func (v *View) Explain(q plan.Query) (plan.Explanation, error) {
	n := v.c.planner()
	p, err := n.Plan(q, v.by)
	if err != nil {
		return plan.Explanation{}, err
	}
	return n.Explain(p), nil
}
