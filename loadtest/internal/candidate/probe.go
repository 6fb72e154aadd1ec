package candidate

import (
	"context"
	"fmt"
	"time"

	"github.com/polystore/polystore/loadtest/internal/limit"
	"github.com/polystore/polystore/loadtest/internal/operation"
	"github.com/polystore/polystore/loadtest/internal/oracle"
	"github.com/polystore/polystore/loadtest/internal/store"
	"github.com/polystore/polystore/loadtest/internal/value"
	"github.com/polystore/polystore/loadtest/internal/workload"
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

// Times are how long the calls of a candidate take.
type Times struct {
	Calls []time.Duration // by query
	Scans float64         // processors that those need which read every record, per call of the mix a second
	Walk  time.Duration   // to read all records
	Whole time.Duration   // to verify the indexes
}

// Times returns how long calls take, by a few that read what is loaded so far. What they answer is not looked at: not all
// is there. Calls that write are taken to be as long as the longest read that does not scan.
func (f *Filling) Times(ctx context.Context, w *workload.Workload, sample func(at, n int) []operation.Call) Times {
	c, t := f.Of, Times{Calls: make([]time.Duration, len(w.Queries))}
	defer func(seen *oracle.Oracle) { c.Seen = seen }(c.Seen)
	c.Seen = nil
	longest := time.Duration(0)
	for at, q := range w.Queries {
		if q.Writes() {
			continue
		}
		began, calls := time.Now(), sample(at, limit.LeastSamples)
		for i := range calls {
			_, _ = c.Do(ctx, &calls[i], false)
		}
		t.Calls[at] = time.Since(began) / time.Duration(len(calls))
		if c.Scans[at] {
			t.Calls[at] = f.parts[q.Collection.At].whole(t.Calls[at])
			t.Scans += q.Weight / 100 * t.Calls[at].Seconds()
		} else {
			longest = max(longest, t.Calls[at])
		}
	}
	for at, q := range w.Queries {
		if q.Writes() {
			t.Calls[at] = longest
		}
	}
	for _, x := range f.parts {
		began := time.Now()
		for rec, err := range c.All(ctx, x.col.At) {
			if err != nil {
				break
			}
			_ = value.Canonical(rec)
		}
		t.Walk += x.whole(time.Since(began))
		began = time.Now()
		_, _ = c.disagreeing(ctx, x.names)
		t.Whole += x.whole(time.Since(began))
	}
	return t
}
