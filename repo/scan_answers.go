package repo

import (
	"context"
	"fmt"
)

// answers returns an error if what was read by a plan may lack something: because the schema
// was changed meanwhile, or because records lack fields by now that all had before.
func (c *collection) answers(ctx context.Context, p *plan) error {
	if err := c.holds(ctx); err != nil {
		return err
	}
	now := c.shared.presence.Load()
	if p.x == nil || p.known == now {
		return nil
	}
	if fixed, _, _ := c.fitsTable(&p.bound, p.x); c.lacksRows(&p.bound, p.x, fixed, now) {
		return fmt.Errorf("while it was read, another program wrote records without a field: %w", c.lackingRows(&p.bound, p.x, now))
	}
	return nil
}
