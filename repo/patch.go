package repo

import (
	"context"
	"time"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/commit"
	"github.com/polystore/polystore/repo/internal/failure"
	"github.com/polystore/polystore/repo/internal/record"
	"github.com/polystore/polystore/repo/internal/store"
)

// An Edit changes one field of a record: see [Set], [Unset] and [Add]; or its
// expiry: see [ExpireAt].
type Edit struct{ def commit.Edit }

// Set gives a field a value. Nil, and an empty list, map or byte slice, remove the field. The field
// must be a field of the record: there are no paths into maps, and a name with a dot is ErrInvalid.
func Set(field string, value any) Edit {
	return Edit{commit.Edit{Do: driver.Set, Field: field, Value: value}}
}

// Unset removes a field; reading it gives the zero value. A field that is never absent in the
// struct, such as a number, is set to its zero value instead, and an index has a row for this
// value.
func Unset(field string) Edit { return Edit{commit.Edit{Do: driver.Unset, Field: field}} }

// Add adds n to an integer field; an absent field counts as 0. A sum that no int64 holds is
// ErrInvalid, and nothing is written.
func Add(field string, n int64) Edit {
	return Edit{commit.Edit{Do: driver.Add, Field: field, Value: n}}
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

// PatchIf is Patch on condition that the record has the given version; else it fails with
// ErrConflict. The zero Version is no condition.
func (r *Repo[T]) PatchIf(ctx context.Context, key Key, version Version, edits ...Edit) (Version, error) {
	ctx, c, k := r.begin(ctx, "patch")
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
	ctx, c, k := r.begin(ctx, "patch")
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
