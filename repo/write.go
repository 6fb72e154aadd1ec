package repo

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/polystore/polystore/repo/driver"
)

// A WriteOption adds a condition to a write.
type WriteOption func(*writeOptions)

type writeOptions struct {
	expect Version
	exists bool
}

// IfVersion makes a write fail with ErrConflict unless the record has version v.
// The zero Version is no condition.
func IfVersion(v Version) WriteOption { return func(o *writeOptions) { o.expect = v } }

// IfExists makes a Delete fail with ErrNotFound unless the record is there, and so it does
// with a Put. The other writes do so without it.
func IfExists() WriteOption { return func(o *writeOptions) { o.exists = true } }

// Insert adds a record that is not there yet and fills its version field. It
// fails with ErrExists when the key is taken, or a value of a unique index, which
// Error.Index then names. A record whose version field is set was read or written before, and
// is ErrInvalid.
//
// Times are stored as UTC with milliseconds, and the record that was written gets them so, as
// it does from Replace, Put and Update: the record is changed. Where a time changes in what a
// field refers to, the field refers to a copy from then on.
func (r *Repo[T]) Insert(ctx context.Context, record *T) error {
	return r.put(ctx, "insert", doInsert, record, nil)
}

// Replace writes a record that is there, and fills its version field. Fields that T does not
// declare, and without a field for it the expiry, stay as they are: another program, newer or
// older, may have written them. It
// fails with ErrNotFound when it is not there, and with ErrConflict when its
// version is not that of the record's version field, if that is set, or of IfVersion.
func (r *Repo[T]) Replace(ctx context.Context, record *T, opts ...WriteOption) error {
	return r.put(ctx, "replace", doReplace, record, opts)
}

// Put writes a record whether or not it is there, as Insert or Replace does, and fills its
// version field. With a version, in that field or by IfVersion, it is Replace: ErrNotFound when
// the record is not there, and ErrConflict when it has another version.
func (r *Repo[T]) Put(ctx context.Context, record *T, opts ...WriteOption) error {
	return r.put(ctx, "put", doPut, record, opts)
}

func (r *Repo[T]) put(ctx context.Context, op string, verb verb, rec *T, opts []WriteOption) error {
	k := r.begin(op)
	if rec == nil {
		return r.end(&k, nil, invalid("the record is a nil pointer"))
	}
	b := newWriteBuffer()
	defer b.release()
	w := &b.writes[0]
	if err := r.prepareWrite(w, &b.next, verb, rec); err != nil {
		return r.end(&k, nil, err)
	}
	if err := w.want(opts); err != nil {
		return r.end(&k, nil, err)
	}
	version, err := r.run(ctx, &k, b.writes[:])
	if err != nil {
		return r.end(&k, nil, ofKeyOnce(w.key, err))
	}
	r.written(rec, w.next, version)
	return r.end(&k, nil, nil)
}

// want adds to a write the conditions that its caller asked for.
func (w *write) want(opts []WriteOption) error {
	if len(opts) == 0 {
		return nil // o is on the heap
	}
	var o writeOptions
	for i, opt := range opts {
		if opt == nil {
			return invalid("option %d of the write is nil", i+1)
		}
		opt(&o)
	}
	if !o.expect.IsZero() {
		w.expect = o.expect
	}
	w.exists = o.exists
	return nil
}

func ofKeyOnce(key driver.Key, err error) error {
	var k *keyed
	if errors.As(err, &k) {
		return err
	}
	return ofKey(key, err)
}

// writeOf returns the write that makes rec the record under its key.
func (r *Repo[T]) writeOf(verb verb, rec *T) (write, error) {
	var w write
	err := r.prepareWrite(&w, new(record), verb, rec)
	return w, err
}

// writeOfKey returns a write of a verb on the record under a key.
func (c *collection) writeOfKey(verb verb, key Key, opts []WriteOption) (write, error) {
	dk, vals, err := c.keyIn(nil, key)
	w := write{verb: verb, change: change{key: dk, keyVals: vals}}
	if err == nil {
		err = w.want(opts)
	}
	return w, err
}

// prepareWrite makes w, which is zero, the write that makes rec the record under
// its key; next is where its values go.
func (r *Repo[T]) prepareWrite(w *write, next *record, verb verb, rec *T) error {
	err := r.encode(next, rec)
	if err != nil {
		return err
	}
	w.keyVals = next.vals[:len(r.key):len(r.key)]
	if w.key, err = r.keyOfValues(w.keyVals); err != nil {
		return err
	}
	if err := r.checkSize(next, w.key); err != nil {
		return err
	}
	w.verb, w.next, w.expect = verb, next, next.version
	if verb == doInsert && !next.version.IsZero() {
		return ofKey(w.key, invalid("the record to insert has a version already; clear it to insert a copy, or use Replace, or Put"))
	}
	w.keep = verb != doInsert && r.keeps()
	return nil
}

// keeps reports whether a record may have what T says nothing of: fields that only another
// program declares, or an expiry.
func (c *collection) keeps() bool { return !c.extra || !c.expires }

// keep leaves in a record that is there what T says nothing of. One that is dead or has
// expired leaves nothing to the next.
func (c *collection) keep(w *write) error {
	old, next := &w.old, w.next
	if !c.extra {
		next.extra = nil
		if old.live {
			next.extra = old.extra
		}
	}
	if !c.expires {
		next.expires = 0
		if old.live {
			next.expires = old.expires
		}
	}
	return c.checkSize(next, w.key)
}

