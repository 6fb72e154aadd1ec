package candidate

import (
	"context"
	"time"

	"github.com/polystore/polystore/loadtest/internal/operation"
)

// journey does the steps of a journey one after the other. It ends with the first one that fails or does nothing.
func (c *Candidate) journey(ctx context.Context, k *operation.Call, g *gatherer) error {
	var found []map[string]any
	for i := range k.Parts {
		part, last := &k.Parts[i], i == len(k.Parts)-1
		if k.Q.Steps[i].Found {
			if len(found) == 0 {
				return nil
			}
			own := part.Take(found)
			part = &own
		}
		began := time.Now()
		a, err := c.Do(ctx, part, g.keep || !last && k.Q.Steps[i+1].Found)
		o := part.Effect(a, operation.OutcomeOf(ctx, err))
		g.Steps = append(g.Steps, operation.Step{At: part.At, Call: part, Outcome: o, Took: time.Since(began)})
		if err != nil {
			return err
		}
		found = a.Records
		if g.N += a.N; part.Q.Writes() {
			g.N++ // it did something
		}
		if g.keep {
			g.Records = append(g.Records, a.Records...)
		}
	}
	return nil
}
