package repo

import (
	"context"
	"reflect"
	"time"

	"github.com/polystore/polystore/repo/driver"
)

// An Edit changes one field of a record: see [Set], [Unset] and [Add]; or its
// expiry: see [ExpireAt].
type Edit struct {
	do     driver.EditVerb
	field  string
	value  any
	expire bool
}

// Set gives a field a value. Nil, and an empty list, map or run of bytes, remove it. The
// field is one of the record: there are no paths into maps, and a name with a dot is
// ErrInvalid.
func Set(field string, value any) Edit { return Edit{do: driver.Set, field: field, value: value} }

// Unset removes a field; reading it gives the zero value. A field that is never absent in
// the struct, as a number is not, is set to its zero value, which an index has.
func Unset(field string) Edit { return Edit{do: driver.Unset, field: field} }

// Add adds n to an integer field; one that is absent counts as 0. A sum that no
// int64 holds is ErrInvalid, and nothing is written.
func Add(field string, n int64) Edit { return Edit{do: driver.Add, field: field, value: n} }

// ExpireAt makes the record expire at a time, with its index rows; the zero time
// is never.
func ExpireAt(t time.Time) Edit { return Edit{expire: true, field: mapExpires, value: t} }

// Patch changes some fields of a record and returns its new version. Only these
// fields are written. A value that the field of T cannot hold is ErrInvalid. A record
// that is not there is ErrNotFound.
//
// Where an outcome may be unknown (Facts.Uncertain), Patch looks at the record first, so that
// a write whose answer is lost is settled, by Patch itself or by Resolve. That is one round trip
// more than [Repo.PatchBlind], and two patches of one record at the same time go one after the other.
func (r *Repo[T]) Patch(ctx context.Context, key Key, edits ...Edit) (Version, error) {
	return r.PatchIf(ctx, key, Version{}, edits...)
}

// PatchIf is Patch under the condition that the record has a version, else it
// fails with ErrConflict. The zero Version is no condition.
func (r *Repo[T]) PatchIf(ctx context.Context, key Key, version Version, edits ...Edit) (Version, error) {
	k := r.begin("patch")
	v, err := r.patch(ctx, &k, key, write{expect: driver.Token(version)}, edits)
	return Version(v), r.end(&k, key, err)
}

// PatchBlind is Patch without a look at the record: one round trip where Patch has two, and
// patches of one record at the same time do not refuse each other. The price is that an outcome
// may stay Unknown for ever: one whose answer is lost is never sent again, and Resolve knows it
// only if it was done and fewer than four other writes of the record came since. So it is for
// what may be lost, or done twice by whoever tries again: Set rather than Add. The record is read all the same
// if an index needs one of the fields, records may expire, a value is over 4 KiB, or an
// Add is to a field of fewer than 64 bits or without a sign.
func (r *Repo[T]) PatchBlind(ctx context.Context, key Key, edits ...Edit) (Version, error) {
	k := r.begin("patch")
	v, err := r.patch(ctx, &k, key, write{open: true}, edits)
	return Version(v), r.end(&k, key, err)
}

// patch completes w, which says under which condition, and does it.
func (r *Repo[T]) patch(ctx context.Context, k *call, key Key, w write, edits []Edit) (driver.Token, error) {
	if ctx == nil {
		return driver.Token{}, errNoContext
	}
	ws := [1]write{w}
	if err := r.patchOf(&ws[0], key, edits); err != nil {
		return driver.Token{}, err
	}
	return r.run(ctx, k, ws[:])
}

// patchOf makes w the patch of the record under key.
func (r *Repo[T]) patchOf(w *write, key Key, edits []Edit) error {
	dk, vals, err := r.keyIn(nil, key)
	if err != nil {
		return err
	}
	list, err := r.editsOf(edits)
	if err != nil {
		return err
	}
	w.verb, w.asked, w.change = doPatch, list, change{key: dk, keyVals: vals, edits: list}
	var expires int64
	if expires, w.renew = expiryIn(edits); w.renew && !r.expires && !r.mayExpire() {
		return invalid("records of this collection last for ever; give the struct a field tagged `repo:\",expires\"`")
	}
	w.derive = func(w *write) error { return r.derivePatch(w, expires) }
	w.careful, err = r.checkEdits(list)
	return err
}

// derivePatch applies the edits of a patch to what is there.
func (r *Repo[T]) derivePatch(w *write, expires int64) (err error) {
	w.edits = w.asked
	if w.next, err = r.edited(&w.change); err != nil {
		return err
	}
	if w.renew {
		w.next.expires = expires
	}
	for _, e := range w.asked {
		if at := len(r.key) + e.Field; e.Field >= 0 {
			if err := r.checkFits(w.next.vals[at], at); err != nil {
				return err
			}
		}
	}
	w.edits = w.summed(len(r.key))
	return nil
}

// checkEdits sees that the fields of T can hold the values of edits. Careful says
// that more can be said only when the record is known.
func (r *Repo[T]) checkEdits(edits []driver.Edit) (careful bool, err error) {
	size := 0
	for i := range edits {
		e := &edits[i]
		size += sizeOf(&e.Value)
		at := len(r.key) + e.Field
		switch {
		case e.Field < 0 || r.shape.isMap:
		case e.Do == driver.Add:
			f := r.shape.fieldAt(at)
			careful = careful || f.plain != driver.Int && !f.nanos
		default:
			if err := r.checkFits(e.Value, at); err != nil {
				return false, err
			}
		}
	}
	return careful || size > smallEdit, nil
}

// checkFits sees that the field of T at a position can hold a value.
func (r *Repo[T]) checkFits(v driver.Value, at int) error {
	if r.shape.isMap || v.IsNone() {
		return nil
	}
	f := r.shape.fieldAt(at)
	if v.Kind() == f.plain {
		return nil // a plain field holds every value of its kind
	}
	into := reflect.New(reflect.TypeFor[T]().FieldByIndex(f.index).Type).Elem()
	if err := f.dec(v, into); err != nil {
		return invalid("the field %s of the struct, a %s, cannot hold the new value", f.name, into.Type())
	}
	return nil
}

// expiryIn returns the expiry that edits set, and whether they do.
func expiryIn(edits []Edit) (int64, bool) {
	for _, e := range edits {
		if e.expire {
			return expiryOf(e.value.(time.Time)), true
		}
	}
	return 0, false
}
