package repo

import "context"

// Programs that know of no record that expires count by the store, which looks at no clock,
// and patch without a look at what is there. So before the first record of a collection
// expires, the catalog says that records will, and all programs are told.

// errLasting is the error of an expiry where the catalog cannot be told.
var errLasting = invalid("records of this collection last for ever in the store, and WithoutDefine left it so; open it once without WithoutDefine to let them expire")

// letExpire makes the catalog say that records expire; e is what it says. Ok is false when
// another program was faster. The caller holds the gate.
func (c *catalogC) letExpire(ctx context.Context, k *call, e *catalogEntry) (ok bool, err error) {
	c.shared.expires.Store(true)
	if !e.Expiring && !c.store.facts.OneProcess {
		e.Expiring = true
		if ok, err := writeCatalog(ctx, c.store, k, c.store.cat, e); !ok {
			return false, err
		}
	}
	if err := c.outlast(ctx, e, mapExpires); err != nil {
		return false, err
	}
	e.Expiring, e.Expires = false, true
	if ok, err := writeCatalog(ctx, c.store, k, c.store.cat, e); !ok {
		return false, err
	}
	c.know(e)
	return true, nil
}

func (c *catalogC) startExpiry(ctx context.Context, k *call) error {
	return c.announce(ctx, k, func(e *catalogEntry) (bool, error) {
		switch {
		case e.Expires:
			c.know(e)
			return true, nil
		case c.attached:
			return false, errLasting
		}
		return c.letExpire(ctx, k, e)
	})
}
