package scan

import (
	"context"
	"fmt"

	"github.com/polystore/polystore/repo/internal/plan"
)

// answers returns an error if what was read by a plan may lack something: because the schema
// was changed meanwhile, or because records lack fields by now that all had before.
func (c *Reader) answers(ctx context.Context, p *plan.Plan) error {
	if err := c.Holds(ctx, p.X); err != nil {
		return err
	}
	n := c.planner()
	if p.X == nil || p.Known == n.Known.Presence {
		return nil
	}
	if fixed, _, _ := n.FitsTable(&p.Bound, p.X); n.LacksRows(&p.Bound, p.X, fixed) {
		return fmt.Errorf("while it was read, another program wrote records without a field: %w", n.LackingRows(&p.Bound, p.X))
	}
	return nil
}
