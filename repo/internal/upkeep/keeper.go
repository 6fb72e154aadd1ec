package upkeep

import (
	"context"
	"time"

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
	return c.define(ctx, OpenOptions{Attach: c.Attached}, c.Tables(c.unmade())...)
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
