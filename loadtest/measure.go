package loadtest

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
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

// A round is what one round of a candidate gave.
type round struct {
	number     int
	ops        int
	took       time.Duration
	spent      cost
	backlog    backlog
	stall      stall
	lag        time.Duration // 99th percentile
	unfinished int
	heap       uint64 // bytes after the round, collected
	queries    []roundQuery
}

// A roundQuery is what one round gave for one query.
type roundQuery struct {
	outcomes [unfinished + 1]int
	work     time.Duration // median of wait and service together
	calls    int64
	p50, p99 mark
	marks    []mark // by objective
	response string // times, encoded: a histogram kept for each round would be memory that grows
}

func (r *round) cpuPerOp() float64 {
	return float64(r.spent.cpu()) / float64(max(r.ops-r.unfinished, 1))
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
	calls := m.stream.mixed("round "+showCount(number), n, m.first)
	m.stream.follow(calls)
	m.first += n
	for _, i := range perm {
		c := m.candidates[i]
		if c.hopeless() {
			continue
		}
		m.progress.status("round %d of %d: %s", number, m.w.Rounds, c.label)
		r, err := m.round(ctx, c, calls)
		if err == nil && r.troubled() {
			err = c.answers(ctx)
		}
		if err := c.store.lostIn(ctx, fmt.Sprintf("in round %d of %d", number, m.w.Rounds), err); err != nil {
			return err
		}
		if r.number = number; number > 0 {
			c.rounds = append(c.rounds, r)
			m.keep(c)
		}
	}
	return nil
}

// round sends the calls to a candidate at the rate.
func (m *measurement) round(ctx context.Context, c *candidate, calls []call) (*round, error) {
	runtime.GC() // every round begins alike
	m.bench.shares = c.store.inProcess()
	before, err := c.store.begin(ctx)
	if err != nil {
		return nil, err
	}
	r := &round{ops: len(calls)}
	r.took = m.bench.run(ctx, len(calls), func(ctx context.Context, i int) (int, outcome) {
		a, err := c.do(ctx, &calls[i], false)
		o := calls[i].effect(a, outcomeOf(ctx, err))
		if o == failed {
			c.note(&calls[i], err)
		}
		return calls[i].at, o
	})
	r.spent, err = c.store.since(ctx, before)
	r.count(&m.bench, m.w.queries)
	r.heap = heapBytes()
	return r, err
}

// heapBytes returns what is alive on the heap.
func heapBytes() uint64 {
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return s.HeapAlloc
}

// count takes the samples of a round.
func (r *round) count(b *bench, queries []*query) {
	r.queries = make([]roundQuery, len(queries))
	r.backlog, r.stall = b.backlog(), b.stall()
	work, times, lag := make([][]int64, len(queries)), make([]spans, len(queries)), make([]int64, len(b.samples))
	for i := range b.samples {
		s := &b.samples[i]
		q := &r.queries[s.at]
		q.outcomes[s.outcome]++
		q.calls++
		work[s.at] = append(work[s.at], s.wait+s.service)
		times[s.at].add(s)
		lag[i] = s.lag
		if s.outcome == unfinished {
			r.unfinished++
		}
	}
	slices.Sort(lag)
	r.lag = time.Duration(lag[(len(lag)*99+99)/100-1])
	h := hdrhistogram.New(1000, longestTime, 3)
	for at, list := range work {
		if len(list) == 0 {
			continue
		}
		slices.Sort(list)
		times[at].sort()
		q := &r.queries[at]
		q.work = time.Duration(list[len(list)/2])
		q.p50, q.p99 = times[at].mark(50, 0), times[at].mark(99, 0)
		for _, o := range queries[at].objectives {
			q.marks = append(q.marks, times[at].mark(o.percentile, o.bound))
		}
		h.Reset()
		for _, x := range times[at].response {
			_ = h.RecordValue(min(max(x, 0), longestTime)) // never out of range
		}
		q.response = encoded(h)
	}
}

// keep adds the samples of the round to the candidate's histograms.
func (m *measurement) keep(c *candidate) {
	for i := range m.bench.samples {
		s := &m.bench.samples[i]
		c.spectra[s.at].record(s)
		c.all.record(s)
		if cut := time.Duration(s.response()); s.outcome == unfinished && (c.cuts[s.at] == 0 || cut < c.cuts[s.at]) {
			c.cuts[s.at] = cut
		}
	}
}
