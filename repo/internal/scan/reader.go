package scan

import (
	"github.com/polystore/polystore/repo/internal/catalog"
	"github.com/polystore/polystore/repo/internal/plan"
)

// A Reader reads the records of a collection.
type Reader struct {
	*catalog.Collection
	KeyAccess []plan.Access // for reads that want keys only
}

// planner returns what plans queries by what is known now.
func (c *Reader) planner() *plan.Planner { return &plan.Planner{Layout: c.Layout, Known: c.Known()} }
