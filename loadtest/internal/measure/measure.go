// Package measure runs the rounds of all candidates. Candidates and a stream of operations come in; what
// the rounds gave goes out, for each candidate.
package measure

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/polystore/polystore/loadtest/internal/candidate"
	"github.com/polystore/polystore/loadtest/internal/format"
	"github.com/polystore/polystore/loadtest/internal/limit"
	"github.com/polystore/polystore/loadtest/internal/operation"
	"github.com/polystore/polystore/loadtest/internal/pace"
	"github.com/polystore/polystore/loadtest/internal/progress"
	"github.com/polystore/polystore/loadtest/internal/random"
	"github.com/polystore/polystore/loadtest/internal/workload"
	"github.com/polystore/polystore/loadtest/report"
)

// A Measurement runs the rounds of all candidates.
type Measurement struct {
	w          *workload.Workload
	stream     *operation.Stream
	candidates []*candidate.Candidate
	Of         []*Measured // by candidate
	progress   *progress.Log
	bench      pace.Bench
	first      int // number of the first insert of the next round
	began      time.Time
	share      *Share           // that this process sends, nil if it sends all
	others     []operation.Call // of the next round, that other processes send

	Trace *operation.Trace // that has the operations of the rounds, nil if they are drawn

	Observe func(*candidate.Candidate, *pace.Sample) // is told of each operation, of one after the other; nil is nobody
}

// New returns one that has measured nothing. The clock is the machine's if it is nil.
func New(w *workload.Workload, s *operation.Stream, candidates []*candidate.Candidate, p *progress.Log, by pace.Clock) *Measurement {
	m := &Measurement{w: w, stream: s, candidates: candidates, progress: p}
	for range candidates {
		m.Of = append(m.Of, newMeasured(len(w.Queries)))
	}
	if by == nil {
		by = &pace.MachineClock{}
	}
	m.bench = pace.Bench{Clock: by, Rate: w.Rate, Slots: w.Slots, Grace: limit.Grace(w.Round)}
	return m
}

// After lets what is inserted have numbers that another measurement of the same candidates has not used.
func (m *Measurement) After(other *Measurement) { m.first = other.first }

// Run does a round of each candidate that does not count, then the rounds that
// do, in an order that is drawn anew for each two rounds and turned round in the
// second.
func (m *Measurement) Run(ctx context.Context) error {
	defer func() { m.bench.Watch = nil }()
	m.first, m.began = limit.SampledWrites*len(m.w.Queries), time.Now()
	if m.share != nil {
		m.began = m.share.Start
	}
	order := random.New(m.w.Seed, "order of rounds", 0)
	var perm []int
	for number := 0; number <= m.w.Rounds; number++ {
		if number%2 == 1 || number == 0 {
			perm = order.Perm(len(m.candidates))
		} else {
			slices.Reverse(perm)
		}
		if err := m.roundOfAll(ctx, number, perm); err != nil {
			return err
		}
	}
	return nil
}

func (m *Measurement) roundOfAll(ctx context.Context, number int, perm []int) error {
	calls, err := m.operations(number)
	if err != nil {
		return err
	}
	m.stream.Follow(calls)
	m.first += len(calls)
	calls = m.own(calls)
	for place, i := range perm {
		c, of := m.candidates[i], m.Of[i]
		if report.Hopeless(of.Rounds) && m.share == nil { // which other shares cannot know
			continue
		}
		if err := m.await(ctx, number, place, i); err != nil {
			return err
		}
		m.watch(number, place, c.Label)
		r, err := m.round(ctx, c, of, calls)
		if err == nil && r.Failed+r.Unfinished > 0 {
			err = c.Answers(ctx)
		}
		if err := c.Store.LostIn(ctx, "in "+m.title(number), err); err != nil {
			return err
		}
		if r.Number = number; number > 0 {
			r.Began = time.Since(m.began) - r.Took
			of.Rounds = append(of.Rounds, *r)
			of.keep(m.bench.Samples)
			for s := range m.bench.Parts {
				of.keepOne(s)
			}
		}
	}
	return nil
}

