package upkeep

import (
	"context"
	"time"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/catalog"
	"github.com/polystore/polystore/repo/internal/commit"
	"github.com/polystore/polystore/repo/internal/layout"
)

// A Keeper opens a collection, and keeps its indexes and what was deleted in order.
type Keeper struct {
	*commit.Writer
}

// Succeed makes c the view that follows another one, by an entry that was read at a time.
func (c *Keeper) Succeed(ctx context.Context, from *Keeper, e *catalog.Entry, began time.Time) error {
	c.Inherit(from.Collection, e, began)
	return c.define(ctx, c.Tables(c.unmade())...)
}

// define makes tables exist, or sees that they do.
func (c *Keeper) define(ctx context.Context, tables ...*driver.Table) error {
	if c.Attached {
		return c.Store.Driver.Attach(ctx, tables)
	}
	return c.Store.Driver.Define(ctx, tables)
}

// unmade returns the indexes that the store is to keep, and does not yet.
func (c *Keeper) unmade() (list []*layout.Index) {
	for _, x := range c.Indexes {
		if x.Native && x.Stage != layout.Ready {
			list = append(list, x)
		}
	}
	return list
}
