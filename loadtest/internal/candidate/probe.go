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
		x := f.stored(f.parts[q.Collection.At])
		switch {
		case x.isTree():
			t.Calls[at] = treeCall * x.each()
		case q.Writes():
		case c.Scans[at]:
			t.Calls[at] = x.whole(c.each(ctx, sample(at, 1)))
			t.Scans += q.Weight / 100 * t.Calls[at].Seconds()
		default:
			t.Calls[at] = c.each(ctx, sample(at, limit.LeastSamples))
			longest = max(longest, t.Calls[at])
		}
	}
	for at, q := range w.Queries {
		if q.Writes() {
			t.Calls[at] = max(longest, t.Calls[at])
		}
	}
	for _, x := range f.parts {
		walk, verify := f.stored(x).upkeep(ctx)
		if x != f.stored(x) {
			verify = walk // its lists are looked at
		}
		t.Walk, t.Whole = t.Walk+walk, t.Whole+verify
	}
	return t
}

// Of trees, and of what an earlier run loaded, nothing is tried out: trees would have to be whole, and the other is large.
// How many times as long as to load a record this takes is a guess, by runs on Pebble.
const (
	treeCall   = 4
	walkPart   = 4 // this part of it
	verifyPart = 1
)

func (x *part) isTree() bool { return x.c.forests[x.col.At] != nil }

// each returns how long it takes to load a record.
func (x *part) each() time.Duration {
	if x.c.Taken {
		return x.c.Kept.Took / time.Duration(max(x.total*len(x.c.names), 1))
	}
	return x.took / time.Duration(max(x.n, 1))
}

// upkeep returns how long it takes to read all records, and to verify them.
func (x *part) upkeep(ctx context.Context) (walk, verify time.Duration) {
	if x.isTree() || x.c.Taken {
		all := x.each() * time.Duration(x.total)
		return all / walkPart, all / verifyPart
	}
	began := time.Now()
	for rec, err := range x.c.All(ctx, x.col.At) {
		if err != nil {
			break
		}
		_ = value.Canonical(rec)
	}
	walk = x.whole(time.Since(began))
	began = time.Now()
	_, _ = disagreeing(ctx, x.c.Store.Repo, x.names)
	if s := x.c.shelves[x.col.At]; s != nil {
		_ = s.verify(ctx, x.c.Label)
	}
	return walk, x.whole(time.Since(began))
}

// each returns how long calls take.
func (c *Candidate) each(ctx context.Context, calls []operation.Call) time.Duration {
	began := time.Now()
	for i := range calls {
		_, _ = c.Do(ctx, &calls[i], false)
	}
	return time.Since(began) / time.Duration(len(calls))
}
