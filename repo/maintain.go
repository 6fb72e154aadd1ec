package repo

import (
	"context"

	"github.com/polystore/polystore/repo/internal/failure"
	"github.com/polystore/polystore/repo/internal/store"
)

// A Reclaimed says what [Repo.Maintain] did.
type Reclaimed struct {
	Expired int // records that had expired and were removed, with their rows
	Dead    int // tombstones that were no longer needed
	Rows    int // rows and claims of indexes in other partitions that no record had, left by what was interrupted
}

// Maintain removes what nobody can see any more: expired records with their
// index rows, old tombstones, and what writers left behind that were interrupted. Run
// it now and then, in one place or several; it may be interrupted at any time. It
// reads everything, as fast as it can: [Store.Maintain] does it for all collections, at a rate.
// What is less than some minutes old it may leave for the next time.
// How old something is it says by this program's clock, which must be right.
//
// Rows that cannot be read or dealt with, as another program wrote them, stay, and keep
// nothing else from being removed: it is done when the error comes that names some of them.
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
