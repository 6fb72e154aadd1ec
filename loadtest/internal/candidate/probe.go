package candidate

import (
	"context"
	"fmt"
	"time"

	"github.com/polystore/polystore/loadtest/internal/limit"
	"github.com/polystore/polystore/loadtest/internal/operation"
	"github.com/polystore/polystore/loadtest/internal/store"
)

// A Reply is an answer with the way it ended.
type Reply struct {
	operation.Answer
	Outcome operation.Outcome
	Err     error
}

// A probe is what the sampled calls of a query cost a candidate, one after the
// other, with nothing else going on.
type probe struct {
	Calls   int
	Nothing int // of them, that did nothing
	Each    store.CostEach
	Found   float64 // records
}

// Probe sends calls to a candidate, one after the other. Of reads it leaves the
// last ones out when they take too long; writes are all done, so that candidates
// stay alike.
func (c *Candidate) Probe(ctx context.Context, calls []operation.Call) ([]Reply, probe, error) {
	replies := make([]Reply, 0, len(calls))
	before, err := c.Store.Begin(ctx)
	if err != nil {
		return nil, probe{}, err
	}
	began := time.Now()
	for i := range calls {
		if !calls[i].Q.Writes() && i >= limit.LeastSamples && time.Since(began) > limit.SampleTime {
			break
		}
		a, err := c.Do(ctx, &calls[i], true)
		if ctx.Err() != nil {
			return nil, probe{}, ctx.Err()
		}
		o := operation.OutcomeOf(ctx, err)
		if o == operation.Failed {
			return nil, probe{}, fmt.Errorf("%s on %s: %w", &calls[i], c.Label, err)
		}
		replies = append(replies, Reply{a, o, err})
	}
	spent, err := c.Store.Since(ctx, before)
	p := probe{Calls: len(replies), Each: spent.Each(len(replies))}
	for i, r := range replies {
		p.Found += float64(r.N) / float64(len(replies))
		if calls[i].Effect(r.Answer, r.Outcome).Nothing() {
			p.Nothing++
		}
	}
	return replies, p, err
}
