package loadtest

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/polystore/polystore/loadtest/internal/format"
	"github.com/polystore/polystore/loadtest/report"
)

// The times that are kept of each query, as indexes of spectra.
const (
	lagTime = iota
	waitTime
	serviceTime
	responseTime
	kindsOfTime
)

// spectra are histograms of the four times, in nanoseconds.
type spectra [kindsOfTime]*hdrhistogram.Histogram

const longestTime = int64(10 * time.Minute)

func newSpectra() spectra {
	var s spectra
	for i := range s {
		s[i] = hdrhistogram.New(1000, longestTime, 3)
	}
	return s
}

func (s spectra) record(x *sample) {
	for i, v := range [kindsOfTime]int64{x.lag, x.wait, x.service, x.response()} {
		_ = s[i].RecordValue(min(max(v, 0), longestTime)) // never out of range
	}
}

// A measurement runs the rounds of all candidates.
type measurement struct {
	w          *Workload
	stream     *stream
	candidates []*candidate
	progress   *progress
	bench      bench
	first      int // number of the first insert of the next round
}

// run does a round of each candidate that does not count, then the rounds that
// do, in an order that is drawn anew for each two rounds and turned round in the
// second.
func (m *measurement) run(ctx context.Context) error {
	m.bench.rate, m.bench.slots = m.w.Rate, m.w.Slots
	m.bench.grace = max(m.w.Round, 2*time.Second)
	if m.bench.clock == nil {
		m.bench.clock = &machineClock{}
	}
	m.first = sampledWrites * len(m.w.queries)
	order := newRand(m.w.Seed, "order of rounds", 0)
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

func (m *measurement) roundOfAll(ctx context.Context, number int, perm []int) error {
	n := m.w.roundOps()
	if number == 0 {
		n = max(n/2, 1) // to warm up
	}
	calls := m.stream.mixed("round "+format.Count(number), n, m.first)
	m.stream.follow(calls)
	m.first += n
	for _, i := range perm {
		c := m.candidates[i]
		if report.Hopeless(c.rounds) {
			continue
		}
		m.progress.status("round %d of %d: %s", number, m.w.Rounds, c.label)
		r, err := m.round(ctx, c, calls)
		if err == nil && r.Failed+r.Unfinished > 0 {
			err = c.answers(ctx)
		}
		if err := c.store.lostIn(ctx, fmt.Sprintf("in round %d of %d", number, m.w.Rounds), err); err != nil {
			return err
		}
		if r.Number = number; number > 0 {
			c.rounds = append(c.rounds, *r)
			m.keep(c)
		}
	}
	return nil
}

// round sends the calls to a candidate at the rate.
func (m *measurement) round(ctx context.Context, c *candidate, calls []call) (*report.RoundResult, error) {
	runtime.GC() // every round begins alike
	m.bench.shares = c.store.inProcess()
	before, err := c.store.begin(ctx)
	if err != nil {
		return nil, err
	}
	took := m.bench.run(ctx, len(calls), func(ctx context.Context, i int) (int, outcome) {
		a, err := c.do(ctx, &calls[i], false)
		o := calls[i].effect(a, outcomeOf(ctx, err))
		if o == failed {
			c.note(&calls[i], err)
		}
		return calls[i].at, o
	})
	spent, err := c.store.since(ctx, before)
	r := m.bench.result(m.w.queries)
	r.Took, r.CPU, r.ServerCPU = took, spent.client, spent.server
	r.Trips, r.Requests, r.Rows = spent.trips, spent.requests, spent.rows
	r.Heap = heapBytes()
	return r, err
}

// heapBytes returns what is alive on the heap.
func heapBytes() uint64 {
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return s.HeapAlloc
}

// result sums up the samples of the last round.
func (b *bench) result(queries []*query) *report.RoundResult {
	r := &report.RoundResult{Ops: len(b.samples), Queries: make([]report.RoundQuery, len(queries))}
	b.backlog(r)
	stall := b.stall()
	r.Stall, r.Stalled = stall.took, stall.waiting
	work, times, lag := make([][]int64, len(queries)), make([]spans, len(queries)), make([]int64, len(b.samples))
	for i := range b.samples {
		s := &b.samples[i]
		work[s.at] = append(work[s.at], s.wait+s.service)
		times[s.at].add(s)
		lag[i] = s.lag
		switch s.outcome {
		case failed:
			r.Failed++
		case unfinished:
			r.Unfinished++
		}
	}
	slices.Sort(lag)
	r.Lag = time.Duration(lag[(len(lag)*99+99)/100-1])
	h := hdrhistogram.New(1000, longestTime, 3)
	for at, q := range queries {
		slices.Sort(work[at])
		r.Queries[at] = times[at].result(q, h)
		if n := len(work[at]); n > 0 {
			r.Queries[at].Work = time.Duration(work[at][n/2])
		}
	}
	return r
}

// result sums up the times of a query in a round. The histogram is for its use; one that was kept for
// each round would be memory that grows.
func (t *spans) result(q *query, h *hdrhistogram.Histogram) report.RoundQuery {
	t.sort()
	r := report.RoundQuery{Name: q.name, Calls: int64(len(t.response)), P50: t.mark(50, 0), P99: t.mark(99, 0)}
	for _, o := range q.objectives {
		r.Objectives = append(r.Objectives, t.mark(o.percentile, o.bound))
	}
	h.Reset()
	for _, x := range t.response {
		_ = h.RecordValue(min(max(x, 0), longestTime)) // never out of range
	}
	r.Response = encoded(h)
	return r
}

// keep adds the samples of the round to the candidate's histograms.
func (m *measurement) keep(c *candidate) {
	for i := range m.bench.samples {
		s := &m.bench.samples[i]
		c.spectra[s.at].record(s)
		c.all.record(s)
		c.outcomes[s.at][s.outcome]++
		if cut := time.Duration(s.response()); s.outcome == unfinished && (c.cuts[s.at] == 0 || cut < c.cuts[s.at]) {
			c.cuts[s.at] = cut
		}
	}
}
