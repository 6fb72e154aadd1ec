package repo

import (
	"context"
	"reflect"
	"time"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/commit"
	"github.com/polystore/polystore/repo/internal/failure"
	"github.com/polystore/polystore/repo/internal/record"
	"github.com/polystore/polystore/repo/internal/store"
)

// An Edit changes one field of a record, or what lies at a path in it: see [Set], [Unset], [Add], [Push], [PushFront]
// and [Pull]; or the record's expiry: see [ExpireAt].
//
// A path is the name of a field that is a map, a struct or a list, and the names in it, as "address.city"; an element of
// a list is named by its position, as "lines.0.count". Maps on the way that are not there are made. What is no map or
// list has no parts: that is ErrInvalid, as is a position after the end. A name with a dot in it cannot be part of a
// path. An edit of a path reads the record, and writes the whole field: two patches of one field go one after the
// other. So do Push, PushFront, Pull, and Add to a float.
type Edit struct{ def commit.Edit }

// Set gives a field a value. Nil, and an empty list, map or byte slice, remove the field.
func Set(field string, value any) Edit {
	return Edit{commit.Edit{Do: driver.Set, Field: field, Value: value}}
}

// Unset removes a field; reading it gives the zero value. A field that is never absent in the
// struct, such as a number, is set to its zero value instead, and an index has a row for this
// value.
func Unset(field string) Edit { return Edit{commit.Edit{Do: driver.Unset, Field: field}} }

// Add adds n to a number; an absent one counts as 0. A sum that no int64 holds, or for a float no finite float64, is
// ErrInvalid, and nothing is written; so is a fraction for an integer.
func Add[N ~int | ~int8 | ~int16 | ~int32 | ~int64 | ~float32 | ~float64](field string, n N) Edit {
	if one := N(1); one/2 != 0 {
		return Edit{commit.Edit{Do: driver.Add, Field: field, Value: float64(n)}}
	}
	return Edit{commit.Edit{Do: driver.Add, Field: field, Value: int64(n)}}
}

// Push puts values after the last element of a list, in their order, and keeps the last ones if keep is not 0: so the
// list has that many elements at most. An absent list is empty.
func Push(field string, keep int, values ...any) Edit {
	return listEdit(commit.Push, field, keep, values)
}

// PushFront is Push before the first element: the values come in their order, and the first elements are kept. So the
// newest lie in front.
func PushFront(field string, keep int, values ...any) Edit {
	return listEdit(commit.PushFront, field, keep, values)
}

// Pull takes the elements away that equal one of some values.
func Pull(field string, values ...any) Edit { return listEdit(commit.Pull, field, 0, values) }

func listEdit(verb commit.ListVerb, field string, keep int, values []any) Edit {
	return Edit{commit.Edit{Do: driver.Set, Field: field, List: verb, Keep: keep, Value: values}}
}

// ExpireAt makes the record expire at t, with its index rows; the zero time is never.
func ExpireAt(t time.Time) Edit {
	return Edit{commit.Edit{Expire: true, Field: record.MapExpires, Value: t}}
}

// Patch changes some fields of a record and returns its new version. Only these
// fields are written. A value that the field of T cannot hold is ErrInvalid. A record
// that is not there is ErrNotFound.
//
// Where an outcome may be unknown (Facts.Uncertain), Patch reads the record first. So a write whose
// answer is lost can be settled, by Patch itself or by [Repo.Resolve], as long as fewer than four
// other writes of the record come meanwhile. The price is one round trip more than
// [Repo.PatchBlind], and two concurrent patches of one record go one after the other.
func (r *Repo[T]) Patch(ctx context.Context, key Key, edits ...Edit) (Version, error) {
	return r.PatchIf(ctx, key, Version{}, edits...)
}

// PatchGet is Patch that returns the record as it is then. It reads the whole record first.
func (r *Repo[T]) PatchGet(ctx context.Context, key Key, edits ...Edit) (T, error) {
	ctx, c, k := begin(ctx, "patch get", r)
	defer k.Leave()
	var rec, zero T
	if ctx == nil {
		return zero, c.end(&k, key, failure.ErrNoContext)
	}
	ws := [1]commit.Write{}
	err := c.PatchOf(&ws[0], key, defsOf(nil, edits))
	if err == nil {
		ws[0].Careful()
		var version driver.Token
		if version, err = commit.Run(ctx, &k, ws[:]); err == nil {
			next := ws[0].Next
			next.Version = version
			err = c.Shape.Decode(next, reflect.ValueOf(&rec).Elem())
		}
	}
	if err != nil {
		return zero, c.end(&k, key, err)
	}
	return rec, c.end(&k, key, nil)
}

// PatchIf is Patch on condition that the record has the given version; else it fails with
// ErrConflict. The zero Version is no condition.
func (r *Repo[T]) PatchIf(ctx context.Context, key Key, version Version, edits ...Edit) (Version, error) {
	ctx, c, k := begin(ctx, "patch", r)
	defer k.Leave()
	v, err := c.patch(ctx, &k, key, commit.Write{Expect: driver.Token(version)}, edits)
	return Version(v), c.end(&k, key, err)
}

// PatchBlind is Patch without reading the record: one round trip where Patch has two, and
// concurrent patches of one record do not refuse each other. The price is that an outcome may stay
// Unknown for ever: a patch whose answer is lost is never sent again, and Resolve knows its outcome
// only if the patch was done and fewer than four other writes of the record came since. So
// PatchBlind is for changes that may be lost, or be done twice by a caller that tries again: Set
// rather than Add. The record is read all the same if an index needs one of the fields, if records
// may expire, if a value is over 4 KiB, or if an Add is to a field that is unsigned or has fewer
// than 64 bits.
func (r *Repo[T]) PatchBlind(ctx context.Context, key Key, edits ...Edit) (Version, error) {
	ctx, c, k := begin(ctx, "patch", r)
	defer k.Leave()
	v, err := c.patch(ctx, &k, key, commit.Write{Open: true}, edits)
	return Version(v), c.end(&k, key, err)
}

// patch completes w, which says under which condition, and does it.
func (c *collection) patch(ctx context.Context, k *store.Call, key Key, w commit.Write, edits []Edit) (driver.Token, error) {
	if ctx == nil {
		return driver.Token{}, failure.ErrNoContext
	}
	ws := [1]commit.Write{w}
	var few [8]commit.Edit
	if err := c.PatchOf(&ws[0], key, defsOf(few[:0], edits)); err != nil {
		return driver.Token{}, err
	}
	return commit.Run(ctx, k, ws[:])
}

// defsOf appends edits as they are compiled.
func defsOf(dst []commit.Edit, edits []Edit) []commit.Edit {
	for _, e := range edits {
		dst = append(dst, e.def)
	}
	return dst
}
