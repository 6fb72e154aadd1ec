package catalog

import (
	"context"

	"github.com/polystore/polystore/repo/internal/failure"
	"github.com/polystore/polystore/repo/internal/record"
	"github.com/polystore/polystore/repo/internal/store"
)

// Programs that know of no record that expires count by the store, which looks at no clock,
// and patch without a look at what is there. So before the first record of a collection
// expires, the catalog says that records will, and all programs are told.

// errLasting is the error of an expiry where the catalog cannot be told.
var errLasting = failure.Invalid("records of this collection last for ever in the store, and WithoutDefine left it so; open it once without WithoutDefine to let them expire")

// LetExpire makes the catalog say that records expire; e is what it says. Ok is false when
// another program was faster. The caller holds the gate.
func (c *Collection) LetExpire(ctx context.Context, k *store.Call, e *Entry) (ok bool, err error) {
	c.Shared.expires.Store(true)
	if !e.Expiring && !c.Store.Facts.OneProcess {
		e.Expiring = true
		if ok, err := WriteCatalog(ctx, c.Store, k, c.Store.Cat, e); !ok {
			return false, err
		}
	}
	if err := c.outlast(ctx, e, record.MapExpires); err != nil {
		return false, err
	}
	e.Expiring, e.Expires = false, true
	if ok, err := WriteCatalog(ctx, c.Store, k, c.Store.Cat, e); !ok {
		return false, err
	}
	c.know(e)
	return true, nil
}

// StartExpiry lets records of the collection expire: it returns when every program knows.
func (c *Collection) StartExpiry(ctx context.Context, k *store.Call) error {
	return c.Announce(ctx, k, func(e *Entry) (bool, error) {
		switch {
		case e.Expires:
			c.know(e)
			return true, nil
		case c.Attached:
			return false, errLasting
		}
		return c.LetExpire(ctx, k, e)
	})
}
