package repo

import (
	"context"

	"github.com/polystore/polystore/repo/internal/failure"
	"github.com/polystore/polystore/repo/internal/store"
)

// A Reclaimed says what [Repo.Maintain] did.
type Reclaimed struct {
	Expired int // expired records, removed with their rows
	Dead    int // tombstones no longer needed
	Rows    int // rows and claims of indexes in other partitions that belonged to no record, left by interrupted writes
	Mended  int // records that lacked a row of an index that was added while their program stood still
}

// Maintain removes what no reader sees any more: expired records with their index rows, old
// tombstones, and rows that interrupted writers left behind. It adds the index rows of a record that was sent before an
// index was filled and came after. Run it now and then, in one program or
// in several; it may be interrupted at any time. It reads everything, as fast as it can;
// [Store.Maintain] does the same for all collections, at a rate. It may leave what is younger than
// some minutes for the next time. It decides how old something is by this program's clock, which
// must be right.
//
// Rows that cannot be read or dealt with, because another program wrote them, stay. Everything else
// is removed all the same, before Maintain returns an error that names some of these rows.
func (r *Repo[T]) Maintain(ctx context.Context) (Reclaimed, error) {
	done, _, err := r.on().c.maintain(ctx, nil)
	return done, err
}

// maintain is Maintain on its way through the collection. It may have come to the end with an
// error, of rows that cannot be dealt with.
func (c *collection) maintain(ctx context.Context, way *store.Way) (done Reclaimed, ended bool, err error) {
	ctx, k := c.begin(ctx, "maintain")
	defer k.Leave()
	if ctx == nil {
		return done, false, c.end(&k, nil, failure.ErrNoContext)
	}
	k.Way = way
	gone, ended, err := c.Keeper.Maintain(ctx, &k)
	return Reclaimed(gone), ended, c.end(&k, nil, err)
}
