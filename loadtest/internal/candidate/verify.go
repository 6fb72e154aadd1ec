package candidate

import (
	"context"
	"fmt"

	"github.com/polystore/polystore/loadtest/internal/failure"
	"github.com/polystore/polystore/loadtest/internal/format"
)

// Verify makes sure that the indexes of a candidate agree with its records.
func (c *Candidate) Verify(ctx context.Context) error {
	for _, r := range c.Repos {
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
	return nil
}
