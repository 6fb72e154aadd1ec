// Package compare makes sure that candidates give the same answers. Candidates that are filled come in;
// the number of calls on which they agree goes out, or the first difference.
package compare

import (
	"context"
	"fmt"

	"github.com/polystore/polystore/loadtest/internal/candidate"
	"github.com/polystore/polystore/loadtest/internal/failure"
	"github.com/polystore/polystore/loadtest/internal/format"
	"github.com/polystore/polystore/loadtest/internal/limit"
	"github.com/polystore/polystore/loadtest/internal/operation"
	"github.com/polystore/polystore/loadtest/internal/progress"
	"github.com/polystore/polystore/loadtest/internal/workload"
)

// A Comparison makes sure that all candidates give the same answers.
type Comparison struct {
	W          *workload.Workload
	Stream     *operation.Stream
	Candidates []*candidate.Candidate
	Progress   *progress.Log
	Calls      int // that all candidates were sent
}

// Run sends sampled calls to every candidate and compares what they answer.
func (cp *Comparison) Run(ctx context.Context) error {
	step := cp.Progress.Begin("compare answers", 0, "calls")
	defer step.End()
	for _, writes := range []bool{false, true} {
		for i, q := range cp.W.Queries {
			if q.Writes() != writes {
				continue
			}
			n := min(limit.SampledReads, max(cp.Stream.Data[q.Collection.At].Len, limit.SampledAgain)) // of few records few say it all
			if writes {
				n = limit.SampledWrites
			}
			calls := cp.Stream.Only(i, n, i*limit.SampledWrites)
			cp.Stream.Follow(calls)
			if err := cp.query(ctx, i, calls, step); err != nil {
				return err
			}
		}
	}
	for i, q := range cp.W.Queries {
		if q.Writes() {
			continue
		}
		if err := cp.query(ctx, i, cp.Stream.Only(i, limit.SampledAgain, 0), step); err != nil {
			return err
		}
	}
	return cp.contents(ctx)
}

// query compares the answers to calls of one query.
func (cp *Comparison) query(ctx context.Context, at int, calls []operation.Call, step *progress.Step) error {
	var first []candidate.Reply // the most that there are, and whose they are
	whose, least := "", len(calls)
	for _, c := range cp.Candidates {
		replies, p, err := c.Probe(ctx, calls)
		if err != nil {
			return err
		}
		step.Add(len(replies))
		if c.Probes[at].Calls < p.Calls {
			c.Probes[at] = p
		}
		least = min(least, len(replies))
		for j := range min(len(first), len(replies)) {
			if text := differ(&calls[j], first[j], replies[j]); text != "" {
				return &failure.WrongAnswers{Text: fmt.Sprintf("%s: %s and %s: %s", &calls[j], whose, c.Label, text)}
			}
		}
		if len(replies) > len(first) {
			first, whose = replies, c.Label
		}
	}
	cp.Calls += least
	return nil
}

// contents compares all records of all candidates.
func (cp *Comparison) contents(ctx context.Context) error {
	for _, col := range cp.W.Collections {
		var first contents
		for i, c := range cp.Candidates {
			got, err := contentsOf(c.All(ctx, col.At))
			if err != nil {
				return err
			}
			if i == 0 {
				first = got
			} else if got != first {
				return &failure.WrongAnswers{Text: fmt.Sprintf("after the same writes, collection %s has %s in %s, and %s in %s, and they are not all the same",
					col.Schema.Collection, format.Plural(first.n, "record"), cp.Candidates[0].Label, format.Count(got.n), c.Label)}
			}
		}
	}
	return nil
}