// encode makes next the values of rec. It reuses the array of next.vals.
func (r *Repo[T]) encode(next *record, rec *T) error {
	*next = record{vals: slices.Grow(next.vals[:0], len(r.cols))[:len(r.cols)]}
	clear(next.vals)
	return r.shape.encode(reflect.ValueOf(rec).Elem(), next, r.cols)
}

func (c *collection) checkSize(rec *record, key driver.Key) error {
	if size := bytesIn(key, rec.vals, rec.extra); size > maxRecord {
		return ofKey(key, fmt.Errorf("record of about %d bytes, at most %d: %w", size, maxRecord, ErrTooLarge))
	}
	return nil
}

// bytesIn returns about how many bytes a key and values have.
func bytesIn(key driver.Key, vals []driver.Value, extra []driver.Pair) int {
	size := len(key.Partition) + len(key.Sort)
	for i := range vals {
		size += sizeOf(&vals[i])
	}
	for i := range extra {
		size += len(extra[i].Name) + sizeOf(&extra[i].Value)
	}
	return size
}

func sizeOf(v *driver.Value) int {
	n := 8 + len(v.Str())
	for i := range v.List() {
		n += sizeOf(&v.List()[i])
	}
	return n
}

// written makes rec, which was written with the values of next, what it is when it is read: it gets
// its version, if it has a field for it, and the times as they are stored.
func (r *Repo[T]) written(rec *T, next *record, version Version) {
	v := reflect.ValueOf(rec).Elem()
	r.shape.round(v, next)
	switch {
	case r.shape.isMap:
		v.Interface().(map[string]any)[mapVersion] = version
	case r.shape.version != nil:
		*address[Version](v.FieldByIndex(r.shape.version)) = version
	}
}

// Update reads a record, lets fn change it, and writes it if nobody else has
// changed it meanwhile; else it begins again, so fn may run several times. It
// returns the record as written. An error of fn is returned as it is, wrapped,
// and nothing is written. A record that is not there or has expired is
// ErrNotFound. Fn must not change the key.
func (r *Repo[T]) Update(ctx context.Context, key Key, fn func(*T) error, opts ...WriteOption) (T, error) {
	k := r.begin("update")
	var rec, zero T
	if fn == nil {
		return zero, r.end(&k, key, invalid("the function is nil"))
	}
	b := newWriteBuffer()
	defer b.release()
	w, err := b.ofKey(r.collection, doUpdate, key)
	if err != nil {
		return zero, r.end(&k, key, err)
	}
	if err := w.want(opts); err != nil {
		return zero, r.end(&k, key, err)
	}
	w.derive = func(w *write) error {
		w.next = &b.next
		return r.derive(w, &rec, fn)
	}
	version, err := r.run(ctx, &k, b.writes[:])
	if err != nil {
		return zero, r.end(&k, key, err)
	}
	r.written(&rec, b.writes[0].next, version)
	return rec, r.end(&k, key, nil)
}

// derive lets fn change the record that is there and makes w.next its values.
func (r *Repo[T]) derive(w *write, rec *T, fn func(*T) error) error {
	old, next := &w.old, w.next
	w.whole = true
	if err := r.shape.decode(&old.record, reflect.ValueOf(rec).Elem()); err != nil {
		return err
	}
	if err := fn(rec); err != nil {
		return err
	}
	if err := r.encode(next, rec); err != nil {
		return err
	}
	now := next.vals[:len(r.key)]
	if !slices.EqualFunc(now, w.keyVals, driver.Value.Equal) {
		return invalid("the update changes the key to %s; insert a new record and delete this one", r.printKey(now))
	}
	return r.keep(w)
}

// Delete removes a record. One that is not there is no error, unless an option asks for
// it: with IfExists it is ErrNotFound, else with IfVersion ErrConflict. An expired record
// is not there.
func (r *Repo[T]) Delete(ctx context.Context, key Key, opts ...WriteOption) error {
	k := r.begin("delete")
	b := newWriteBuffer()
	defer b.release()
	w, err := b.ofKey(r.collection, doDelete, key)
	if err != nil {
		return r.end(&k, key, err)
	}
	if err := w.want(opts); err != nil {
		return r.end(&k, key, err)
	}
	_, err = r.run(ctx, &k, b.writes[:])
	return r.end(&k, key, err)
}

// Resolve finds out what became of a write that ended with ErrUnknownOutcome:
// pass Error.Outcome. Where the write could still happen it first makes sure
// that it never will. The answer is about the whole write, index rows included.
// Ask soon, within a quarter of an hour: an outcome is known as long as fewer than four other
// writes of the record came since, and then it may be Unknown for ever. That of an Insert onto
// what was written four times before, and that of [Repo.PatchBlind], may be so at once. Of a
// group the record counts that is first in it: let that be one which others hardly write.
// Committed is as durable as an acknowledged write: where a store waits for replicas
// that do not have the write yet, the verdict is Unknown, with the store's error.
func (r *Repo[T]) Resolve(ctx context.Context, outcome *Outcome) (Verdict, error) {
	k := r.begin("resolve")
	if ctx == nil {
		return Unknown, r.end(&k, nil, errNoContext)
	}
	if outcome == nil || outcome.token.IsZero() {
		return Unknown, r.end(&k, nil, invalid("the outcome names no write"))
	}
	o := *outcome
	if err := r.isOurs(&o); err != nil {
		return Unknown, r.end(&k, nil, err)
	}
	v, err := r.resolve(ctx, &k, &o)
	if err != nil {
		err = ofKeyOnce(o.key, err)
	}
	return v, r.end(&k, nil, err)
}
