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
	backlog    int // still waiting for a slot when the last one was due
	unfinished int
	heap       uint64 // bytes after the round, collected
	queries    []roundQuery
}

// A roundQuery is what one round gave for one query.
type roundQuery struct {
	outcomes [unfinished + 1]int
	work     time.Duration // median of wait and service together
	calls    int64
	response string // times, encoded: a histogram kept for each round would be memory that grows
}

// leastBacklog is how many operations that wait tell something. Of a short round one is
// a hundredth, and may just have become due.
const leastBacklog = 5

// saturated reports whether the candidate fell behind: operations that were due
// and found no slot.
func (r *round) saturated() bool {
	return float64(r.backlog) >= max(leastBacklog, 0.01*float64(r.ops))
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

const dropAfter = 2 // saturated rounds; more would only take time

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
	m.first += n
	for _, i := range perm {
		c := m.candidates[i]
		if c.saturatedRounds() >= dropAfter {
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

func (c *candidate) saturatedRounds() int {
	n := 0
	for _, r := range c.rounds {
		if r.saturated() {
			n++
		}
	}
	return n
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
		_, err := c.do(ctx, &calls[i], false)
		o := outcomeOf(ctx, err)
		if o == failed {
			c.note(&calls[i], err)
		}
		return calls[i].at, o
	})
	r.spent, err = c.store.since(ctx, before)
	r.count(&m.bench, len(m.w.queries))
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
func (r *round) count(b *bench, queries int) {
	r.queries = make([]roundQuery, queries)
	work := make([][]int64, queries)
	last := int64(b.instant(r.ops - 1))
	for i := range b.samples {
		s := &b.samples[i]
		q := &r.queries[s.at]
		q.outcomes[s.outcome]++
		q.calls++
		work[s.at] = append(work[s.at], s.wait+s.service)
		begin := int64(b.instant(i)) + s.lag + s.wait
		if begin > last+int64(time.Millisecond) && s.wait > s.lag {
			r.backlog++
		}
		if s.outcome == unfinished {
			r.unfinished++
		}
	}
	h := hdrhistogram.New(1000, longestTime, 3)
	for at, list := range work {
		if len(list) == 0 {
			continue
		}
		slices.Sort(list)
		r.queries[at].work = time.Duration(list[len(list)/2])
		h.Reset()
		for i := range b.samples {
			if s := &b.samples[i]; int(s.at) == at {
				_ = h.RecordValue(min(max(s.response(), 0), longestTime)) // never out of range
			}
		}
		r.queries[at].response = encoded(h)
	}
}

// keep adds the samples of the round to the candidate's histograms.
func (m *measurement) keep(c *candidate) {
	for i := range m.bench.samples {
		s := &m.bench.samples[i]
		c.spectra[s.at].record(s)
		c.all.record(s)
	}
}
