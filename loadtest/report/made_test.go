package report

import (
	"strings"
	"time"

	"github.com/polystore/polystore/repo/driver"
)

// A made candidate has the figures that a test wants.
type made struct {
	name     string
	class    driver.Durability
	response time.Duration // of every operation
	lag      time.Duration
	cpu      time.Duration // an operation
	bytes    int64
	backlog  int
}

const (
	fast = time.Millisecond
	slow = time.Second // the small result asks p99 ≤ 500 ms

	madeOps = 334 // of the first query in a round: of six rounds they tell a p99
)

// small returns a result of which nothing was measured but the first query, of candidates on a store
// of its own each.
func small(list ...made) *Result {
	r := &Result{Format: Format, Workload: "small", Rate: 200, Rounds: 6, Round: 200 * time.Millisecond, Slots: 64, Seed: 3,
		Data: []DataResult{{Collection: "posts", Key: []string{"author", "id"}, Records: 10}}, Models: []string{"covering", "keys only", "scan"},
		Queries: []QuerySetting{
			{Name: "one post", Weight: 90, Kind: "get", Collection: "posts", Objectives: []ObjectiveSetting{{"p99", 99, 500 * time.Millisecond}}},
			{Name: "new post", Weight: 10, Kind: "insert", Writes: true, Collection: "posts"}}}
	for i, m := range list {
		r.Stores = append(r.Stores, StoreResult{URL: "made:", Name: "made", Durability: m.class.String(), Setting: "made so", InProcess: true,
			CPUOf: "this process (store, callers and clock)"})
		r.Candidates = append(r.Candidates, m.candidate(r, i))
	}
	return r
}

// candidate returns the candidate on a store of the result.
func (m made) candidate(r *Result, on int) CandidateResult {
	c := CandidateResult{Name: m.name, Model: m.name, Store: r.Stores[on].URL, StoreAt: on, Durability: r.Stores[on].Durability, RecordBytes: m.bytes,
		Lag: Percentiles{P99: m.lag}, Reads: Typical{2000, m.response}, Queries: []QueryResult{{Name: "one post"}, {Name: "new post"}}}
	for i := range 6 {
		x := RoundResult{Number: i + 1, CPU: 1000*m.cpu + time.Duration(i), Lag: m.lag}
		x.Queries = []RoundQuery{{Name: "one post"}, {Name: "new post"}}
		if m.backlog > 0 {
			x.HalfWaited, x.Backlog, x.Busy, x.Slots = m.backlog/2, m.backlog, 64, 64
		}
		c.Rounds = append(c.Rounds, x)
	}
	m.calls(r, &c, madeOps, 0)
	c.Queries[0].Calls = 2000
	return c
}

// calls gives the first query so many calls in each round, of which some were cut off.
func (m made) calls(r *Result, c *CandidateResult, n, cut int) {
	q := &c.Queries[0]
	q.Response, q.Service = Percentiles{P50: m.response}, Percentiles{P50: m.response - m.lag}
	q.Outcomes = map[string]int{outcomeDone: len(c.Rounds) * (n - cut), outcomeUnfinished: len(c.Rounds) * cut}
	q.Calls = int64(n * len(c.Rounds))
	for i := range c.Rounds {
		x := &c.Rounds[i]
		x.Ops, x.Unfinished = 1000, cut
		mark := Mark{Response: m.response, Service: m.response - m.lag, Cut: cut > 0}
		x.Queries[0] = RoundQuery{Name: "one post", Calls: int64(n), Work: m.response - m.lag, P50: mark, P99: mark}
		for _, o := range r.Queries[0].Objectives {
			if mark.Over = 0; m.response > o.Bound {
				mark.Over = n
			}
			x.Queries[0].Objectives = append(x.Queries[0].Objectives, mark)
		}
	}
}

// words judges the result, and returns its text with the lines joined.
func words(r *Result) string {
	Judge(r)
	return strings.Join(strings.Fields(r.Text), " ")
}
