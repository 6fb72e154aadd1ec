package repo

import (
	"context"
	"reflect"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/commit"
	"github.com/polystore/polystore/repo/internal/failure"
)

// A WriteOption adds a condition to a write.
type WriteOption func(*writeOptions)

type writeOptions struct {
	expect Version
	exists bool
	absent bool
}

// IfVersion makes a write fail with ErrConflict unless the record has version v.
// The zero Version is no condition.
func IfVersion(v Version) WriteOption { return func(o *writeOptions) { o.expect = v } }

// IfExists makes a Delete or a Put fail with ErrNotFound unless the record is there. The other
// writes do so without the option.
func IfExists() WriteOption { return func(o *writeOptions) { o.exists = true } }

// IfAbsent makes a [Writes.Check] fail with ErrExists if the record is there. The option is for
// Check alone, and excludes the other options.
func IfAbsent() WriteOption { return func(o *writeOptions) { o.absent = true } }

// Insert adds a record that is not there yet, and fills its version field. It fails with ErrExists
// when the key is taken, or a value of a unique index; Error.Index then names the index. A record
// whose version field is set was read or written before, and is ErrInvalid.
//
// Times are stored as UTC with milliseconds. Insert, Replace, Put and Update also change the times
// in the caller's record to the stored times. Where such a time lies behind a pointer, in a slice
// or in a map, the field then refers to a changed copy.
func (r *Repo[T]) Insert(ctx context.Context, record *T) error {
	return put(ctx, r, "insert", commit.DoInsert, record, nil)
}

// Replace writes a record that is there, and fills its version field. Fields that T does not
// declare stay as they are, and so does the expiry if T has no field for it: another program, newer
// or older, may have written them. Replace fails with ErrNotFound when the record is not there. It
// fails with ErrConflict when the stored version differs from the record's version field, if that
// is set, or from IfVersion.
func (r *Repo[T]) Replace(ctx context.Context, record *T, opts ...WriteOption) error {
	return put(ctx, r, "replace", commit.DoReplace, record, opts)
}

// Put writes a record whether or not it is there, as Insert or Replace does, and fills its version
// field. With a version, in that field or by IfVersion, Put is Replace: it fails with ErrNotFound
// when the record is not there, and with ErrConflict when the record has another version.
func (r *Repo[T]) Put(ctx context.Context, record *T, opts ...WriteOption) error {
	return put(ctx, r, "put", commit.DoPut, record, opts)
}

func put[T any](ctx context.Context, r *Repo[T], op string, verb commit.Verb, rec *T, opts []WriteOption) error {
	ctx, c, k := begin(ctx, op, r)
	defer k.Leave()
	if rec == nil {
		return c.end(&k, nil, failure.Invalid("the record is a nil pointer"))
	}
	b := commit.NewWriteBuffer()
	defer b.Release()
	w := &b.Writes[0]
	if err := c.PrepareWrite(w, &b.Next, verb, reflect.ValueOf(rec).Elem()); err != nil {
		return c.end(&k, nil, err)
	}
	if err := want(w, opts); err != nil {
		return c.end(&k, nil, err)
	}
	version, err := commit.Run(ctx, &k, b.Writes[:])
	if err != nil {
		return c.end(&k, nil, failure.OfKeyOnce(w.Key, err))
	}
	c.Shape.Written(reflect.ValueOf(rec).Elem(), w.Next, version)
	return c.end(&k, nil, nil)
}

// want adds to a write the conditions that its caller asked for.
func want(w *commit.Write, opts []WriteOption) error {
	if len(opts) == 0 {
		return nil // o is on the heap
	}
	var o writeOptions
	for i, opt := range opts {
		if opt == nil {
			return failure.Invalid("option %d of the write is nil", i+1)
		}
		opt(&o)
	}
	if !o.expect.IsZero() {
		w.Expect = driver.Token(o.expect)
	}
	w.Exists, w.Absent = o.exists, o.absent
	if o.absent && (w.Verb != commit.DoCheck || o.exists || !o.expect.IsZero()) {
		return failure.Invalid("IfAbsent is the only option of a Check, and of no other write; Insert does without it")
	}
	return nil
}

