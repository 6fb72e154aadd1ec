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

// Set gives a field a value. Nil, and an empty list, map or run of bytes, remove it. The
// field is one of the record: there are no paths into maps, and a name with a dot is
// ErrInvalid.
func Set(field string, value any) Edit {
	return Edit{commit.Edit{Do: driver.Set, Field: field, Value: value}}
}

// Unset removes a field; reading it gives the zero value. A field that is never absent in
// the struct, as a number is not, is set to its zero value, which an index has.
func Unset(field string) Edit { return Edit{commit.Edit{Do: driver.Unset, Field: field}} }

// Add adds n to an integer field; one that is absent counts as 0. A sum that no
// int64 holds is ErrInvalid, and nothing is written.
func Add(field string, n int64) Edit {
	return Edit{commit.Edit{Do: driver.Add, Field: field, Value: n}}
}

// ExpireAt makes the record expire at a time, with its index rows; the zero time
// is never.
func ExpireAt(t time.Time) Edit {
	return Edit{commit.Edit{Expire: true, Field: record.MapExpires, Value: t}}
}

// Patch changes some fields of a record and returns its new version. Only these
// fields are written. A value that the field of T cannot hold is ErrInvalid. A record
// that is not there is ErrNotFound.
//
// Where an outcome may be unknown (Facts.Uncertain), Patch looks at the record first, so that
// a write whose answer is lost is settled, by Patch itself or by [Repo.Resolve] as long as fewer than four
// others write the record meanwhile. That is one round trip
// more than [Repo.PatchBlind], and two patches of one record at the same time go one after the other.
func (r *Repo[T]) Patch(ctx context.Context, key Key, edits ...Edit) (Version, error) {
	return r.PatchIf(ctx, key, Version{}, edits...)
}

// PatchIf is Patch under the condition that the record has a version, else it
// fails with ErrConflict. The zero Version is no condition.
func (r *Repo[T]) PatchIf(ctx context.Context, key Key, version Version, edits ...Edit) (Version, error) {
	ctx, c, k := r.begin(ctx, "patch")
	defer k.Leave()
	v, err := c.patch(ctx, &k, key, commit.Write{Expect: driver.Token(version)}, edits)
	return Version(v), c.end(&k, key, err)
}

// PatchBlind is Patch without a look at the record: one round trip where Patch has two, and
// patches of one record at the same time do not refuse each other. The price is that an outcome
// may stay Unknown for ever: one whose answer is lost is never sent again, and Resolve knows it
// only if it was done and fewer than four other writes of the record came since. So it is for
// what may be lost, or done twice by whoever tries again: Set rather than Add. The record is read all the same
// if an index needs one of the fields, records may expire, a value is over 4 KiB, or an
// Add is to a field of fewer than 64 bits or without a sign.
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
