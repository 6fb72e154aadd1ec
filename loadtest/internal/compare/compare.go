// Package compare makes sure that candidates give the same answers. Candidates that are filled come in;
// the number of calls on which they agree goes out, or the first difference.
package compare

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/polystore/polystore/loadtest/internal/candidate"
	"github.com/polystore/polystore/loadtest/internal/failure"
	"github.com/polystore/polystore/loadtest/internal/format"
	"github.com/polystore/polystore/loadtest/internal/generate"
	"github.com/polystore/polystore/loadtest/internal/limit"
	"github.com/polystore/polystore/loadtest/internal/operation"
	"github.com/polystore/polystore/loadtest/internal/progress"
	"github.com/polystore/polystore/loadtest/internal/store"
	"github.com/polystore/polystore/loadtest/internal/timing"
	"github.com/polystore/polystore/loadtest/internal/workload"
)

// A Comparison makes sure that all candidates give the same answers.
type Comparison struct {
	W          *workload.Workload
	Stream     *operation.Stream
	Candidates []*candidate.Candidate
	Progress   *progress.Log
	Calls      int // that all candidates were sent

	BeforeWrites func(context.Context) error // is called before the first write; nil is nothing
}

// Run sends sampled calls to every candidate and compares what they answer.
func (cp *Comparison) Run(ctx context.Context) error {
	step := cp.Progress.Begin("compare answers", 0, "calls")
	defer step.End()
	wrote := false
	for _, writes := range []bool{false, true} {
		for i, q := range cp.W.Queries {
			if q.Writes() != writes {
				continue
			}
			if writes && !wrote && cp.BeforeWrites != nil {
				if err := cp.BeforeWrites(ctx); err != nil {
					return err
				}
			}
			wrote = writes
			calls := cp.Stream.Only(i, sampled(q, cp.Stream.Data), i*limit.SampledWrites)
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

// sampled returns how many calls of a query are sent first.
func sampled(q *workload.Query, tables []*generate.Table) int {
	if q.Writes() {
		return limit.SampledWrites
	}
	return min(limit.SampledReads, max(tables[q.Collection.At].Len, limit.SampledAgain)) // of few records few say it all
}

// Takes returns how long it takes to compare a candidate.
func Takes(w *workload.Workload, tables []*generate.Table, t candidate.Times) time.Duration {
	sum := t.Walk
	for i, q := range w.Queries {
		sum += Checked(q, tables, sampled(q, tables)) + Checked(q, tables, limit.SampledAgain)
		most := limit.SampleTime
		if q.Writes() {
			most = math.MaxInt64 // they are all done
		} else {
			sum += timing.Calls(t.Calls[i], limit.SampledAgain, limit.LeastSamples, most)
		}
		sum += timing.Calls(t.Calls[i], sampled(q, tables), limit.LeastSamples, most)
	}
	return sum
}

// Checked returns how long it takes to look at the answers to calls of a query for missing records.
func Checked(q *workload.Query, tables []*generate.Table, calls int) time.Duration {
	if q.Writes() || q.Collection.Tree != nil || slices.Contains([]string{"get", "exists", "groups", "distinct"}, q.Kind) {
		return 0
	}
	return time.Duration(min(calls*tables[q.Collection.At].Len, limit.CheckedLooks)) * limit.LookTime
}

// query compares the answers to calls of one query.
func (cp *Comparison) query(ctx context.Context, at int, calls []operation.Call, step *progress.Step) error {
	replies := make([][]candidate.Reply, len(cp.Candidates))
	var told sync.Mutex
	err := cp.each(func(i int, c *candidate.Candidate) error {
		list, p, err := c.Probe(ctx, calls)
		told.Lock()
		step.Add(len(list))
		told.Unlock()
		if c.Probes[at].Calls < p.Calls {
			c.Probes[at] = p
		}
		replies[i] = list
		return err
	})
	if err != nil {
		return err
	}
	var first []candidate.Reply // the most that there are, and whose they are
	whose, least := "", len(calls)
	for i, list := range replies {
		least = min(least, len(list))
		for j := range min(len(first), len(list)) {
			if text := differ(&calls[j], first[j], list[j]); text != "" {
				return &failure.WrongAnswers{Text: fmt.Sprintf("%s: %s and %s: %s", &calls[j], whose, cp.Candidates[i].Label, text)}
			}
		}
		if len(list) > len(first) {
			first, whose = list, cp.Candidates[i].Label
		}
	}
	cp.Calls += least
	for _, c := range cp.Candidates {
		if err := c.Seen.Settle(c.Label); err != nil {
			return err
		}
	}
	return nil
}

// each calls do for each candidate: those of one store one after the other, since their costs are told apart, and those
// of different stores at the same time.
func (cp *Comparison) each(do func(i int, c *candidate.Candidate) error) error {
	errs := make([]error, len(cp.Candidates))
	of := map[*store.Store][]int{}
	for i, c := range cp.Candidates {
		of[c.Store] = append(of[c.Store], i)
	}
	var all sync.WaitGroup
	for _, list := range of {
		all.Go(func() {
			for _, i := range list {
				if errs[i] = do(i, cp.Candidates[i]); errs[i] != nil {
					return
				}
			}
		})
	}
	all.Wait()
	return cmp.Or(errs...)
}

// contents compares all records of all candidates.
func (cp *Comparison) contents(ctx context.Context) error {
	for _, col := range cp.W.Collections {
		got := make([]Contents, len(cp.Candidates))
		err := cp.each(func(i int, c *candidate.Candidate) (err error) {
			got[i], err = ContentsOf(c.All(ctx, col.At))
			return err
		})
		if err != nil {
			return err
		}
		for i, c := range cp.Candidates {
			if got[i] != got[0] {
				return &failure.WrongAnswers{Text: fmt.Sprintf("after the same writes, collection %s has %s in %s, and %s in %s, and they are not all the same",
					col.Schema.Collection, format.Plural(got[0].n, "record"), cp.Candidates[0].Label, format.Count(got[i].n), c.Label)}
			}
		}
	}
	return nil
}