// Update reads a record, lets fn change it, and writes it if nobody else has changed it meanwhile;
// else Update begins again, so fn may run several times. It returns the record as written. If fn
// returns an error, Update returns this error, wrapped, and writes nothing. A record that is not
// there or has expired is ErrNotFound. Fn must not change the key.
func (r *Repo[T]) Update(ctx context.Context, key Key, fn func(*T) error, opts ...WriteOption) (T, error) {
	ctx, c, k := begin(ctx, "update", r)
	defer k.Leave()
	var rec, zero T
	if fn == nil {
		return zero, c.end(&k, key, failure.Invalid("the function is nil"))
	}
	b := commit.NewWriteBuffer()
	defer b.Release()
	w, err := b.OfKey(c.Writer, commit.DoUpdate, key)
	if err != nil {
		return zero, c.end(&k, key, err)
	}
	if err := want(w, opts); err != nil {
		return zero, c.end(&k, key, err)
	}
	w.Derive = func(w *commit.Write) error {
		w.Next = &b.Next
		return c.Derive(w, reflect.ValueOf(&rec).Elem(), func() error { return fn(&rec) })
	}
	version, err := commit.Run(ctx, &k, b.Writes[:])
	if err != nil {
		return zero, c.end(&k, key, err)
	}
	c.Shape.Written(reflect.ValueOf(&rec).Elem(), b.Writes[0].Next, version)
	return rec, c.end(&k, key, nil)
}

// Delete removes a record. A record that is not there is no error, unless an option asks for the
// record: with IfExists it is ErrNotFound, else with IfVersion ErrConflict. An expired record is
// not there.
func (r *Repo[T]) Delete(ctx context.Context, key Key, opts ...WriteOption) error {
	ctx, c, k := begin(ctx, "delete", r)
	defer k.Leave()
	b := commit.NewWriteBuffer()
	defer b.Release()
	w, err := b.OfKey(c.Writer, commit.DoDelete, key)
	if err != nil {
		return c.end(&k, key, err)
	}
	if err := want(w, opts); err != nil {
		return c.end(&k, key, err)
	}
	_, err = commit.Run(ctx, &k, b.Writes[:])
	return c.end(&k, key, err)
}

// Resolve finds out what became of a write that ended with ErrUnknownOutcome: pass Error.Outcome.
// If the write could still happen, Resolve first makes sure that it never will. The verdict is
// about the whole write, index rows included. Committed is as durable as an acknowledged write:
// where a store waits for replicas that do not have the write yet, the verdict is Unknown, with the
// store's error.
//
// Call Resolve soon, within a quarter of an hour. The outcome is known as long as fewer than four
// other writes of the record came since; after that it may be Unknown for ever. The outcome of an
// Insert under a key with four earlier writes, and of a [Repo.PatchBlind], may be Unknown at once.
//
// The outcome of a group follows from the first record that the group writes, and the Repo of that
// record's collection resolves it: Error.Collection and the Outcome name the collection. Choose a
// first record that others hardly write.
func (r *Repo[T]) Resolve(ctx context.Context, outcome *Outcome) (Verdict, error) {
	ctx, c, k := begin(ctx, "resolve", r)
	defer k.Leave()
	if ctx == nil {
		return Unknown, c.end(&k, nil, failure.ErrNoContext)
	}
	if outcome == nil || outcome.of.Token.IsZero() {
		return Unknown, c.end(&k, nil, failure.Invalid("the outcome names no write"))
	}
	o := outcome.of
	if err := c.IsOurs(&o); err != nil {
		return Unknown, c.end(&k, nil, err)
	}
	v, err := c.Resolve(ctx, &k, &o)
	if err != nil {
		err = failure.OfKeyOnce(o.Key, err)
	}
	return Verdict(v), c.end(&k, nil, err)
}
