package repo

import (
	"context"
	"errors"

	"github.com/polystore/polystore/repo/internal/store"
	"github.com/polystore/polystore/repo/internal/upkeep"
)

// A collection is what a Repo is about, and what it does, whatever its records are.
type collection struct {
	*upkeep.Keeper
	of *Store
}

// begin begins an operation. Leave is to be deferred.
func (c *collection) begin(ctx context.Context, op string) (context.Context, store.Call) {
	c.Renew()
	ctx, k := c.Store.Begin(ctx, op, c.Name)
	k.Tick(c.Store)
	return ctx, k
}

// end ends the operation and makes err an *Error.
func (c *collection) end(k *store.Call, key Key, err error) error {
	if err != nil {
		if gone := c.Gone(); gone != nil && errors.Is(err, ErrInvalid) {
			err = gone // the backend does not know the tables any more
		}
		err = c.annotate(k.Op, key, err)
	}
	return k.End(err)
}
