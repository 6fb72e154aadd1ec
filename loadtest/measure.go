package loadtest

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/polystore/polystore/loadtest/internal/format"
	"github.com/polystore/polystore/loadtest/internal/limit"
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

func newSpectra() spectra {
	var s spectra
	for i := range s {
		s[i] = hdrhistogram.New(1000, limit.LongestTime, 3)
	}
	return s
}

func (s spectra) record(x *sample) {
	for i, v := range [kindsOfTime]int64{x.lag, x.wait, x.service, x.response()} {
		_ = s[i].RecordValue(min(max(v, 0), limit.LongestTime)) // never out of range
	}
}

// A measured is what the rounds of a candidate gave.
type measured struct {
	rounds   []report.RoundResult
	spectra  []spectra             // by query
	all      spectra               // of all queries together
	cuts     []time.Duration       // by query: the least response of a call that was cut off, 0 if none was
	outcomes [][unfinished + 1]int // by query: how many calls ended so

	mu       sync.Mutex
	failures int
	failure  string // the first one
}

func newMeasured(queries int) *measured {
	m := &measured{all: newSpectra(), cuts: make([]time.Duration, queries), outcomes: make([][unfinished + 1]int, queries)}
	for range queries {
		m.spectra = append(m.spectra, newSpectra())
	}
	return m
}

// note keeps an operation's error.
func (m *measured) note(k *call, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.failures++; m.failures == 1 {
		m.failure = fmt.Sprintf("%s: %v", k, err)
	}
}

// keep adds the samples of a round to the histograms.
func (m *measured) keep(samples []sample) {
	for i := range samples {
		s := &samples[i]
		m.spectra[s.at].record(s)
		m.all.record(s)
		m.outcomes[s.at][s.outcome]++
		if cut := time.Duration(s.response()); s.outcome == unfinished && (m.cuts[s.at] == 0 || cut < m.cuts[s.at]) {
			m.cuts[s.at] = cut
		}
	}
}

// A measurement runs the rounds of all candidates.
type measurement struct {
	w          *Workload
	stream     *stream
	candidates []*candidate
	of         []*measured // by candidate
	progress   *progress
	bench      bench
	first      int // number of the first insert of the next round
}

// newMeasurement returns one that has measured nothing. The clock is the machine's if it is nil.
func newMeasurement(w *Workload, s *stream, candidates []*candidate, p *progress, by clock) *measurement {
	m := &measurement{w: w, stream: s, candidates: candidates, progress: p}
	for range candidates {
		m.of = append(m.of, newMeasured(len(w.queries)))
	}
	if by == nil {
		by = &machineClock{}
	}
	m.bench = bench{clock: by, rate: w.Rate, slots: w.Slots, grace: max(w.Round, limit.MinGrace)}
	return m
}

// run does a round of each candidate that does not count, then the rounds that
// do, in an order that is drawn anew for each two rounds and turned round in the
// second.
func (m *measurement) run(ctx context.Context) error {
	m.first = limit.SampledWrites * len(m.w.queries)
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
		c, of := m.candidates[i], m.of[i]
		if report.Hopeless(of.rounds) {
			continue
		}
		m.progress.status("round %d of %d: %s", number, m.w.Rounds, c.label)
		r, err := m.round(ctx, c, of, calls)
		if err == nil && r.Failed+r.Unfinished > 0 {
			err = c.answers(ctx)
		}
		if err := c.store.lostIn(ctx, fmt.Sprintf("in round %d of %d", number, m.w.Rounds), err); err != nil {
			return err
		}
		if r.Number = number; number > 0 {
			of.rounds = append(of.rounds, *r)
			of.keep(m.bench.samples)
		}
	}
	return nil
}

// round sends the calls to a candidate at the rate.
func (m *measurement) round(ctx context.Context, c *candidate, of *measured, calls []call) (*report.RoundResult, error) {
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
			of.note(&calls[i], err)
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
	h := hdrhistogram.New(1000, limit.LongestTime, 3)
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
		_ = h.RecordValue(min(max(x, 0), limit.LongestTime)) // never out of range
	}
	r.Response = encoded(h)
	return r
}

func encoded(h *hdrhistogram.Histogram) string {
	text, err := h.EncodeV2()
	if err != nil {
		return "" // it is encoded into memory, which cannot fail
	}
	return string(text)
}
