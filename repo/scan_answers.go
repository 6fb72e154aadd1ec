package repo

import (
	"context"
	"fmt"
)

// answers returns an error if what was read by a plan may lack something: because the schema
// was changed meanwhile, or because records lack fields by now that all had before.
func (c *reader) answers(ctx context.Context, p *plan) error {
	if err := c.holds(ctx); err != nil {
		return err
	}
	n := c.planner()
	if p.x == nil || p.known == n.known.presence {
		return nil
	}
	if fixed, _, _ := n.fitsTable(&p.bound, p.x); n.lacksRows(&p.bound, p.x, fixed) {
		return fmt.Errorf("while it was read, another program wrote records without a field: %w", n.lackingRows(&p.bound, p.x))
	}
	return nil
}
