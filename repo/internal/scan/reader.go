package scan

import (
	"github.com/polystore/polystore/repo/internal/catalog"
	"github.com/polystore/polystore/repo/internal/plan"
	"github.com/polystore/polystore/repo/internal/store"
)

// A Reader reads the records of a collection.
type Reader struct {
	*catalog.Collection
	KeyAccess []plan.Access // for reads that want keys only
}

// planner returns what plans queries by what is known now.
func (c *Reader) planner() *plan.Planner { return &plan.Planner{Layout: c.Layout, Known: c.Known()} }

// plan finds how to answer the query of a call.
func (c *Reader) plan(k *store.Call, q plan.Query, by []plan.Access) (*plan.Plan, error) {
	p, err := c.planner().Plan(q, by)
	if p.X != nil {
		k.Uses(p.X.ID)
	}
	return p, err
}