// operations returns those of the next round, and sets when they are due if a trace says that.
func (m *Measurement) operations(number int) (calls []operation.Call, err error) {
	if m.Trace != nil {
		calls, m.bench.Due, err = m.Trace.Round(number, m.first)
		return calls, err
	}
	n := m.w.RoundOps()
	if number == 0 {
		n = max(n/2, 1) // to warm up
	}
	return m.stream.Mixed("round "+format.Count(number), n, m.first), nil
}

// Try does rounds of a candidate at another rate, each of n operations, after one that does not count. They are no part of
// what the candidate is Measured by.
func (m *Measurement) Try(ctx context.Context, i, rate, rounds, n int) (*Measured, error) {
	defer func(was int) { m.bench.Rate = was }(m.bench.Rate)
	m.bench.Rate = rate
	stream := m.stream.Branch(rate) // what is inserted is there for this candidate alone
	c, of := m.candidates[i], newMeasured(len(m.w.Queries))
	for number := range rounds + 1 {
		ops := n
		if number == 0 {
			ops = max(n/2, 1) // to warm up
		}
		calls := stream.Mixed(fmt.Sprintf("round %d at %d", number, rate), ops, m.first)
		stream.Inserted(calls)
		m.first += ops
		r, err := m.round(ctx, c, of, calls)
		if err == nil && r.Failed+r.Unfinished > 0 {
			err = c.Answers(ctx)
		}
		if err := c.Store.LostIn(ctx, fmt.Sprintf("at %d a second", rate), err); err != nil {
			return nil, err
		}
		if r.Number = number; number > 0 {
			r.Series = nil // large, and nobody asks for it
			for j := range r.Queries {
				r.Queries[j].Response = "" // as that
			}
			of.Rounds = append(of.Rounds, *r)
		} else {
			of.Failures = 0
		}
	}
	return of, nil
}

// round sends the calls to a candidate at the rate.
func (m *Measurement) round(ctx context.Context, c *candidate.Candidate, of *Measured, calls []operation.Call) (*report.RoundResult, error) {
	runtime.GC() // every round begins alike
	m.bench.Shares = c.Store.InProcess()
	before, err := c.Store.Begin(ctx)
	if err != nil {
		return nil, err
	}
	took := m.send(ctx, c, len(calls), func(ctx context.Context, i int) (int, operation.Outcome) {
		a, err := c.Do(ctx, &calls[i], false)
		o := calls[i].Effect(a, operation.OutcomeOf(ctx, err))
		if o == operation.Failed {
			of.note(&calls[i], err)
		}
		for _, step := range a.Steps {
			m.bench.Part(i, step)
		}
		return calls[i].At, o
	})
	spent, err := c.Store.Since(ctx, before)
	r := m.bench.Result(m.w.Queries)
	r.Took, r.CPU, r.ServerCPU = took, spent.Client, spent.Server
	r.Trips, r.Requests, r.Rows = spent.Trips, spent.Requests, spent.Rows
	if c.Store.InProcess() { // a server on this machine would be one of the other programs
		r.Others = spent.Others()
	}
	if err == nil {
		err = c.Seen.Settle(c.Label)
	}
	r.Heap = heapBytes()
	return r, err
}

// send sends n operations to a candidate.
func (m *Measurement) send(ctx context.Context, c *candidate.Candidate, n int, do func(context.Context, int) (int, operation.Outcome)) time.Duration {
	if m.Observe != nil {
		m.bench.Each = func(s *pace.Sample) { m.Observe(c, s) }
	}
	return m.bench.Run(ctx, n, do)
}

// heapBytes returns what is alive on the heap.
func heapBytes() uint64 {
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return s.HeapAlloc
}
