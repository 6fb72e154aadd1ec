package api

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/polystore/polystore/conformance/internal/rule"
	"github.com/polystore/polystore/repo"
)

// largeGroup is how many records are tried where Facts sets no bound.
const largeGroup = 2000

// longGroup is how many bytes are tried where Facts sets no bound.
const longGroup = 2 << 20

// largestGroup commits as many records as a group may have, and one more. Items have no
// indexes: each is one row.
func largestGroup(ctx context.Context, e *env) {
	e.That(e.Facts.MaxOps >= 0, "Facts.MaxOps to be how many rows a group may change, or 0 for any number", "%d", e.Facts.MaxOps)
	most := cmp.Or(e.Facts.MaxOps, largeGroup)
	e.OK(fmt.Sprintf("a group of %d", most), insertGroup(ctx, e, shelved(e, 0, most)))
	want := make([]string, most)
	for i := range want {
		want[i] = fmt.Sprintf("%06d=0", i)
	}
	rule.Equal(e, fmt.Sprintf("the records of a group of %d", most), shelfIDs(ctx, e), want)
	refused := append(shelved(e, most, most-1), shelved(e, 0, 1)...)
	e.Is(fmt.Sprintf("a group of %d inserts of which the last one is there", most), insertGroup(ctx, e, refused), repo.ErrExists)
	rule.Equal(e, "the records after the group that was refused for its last one", shelfIDs(ctx, e), want)
	if e.Facts.MaxOps == 0 {
		return
	}
	e.Is(fmt.Sprintf("a group of %d, one more than Facts.MaxOps", most+1), insertGroup(ctx, e, shelved(e, most, most+1)), repo.ErrTooLarge)
	rule.Equal(e, "the records after the group that was too large", shelfIDs(ctx, e), want)
}

// longestGroup commits as many bytes as a group may have, but for some, and some more.
func longestGroup(ctx context.Context, e *env) {
	e.That(e.Facts.MaxBytes >= 0, "Facts.MaxBytes to be how many bytes a group may have, or 0 for any number", "%d", e.Facts.MaxBytes)
	const size = 256 << 10
	fit := cmp.Or(e.Facts.MaxBytes, longGroup) / (size + 1<<10) // of other fields and the key
	long := func(from, n int) []item {
		list := shelved(e, from, n)
		for i := range list {
			list[i].Text = strings.Repeat("x", size)
		}
		return list
	}
	e.OK(fmt.Sprintf("a group of %d records with %d bytes each", fit, size), insertGroup(ctx, e, long(0, fit)))
	rule.Equal(e, "the number of records", len(shelfIDs(ctx, e)), fit)
	if e.Facts.MaxBytes == 0 {
		return
	}
	e.Is(fmt.Sprintf("a group of %d records with %d bytes each", fit+2, size), insertGroup(ctx, e, long(fit, fit+2)), repo.ErrTooLarge)
	rule.Equal(e, "the number of records after the group that was too large", len(shelfIDs(ctx, e)), fit)
}

// shelved returns n items of one shelf, the first of which is number from.
func shelved(e *env, from, n int) []item {
	list := make([]item, n)
	for i := range list {
		list[i] = e.item(fmt.Sprintf("%06d", from+i))
	}
	return list
}

// insertGroup inserts items in one group.
func insertGroup(ctx context.Context, e *env, list []item) error {
	g := e.items(ctx).Store().Group()
	in := e.items(ctx).In(g)
	for i := range list {
		in.Insert(&list[i])
	}
	return g.Commit(ctx)
}
