package candidate

import (
	"context"
	"fmt"

	"github.com/polystore/polystore/loadtest/internal/failure"
	"github.com/polystore/polystore/loadtest/internal/format"
)

// Verify makes sure that the indexes of a candidate agree with its records, and that its trees are whole.
func (c *Candidate) Verify(ctx context.Context) error {
	for _, name := range c.Names {
		r, err := stored(ctx, c.Store.Repo, name)
		if err != nil {
			return err
		}
		reports, err := r.Verify(ctx)
		if err != nil {
			return err
		}
		for _, rep := range reports {
			if !rep.Clean() {
				return &failure.WrongAnswers{Text: fmt.Sprintf("after the run index %s of %s does not agree with its records: %s missing, %s that should not be there; %s",
					rep.Index, c.Label, format.Plural(rep.Missing, "row"), format.Count(rep.Stale), rep.Samples[0])}
			}
		}
	}
	for _, f := range c.forests {
		if f == nil {
			continue
		}
		if err := f.verify(ctx, c.Label); err != nil {
			return err
		}
	}
	return nil
}
