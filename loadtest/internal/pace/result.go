package pace

import (
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/polystore/polystore/loadtest/internal/limit"
	"github.com/polystore/polystore/loadtest/internal/operation"
	"github.com/polystore/polystore/loadtest/internal/workload"
	"github.com/polystore/polystore/loadtest/report"
)

// Result sums up the samples of the last round.
func (b *Bench) Result(queries []*workload.Query) *report.RoundResult {
	r := &report.RoundResult{Ops: len(b.Samples), Queries: make([]report.RoundQuery, len(queries))}
	b.backlog(r)
	stall := b.stall()
	r.Stall, r.Stalled = stall.took, stall.waiting
	r.Series = b.series()
	work, times, lag := make([][]int64, len(queries)), make([]spans, len(queries)), make([]int64, len(b.Samples))
	for i := range b.Samples {
		s := &b.Samples[i]
		work[s.At] = append(work[s.At], s.wait+s.service)
		times[s.At].add(s)
		lag[i] = s.lag
		switch s.Outcome {
		case operation.Failed:
			r.Failed++
		case operation.Unfinished:
			r.Unfinished++
		}
	}
	for s := range b.Parts {
		work[s.At] = append(work[s.At], s.service)
		times[s.At].add(s)
	}
	slices.Sort(lag)
	r.Lag = time.Duration(lag[(len(lag)*99+99)/100-1])
	h := hdrhistogram.New(1000, limit.LongestTime, 3)
	if b.Divided {
		r.LagTimes = encoded(h, lag)
	}
	for at, q := range queries {
		slices.Sort(work[at])
		r.Queries[at] = times[at].result(q, h)
		if b.Divided {
			of := &r.Queries[at]
			of.Service, of.WorkTimes, of.CutOffFrom = encoded(h, times[at].service), encoded(h, work[at]), time.Duration(times[at].cut)
		}
		if n := len(work[at]); n > 0 {
			r.Queries[at].Work, r.Queries[at].WorkMean = time.Duration(work[at][n/2]), mean(work[at])
		}
	}
	return r
}

// mean returns the mean of some times.
func mean(list []int64) time.Duration {
	sum := 0.0
	for _, x := range list {
		sum += float64(x)
	}
	return time.Duration(sum / float64(len(list)))
}

// result sums up the times of a query in a round. The histogram is for its use; one that was kept for
// each round would be memory that grows.
func (t *spans) result(q *workload.Query, h *hdrhistogram.Histogram) report.RoundQuery {
	t.sort()
	r := report.RoundQuery{Name: q.Name, Calls: int64(len(t.response)), P50: t.mark(50, 0), P99: t.mark(99, 0)}
	for _, o := range q.Objectives {
		r.Objectives = append(r.Objectives, t.mark(o.Percentile, o.Bound))
	}
	r.Response = encoded(h, t.response)
	return r
}

// encoded returns times as a histogram, for which it uses one that is there.
func encoded(h *hdrhistogram.Histogram, times []int64) string {
	h.Reset()
	for _, x := range times {
		_ = h.RecordValue(min(max(x, 0), limit.LongestTime)) // never out of range
	}
	return Encoded(h)
}
