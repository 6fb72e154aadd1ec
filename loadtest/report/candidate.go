package report

import (
	"time"

	"github.com/polystore/polystore/loadtest/internal/limit"
)

// The states of a candidate's run.
const (
	stateValid     = "VALID"
	stateSaturated = "SATURATED" // it cannot carry the rate: a result
	stateInvalid   = "INVALID"   // nothing is known: the clock was late, a stall may be chance, or operations did nothing
	stateBehind    = "BEHIND"    // it fell behind, and whether it cannot carry the rate is not known
	stateShort     = "TOO SHORT" // an objective has not enough calls, and no other is missed
)

// A candidate is a model on a store, with the result that it is part of.
type candidate struct {
	*CandidateResult
	result *Result
	on     *StoreResult
}

// candidatesOf returns the candidates of a result.
func candidatesOf(r *Result) []*candidate {
	list := make([]*candidate, len(r.Candidates))
	for i := range r.Candidates {
		c := &r.Candidates[i]
		list[i] = &candidate{c, r, &r.Stores[c.StoreAt]}
	}
	return list
}

// sum adds up what the rounds cost.
func (c *candidate) sum() {
	var cpu []float64
	var server time.Duration
	var trips, requests, rows int64
	n := 0
	for i := range c.Rounds {
		r := &c.Rounds[i]
		cpu = append(cpu, r.cpuPerOp())
		n += r.Ops - r.Unfinished
		server += r.ServerCPU
		trips, requests, rows = trips+r.Trips, requests+r.Requests, rows+r.Rows
	}
	n = max(n, 1)
	if c.CPUPerOp = 0; len(cpu) > 0 {
		c.CPUPerOp = time.Duration(median(cpu))
	}
	c.ServerCPU = server / time.Duration(n)
	c.TripsEach, c.RequestsEach, c.RowsEach = float64(trips)/float64(n), float64(requests)/float64(n), float64(rows)/float64(n)
}

// judge decides on a candidate: each objective, and its state. That the clock was late is seen
// before anything is said of the candidate; what is certain all the same counts.
func (c *candidate) judge() {
	c.sum()
	for at := range c.Queries {
		c.Queries[at].Objectives = nil
		for i := range c.result.Queries[at].Objectives {
			c.Queries[at].Objectives = append(c.Queries[at].Objectives, c.judgeObjective(at, i))
		}
	}
	switch {
	case len(c.idle()) > 0:
		c.State = stateInvalid
	case len(c.Rounds) >= limit.LeastRounds && c.most((*RoundResult).saturated):
		c.State = stateSaturated
	case len(c.found(missed)) > 0 || c.Failures > 0 || c.hangs():
		c.State = stateValid
	case len(c.found(lateMiss))+len(c.found(stallMiss)) > 0 || c.most((*RoundResult).late):
		c.State = stateInvalid
	case c.most((*RoundResult).behind):
		c.State = stateBehind
	case len(c.found(fewCalls)) > 0:
		c.State = stateShort
	default:
		c.State = stateValid
	}
}

// unknown reports whether it is not known if the candidate does what is asked.
func (c *candidate) unknown() bool {
	return c.State == stateInvalid || c.State == stateBehind || c.State == stateShort
}

// meets reports whether the candidate did all that is asked.
func (c *candidate) meets() bool {
	return c.State == stateValid && len(c.found(met)) == len(c.objectives()) && c.Failures == 0 && !c.hangs()
}

// hangs reports whether it is the rule that a few calls are not answered.
func (c *candidate) hangs() bool { return c.most((*RoundResult).unanswered) }

// standing is 0 for a candidate that does what is asked, 1 for one that misses nothing as far
// as its calls can tell, 2 for one that misses objectives, 3 for one of which nothing is
// known, 4 for one that falls behind.
func (c *candidate) standing() int {
	switch {
	case c.meets():
		return 0
	case c.State == stateShort:
		return 1
	case c.State == stateValid:
		return 2
	case c.unknown():
		return 3
	}
	return 4
}

// roundsThat returns how many rounds of the candidate are so.
func (c *candidate) roundsThat(are func(*RoundResult) bool) int { return count(c.Rounds, are) }

// most reports whether at least half of the candidate's rounds are so.
func (c *candidate) most(are func(*RoundResult) bool) bool {
	n := c.roundsThat(are)
	return n > 0 && 2*n >= len(c.Rounds)
}

func (c *candidate) size() int64 { return c.RecordBytes + c.IndexBytes }

// sameBytes reports whether the bytes of both are of one account. What one store
// calls bytes may be memory, and another's what lies on its disk.
func (c *candidate) sameBytes(o *candidate) bool { return c.on.Name == o.on.Name }

// calls returns how many operations were measured.
func (c *candidate) calls() int64 {
	n := int64(0)
	for i := range c.Queries {
		n += c.Queries[i].Calls
	}
	return n
}
