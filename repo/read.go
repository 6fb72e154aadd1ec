package repo

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"sync"

	"github.com/polystore/polystore/repo/driver"
)

// A readBuffer holds rows that are read by key, and is reused.
type readBuffer struct {
	keys  []driver.Key
	parts []driver.Value // of a single key
	rows  []driver.Row
	vals  []driver.Value
	found []found // which rows of an index name them
}

var readBuffers = sync.Pool{New: func() any { return new(readBuffer) }}

func newReadBuffer(n int) *readBuffer {
	b := readBuffers.Get().(*readBuffer)
	b.prepare(n)
	return b
}

// prepare makes room for n rows, of which the keys are to be added.
func (b *readBuffer) prepare(n int) {
	b.wipe(n)
	b.rows = slices.Grow(b.rows[:0], n)[:n]
	b.keys = b.keys[:0]
}

// wipe removes the strings of the rows but the first n.
func (b *readBuffer) wipe(n int) {
	for i := n; i < len(b.rows); i++ {
		r := &b.rows[i]
		clear(r.Fields[:cap(r.Fields)])
		clear(r.Extra[:cap(r.Extra)])
		r.Reset()
	}
}

// oneKey makes the key of parts the only one to read. Their values stay in b.parts.
func (b *readBuffer) oneKey(c *collection, parts Key) (err error) {
	var key driver.Key
	if key, b.parts, err = c.keyIn(b.parts, parts); err == nil {
		b.keys = append(b.keys, key)
	}
	return err
}

// release gives b back, without the strings that it refers to.
func (b *readBuffer) release() {
	if cap(b.rows) > 1024 {
		return
	}
	b.wipe(0)
	b.rows = b.rows[:0]
	clear(b.vals[:cap(b.vals)])
	clear(b.keys[:cap(b.keys)])
	clear(b.parts[:cap(b.parts)])
	clear(b.found[:cap(b.found)])
	readBuffers.Put(b)
}

// Get returns the record under key, or ErrNotFound.
func (r *Repo[T]) Get(ctx context.Context, key Key) (T, error) {
	return r.whole().get(ctx, "get", key)
}

// Exists reports whether there is a record under key.
func (r *Repo[T]) Exists(ctx context.Context, key Key) (bool, error) {
	k := r.begin("exists")
	b := newReadBuffer(1)
	defer b.release()
	err := b.oneKey(r.collection, key)
	if err == nil {
		err = r.store.get(ctx, &k, r.records, b.keys, []int{}, b.rows)
	}
	if err == nil {
		err = r.holds(ctx)
	}
	return err == nil && r.isLive(&k, &b.rows[0]), r.end(&k, key, err)
}

// GetMany returns the records under keys, in their order, in one round trip. The
// record of a key under which there is none is the zero T, and found says which.
func (r *Repo[T]) GetMany(ctx context.Context, keys []Key) (records []T, found []bool, err error) {
	return r.whole().getMany(ctx, "get many", keys)
}

// One returns the one record that a query finds: ErrNotFound if it finds none,
// ErrInvalid if it finds several. It is meant for unique indexes.
func (r *Repo[T]) One(ctx context.Context, q Query) (T, error) {
	return r.whole().one(ctx, q)
}

// A view is how records are read: as which type, and with which fields.
type view[T any] struct {
	c     *collection
	shape *shape
	mask  []int    // ordinals of the fields to read from a record; nil is all
	by    []access // how to read the records, then each index

	scratch *sync.Pool // of *T
}

func (r *Repo[T]) whole() view[T] {
	return view[T]{c: r.collection, shape: r.shape, by: r.by, scratch: r.scratch}
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
			err = ErrNotFound
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
		err = ErrNotFound
	case err == nil && n > 1:
		err = invalid("%s finds more than one record; use Find, or declare the index Unique", q.text(v.c.store.opts.Redact))
	}
	if err != nil {
		var zero T
		return zero, v.c.end(&k, nil, err)
	}
	return out, v.c.end(&k, nil, nil)
}
