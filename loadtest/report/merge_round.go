package report

import (
	"math"
	"slices"
	"time"
)

// round merges what the shares measured in one round. A store stalls if no share got an answer, so the shortest stall of
// the shares is the longest that it can have been. Each share asks the server for its processor time, which is that of
// all calls: the greatest is taken.
func (m *merging) round(list []*RoundResult) RoundResult {
	out := RoundResult{Number: list[0].Number, Began: list[0].Began, Stall: list[0].Stall}
	for _, r := range list {
		out.Ops, out.Failed, out.Unfinished = out.Ops+r.Ops, out.Failed+r.Failed, out.Unfinished+r.Unfinished
		out.Trips, out.Requests, out.Rows = out.Trips+r.Trips, out.Requests+r.Requests, out.Rows+r.Rows
		out.CPU, out.ServerCPU, out.Heap = out.CPU+r.CPU, max(out.ServerCPU, r.ServerCPU), out.Heap+r.Heap
		out.HalfWaited, out.Backlog, out.WithinLag = out.HalfWaited+r.HalfWaited, out.Backlog+r.Backlog, out.WithinLag+r.WithinLag
		out.Busy, out.Slots, out.Stalled = out.Busy+r.Busy, out.Slots+r.Slots, out.Stalled+r.Stalled
		out.Took, out.Began, out.Stall = max(out.Took, r.Took), min(out.Began, r.Began), min(out.Stall, r.Stall)
	}
	if out.Stall == 0 {
		out.Stalled = 0
	}
	lag := m.histogram(texts(list, func(r *RoundResult) string { return r.LagTimes }))
	if out.Lag = percentileOf(lag, 99); lag.TotalCount() != int64(out.Ops) {
		m.fail("the lags of round %d are of %d operations, and there were %d", out.Number, lag.TotalCount(), out.Ops)
	}
	for at := range list[0].Queries {
		var queries []*RoundQuery
		for _, r := range list {
			queries = append(queries, &r.Queries[at])
		}
		out.Queries = append(out.Queries, m.roundQuery(queries, m.parts[0].Queries[at].Objectives))
	}
	out.Series = m.series(list)
	return out
}

// roundQuery merges what the shares measured of a query in one round.
func (m *merging) roundQuery(list []*RoundQuery, asked []ObjectiveSetting) RoundQuery {
	out := RoundQuery{Name: list[0].Name}
	for _, q := range list {
		out.Calls += q.Calls
		if cut := q.CutOffFrom; cut > 0 && (out.CutOffFrom == 0 || cut < out.CutOffFrom) {
			out.CutOffFrom = cut
		}
	}
	response := m.histogram(texts(list, func(q *RoundQuery) string { return q.Response }))
	service := m.histogram(texts(list, func(q *RoundQuery) string { return q.Service }))
	work := m.histogram(texts(list, func(q *RoundQuery) string { return q.WorkTimes }))
	for _, h := range []histogram{response, service, work} {
		if n := h.TotalCount(); n != out.Calls {
			m.fail("a histogram of query %q in a round has %d calls, and there were %d", out.Name, n, out.Calls)
		}
	}
	out.Response, out.Work = m.encoded(response), rankOf(work, out.Calls/2+1)
	mark := func(percent float64) Mark {
		x := Mark{Response: percentileOf(response, percent), Service: percentileOf(service, percent)}
		x.Cut = out.CutOffFrom > 0 && x.Response >= out.CutOffFrom
		return x
	}
	out.P50, out.P99 = mark(50), mark(99)
	for i, o := range asked {
		x := mark(o.Percentile)
		for _, q := range list {
			x.Over += q.Objectives[i].Over
		}
		x.exact(o, out.Calls)
		out.Objectives = append(out.Objectives, x)
	}
	return out
}

// exact puts the response on that side of the objective's bound on which the calls over it say that it is: a histogram
// has the bound and what is just above it in one bucket.
func (x *Mark) exact(o ObjectiveSetting, calls int64) {
	if calls == 0 {
		return
	}
	if int64(x.Over) <= calls-rank(o.Percentile, calls) {
		x.Response = min(x.Response, o.Bound)
	} else {
		x.Response = max(x.Response, o.Bound+1)
	}
}

// series merges the intervals of a round by their beginnings. What has no histogram is left out.
func (m *merging) series(list []*RoundResult) (out []IntervalResult) {
	of := map[time.Duration][]IntervalResult{}
	for _, r := range list {
		for _, x := range r.Series {
			of[x.At] = append(of[x.At], x)
		}
	}
	for at, parts := range of {
		sum := IntervalResult{At: at}
		for _, x := range parts {
			sum.Calls, sum.Max = sum.Calls+x.Calls, max(sum.Max, x.Max)
		}
		h := m.histogram(texts(parts, func(x IntervalResult) string { return x.Response }))
		if sum.P50, sum.P99 = percentileOf(h, 50), percentileOf(h, 99); h.TotalCount() != int64(sum.Calls) {
			m.fail("the interval at %v of a round has %d times of %d calls", at, h.TotalCount(), sum.Calls)
		}
		out = append(out, sum)
	}
	slices.SortFunc(out, func(a, b IntervalResult) int { return int(a.At - b.At) })
	return out
}

// rank returns which of so many sorted values is a percentile, from 1.
func rank(percent float64, n int64) int64 {
	return max(1, int64(math.Ceil(percent*float64(n)/100-1e-9)))
}
