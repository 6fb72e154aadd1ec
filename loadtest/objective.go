package loadtest

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// A mark is a percentile of one query in one round.
type mark struct {
	response, service time.Duration
	over              int  // calls whose response took longer than the objective's bound
	cut               bool // calls that were cut off are among those below it: it is more than that
}

// spans are the response and service times of a query in a round, sorted.
type spans struct {
	response, service []int64
	cut               int64 // the least response of a call that was cut off
}

func (t *spans) add(s *sample) {
	t.response, t.service = append(t.response, s.response()), append(t.service, s.service)
	if s.outcome == unfinished && (t.cut == 0 || s.response() < t.cut) {
		t.cut = s.response()
	}
}

func (t *spans) sort() {
	slices.Sort(t.response)
	slices.Sort(t.service)
}

// mark returns a percentile, and how many calls took longer than bound.
func (t *spans) mark(percent float64, bound time.Duration) mark {
	if len(t.response) == 0 {
		return mark{}
	}
	at := max(0, int(math.Ceil(percent*float64(len(t.response))/100-1e-9))-1)
	within, _ := slices.BinarySearch(t.response, int64(bound)+1)
	return mark{time.Duration(t.response[at]), time.Duration(t.service[at]), len(t.response) - within, t.cut > 0 && t.response[at] >= t.cut}
}

// beyond is how many calls must lie beyond a percentile in all rounds together to tell it.
const beyond = 10

// callsFor returns how many calls tell a percentile: ten beyond it in all, and one in each
// round. The greatest time needs one call in each.
func callsFor(percent float64, rounds int) int64 {
	if percent == 100 {
		return int64(max(rounds, 1))
	}
	return int64(math.Ceil(float64(max(beyond, rounds))*100/(100-percent) - 1e-6))
}

// A finding is what a candidate made of an objective.
type finding string

const (
	met       finding = "met"
	missed    finding = "missed"
	lateMiss  finding = "late clock"       // missed, and the clock may be the cause
	stallMiss finding = "stall"            // missed because of stalls, and rounds are too few to tell whether these are the rule
	fewCalls  finding = "not enough calls" // the percentile cannot be told
)

// A judgedObjective is what a candidate made of an objective. Each round has its percentile;
// the median of these is judged, so that one bad round does not decide.
type judgedObjective struct {
	query        *query
	at           int
	bound        objective
	measured     time.Duration // median of the rounds
	cut          bool          // it is more than that
	calls        int64
	needed       int64
	failed       int
	rounds       int // with calls
	missedRounds int
	finding      finding
}

// judgeObjective decides on the i-th objective of the query at an index.
func (c *candidate) judgeObjective(q *query, at, i int) judgedObjective {
	o := q.objectives[i]
	j := judgedObjective{query: q, at: at, bound: o, failed: c.failedOf(at)}
	var seen, sure, calm []float64 // the rounds' percentiles, without the clock's lag, and without stalls as well
	over, cut := 0, 0
	for _, r := range c.rounds {
		rq := &r.queries[at]
		if rq.calls == 0 {
			continue
		}
		m := rq.marks[i]
		least := m.response
		if m.response > o.bound {
			j.missedRounds++
			if r.lag > o.bound/5 {
				least = m.service
			}
		}
		seen, sure = append(seen, float64(m.response)), append(sure, float64(least))
		if r.stalled() && len(c.rounds) < leastRounds {
			least = max(0, least-r.stall.took) // no call waits longer for it
		}
		calm = append(calm, float64(least))
		j.calls += rq.calls
		over += m.over
		if m.cut {
			cut++
		}
	}
	j.rounds, j.cut, j.needed = len(seen), cut > 0 && 2*cut >= len(seen), callsFor(o.percentile, len(c.rounds))
	if j.rounds > 0 {
		j.measured = time.Duration(median(seen))
		j.finding = j.find(over, time.Duration(median(sure)), time.Duration(median(calm)))
	} else {
		j.finding = fewCalls
	}
	return j
}

// find decides by the calls over the bound, and by what the percentile is without the clock's
// lag, and without stalls of which nobody knows whether they are the rule.
func (j *judgedObjective) find(over int, sure, calm time.Duration) finding {
	switch enough := j.calls >= j.needed; {
	case j.failed > 0:
		return missed
	case j.measured <= j.bound.bound && enough:
		return met
	case j.measured <= j.bound.bound:
		return fewCalls
	case sure <= j.bound.bound:
		return lateMiss
	case calm <= j.bound.bound:
		return stallMiss
	case !enough && over < beyond:
		return fewCalls
	}
	return missed
}

// String says what a candidate made of the objective.
func (j judgedObjective) String() string {
	if j.finding == fewCalls {
		return fmt.Sprintf("%s (%s needs %s, it had %s)", j.query.name, j.bound.name, plural(int(j.needed), "call"), showCount(int(j.calls)))
	}
	than := ""
	if j.cut {
		than = "> "
	}
	text := fmt.Sprintf("%s (%s %s%s, asked ≤ %s", j.query.name, j.bound.name, than, showDuration(j.measured), showDuration(j.bound.bound))
	if j.rounds > 1 && j.missedRounds > 0 {
		text += fmt.Sprintf(", missed in %d of %d rounds", j.missedRounds, j.rounds)
	}
	if j.failed > 0 {
		text += fmt.Sprintf(", %s failed", plural(j.failed, "call"))
	}
	return text + ")"
}
