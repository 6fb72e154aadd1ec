package loadtest

import (
	"context"
	"fmt"
	"time"

	"github.com/polystore/polystore/loadtest/internal/format"
	"github.com/polystore/polystore/loadtest/internal/limit"
)

// A WrongAnswers error says that two models gave different answers to the same
// call, or that an index does not agree with its records.
type WrongAnswers struct{ Text string }

// Error returns the first difference.
func (e *WrongAnswers) Error() string { return "wrong answers: " + e.Text }

// A probe is what the sampled calls of a query cost a candidate, one after the
// other, with nothing else going on.
type probe struct {
	calls   int
	nothing int // of them, that did nothing
	each    costEach
	found   float64 // records
}

// A comparison makes sure that all candidates give the same answers.
type comparison struct {
	w          *Workload
	stream     *stream
	candidates []*candidate
	progress   *progress
	calls      int // that all candidates were sent
}

// run sends sampled calls to every candidate and compares what they answer.
func (cp *comparison) run(ctx context.Context) error {
	step := cp.progress.begin("compare answers", 0, "calls")
	defer step.end()
	for _, writes := range []bool{false, true} {
		for i, q := range cp.w.queries {
			if q.writes() != writes {
				continue
			}
			n := min(limit.SampledReads, max(cp.stream.data[q.collection.at].n, limit.SampledAgain)) // of few records few say it all
			if writes {
				n = limit.SampledWrites
			}
			calls := cp.stream.only(i, n, i*limit.SampledWrites)
			cp.stream.follow(calls)
			if err := cp.query(ctx, i, calls, step); err != nil {
				return err
			}
		}
	}
	for i, q := range cp.w.queries {
		if q.writes() {
			continue
		}
		if err := cp.query(ctx, i, cp.stream.only(i, limit.SampledAgain, 0), step); err != nil {
			return err
		}
	}
	return cp.contents(ctx)
}

// query compares the answers to calls of one query.
func (cp *comparison) query(ctx context.Context, at int, calls []call, step *step) error {
	var first []reply // the most that there are, and whose they are
	whose, least := "", len(calls)
	for _, c := range cp.candidates {
		replies, p, err := c.probe(ctx, calls)
		if err != nil {
			return err
		}
		step.add(len(replies))
		if c.probes[at].calls < p.calls {
			c.probes[at] = p
		}
		least = min(least, len(replies))
		for j := range min(len(first), len(replies)) {
			if text := differ(&calls[j], first[j], replies[j]); text != "" {
				return &WrongAnswers{fmt.Sprintf("%s: %s and %s: %s", &calls[j], whose, c.label, text)}
			}
		}
		if len(replies) > len(first) {
			first, whose = replies, c.label
		}
	}
	cp.calls += least
	return nil
}

// probe sends calls to a candidate, one after the other. Of reads it leaves the
// last ones out when they take too long; writes are all done, so that candidates
// stay alike.
func (c *candidate) probe(ctx context.Context, calls []call) ([]reply, probe, error) {
	replies := make([]reply, 0, len(calls))
	before, err := c.store.begin(ctx)
	if err != nil {
		return nil, probe{}, err
	}
	began := time.Now()
	for i := range calls {
		if !calls[i].q.writes() && i >= limit.LeastSamples && time.Since(began) > limit.SampleTime {
			break
		}
		a, err := c.do(ctx, &calls[i], true)
		if ctx.Err() != nil {
			return nil, probe{}, ctx.Err()
		}
		o := outcomeOf(ctx, err)
		if o == failed {
			return nil, probe{}, fmt.Errorf("%s on %s: %w", &calls[i], c.label, err)
		}
		replies = append(replies, reply{a, o, err})
	}
	spent, err := c.store.since(ctx, before)
	p := probe{calls: len(replies), each: spent.each(len(replies))}
	for i, r := range replies {
		p.found += float64(r.n) / float64(len(replies))
		if calls[i].effect(r.answer, r.outcome).nothing() {
			p.nothing++
		}
	}
	return replies, p, err
}

// contents compares all records of all candidates.
func (cp *comparison) contents(ctx context.Context) error {
	for _, col := range cp.w.collections {
		var first contents
		for i, c := range cp.candidates {
			got, err := contentsOf(ctx, c.repos[col.at])
			if err != nil {
				return err
			}
			if i == 0 {
				first = got
			} else if got != first {
				return &WrongAnswers{fmt.Sprintf("after the same writes, collection %s has %s in %s, and %s in %s, and they are not all the same",
					col.schema.Collection, format.Plural(first.n, "record"), cp.candidates[0].label, format.Count(got.n), c.label)}
			}
		}
	}
	return nil
}

// verify makes sure that the indexes of a candidate agree with its records.
func (c *candidate) verify(ctx context.Context) error {
	for _, r := range c.repos {
		reports, err := r.Verify(ctx)
		if err != nil {
			return err
		}
		for _, rep := range reports {
			if !rep.Clean() {
				return &WrongAnswers{fmt.Sprintf("after the run index %s of %s does not agree with its records: %s missing, %s that should not be there; %s",
					rep.Index, c.label, format.Plural(rep.Missing, "row"), format.Count(rep.Stale), rep.Samples[0])}
			}
		}
	}
	return nil
}
