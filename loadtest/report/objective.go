package report

import (
	"fmt"
	"math"
	"time"

	"github.com/polystore/polystore/loadtest/internal/format"
	"github.com/polystore/polystore/loadtest/internal/limit"
)

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

// What a candidate made of an objective.
const (
	met       = "met"
	missed    = "missed"
	lateMiss  = "late clock"       // missed, and the clock may be the cause
	stallMiss = "stall"            // missed because of stalls, and rounds are too few to tell whether these are the rule
	fewCalls  = "not enough calls" // the percentile cannot be told
)

// String returns the objective for people.
func (o ObjectiveSetting) String() string {
	return fmt.Sprintf("%s ≤ %s", o.Name, format.Duration(o.Bound))
}

// An objective is what a candidate made of one that a query has.
type objective struct {
	*ObjectiveResult
	query *QueryResult
}

// objectives returns those of all queries.
func (c *candidate) objectives() []objective {
	var list []objective
	for at := range c.Queries {
		q := &c.Queries[at]
		for i := range q.Objectives {
			list = append(list, objective{&q.Objectives[i], q})
		}
	}
	return list
}

// found returns the objectives of which that was found.
func (c *candidate) found(finding string) []objective {
	var list []objective
	for _, o := range c.objectives() {
		if o.Finding == finding {
			list = append(list, o)
		}
	}
	return list
}

// judgeObjective decides on the i-th objective of the query at an index. Each round has its
// percentile; the median of these is judged, so that one bad round does not decide.
func (c *candidate) judgeObjective(at, i int) ObjectiveResult {
	asked := c.result.Queries[at].Objectives[i]
	o := ObjectiveResult{Name: asked.Name, Bound: asked.Bound, Needed: callsFor(asked.Percentile, len(c.Rounds))}
	var seen, sure, calm []float64 // the rounds' percentiles, without the clock's lag, and without stalls as well
	over, cut := 0, 0
	for j := range c.Rounds {
		r := &c.Rounds[j]
		q := &r.Queries[at]
		if q.Calls == 0 {
			continue
		}
		m := q.Objectives[i]
		least := m.Response
		if m.Response > o.Bound {
			o.Missed++
			if r.Lag > o.Bound/5 {
				least = m.Service
			}
			if least <= o.Bound {
				o.Late++
			}
		}
		seen, sure = append(seen, float64(m.Response)), append(sure, float64(least))
		if r.stalled() && len(c.Rounds) < limit.LeastRounds {
			least = max(0, least-r.Stall) // no call waits longer for it
		}
		calm = append(calm, float64(least))
		o.Calls += q.Calls
		over += m.Over
		if m.Cut {
			cut++
		}
	}
	o.Rounds, o.AtLeast, o.Finding = len(seen), cut > 0 && 2*cut >= len(seen), fewCalls
	if o.Rounds > 0 {
		o.Measured = time.Duration(median(seen))
		o.Finding = o.find(c.Queries[at].failed(), over, time.Duration(median(sure)), time.Duration(median(calm)))
	}
	o.Met = o.Finding == met
	return o
}

// find decides by the calls that failed, those over the bound, and by what the percentile is
// without the clock's lag, and without stalls of which nobody knows whether they are the rule.
func (o *ObjectiveResult) find(failed, over int, sure, calm time.Duration) string {
	switch enough := o.Calls >= o.Needed; {
	case failed > 0:
		return missed
	case o.Measured <= o.Bound && enough:
		return met
	case o.Measured <= o.Bound:
		return fewCalls
	case sure <= o.Bound:
		return lateMiss
	case calm <= o.Bound:
		return stallMiss
	case !enough && over < beyond:
		return fewCalls
	}
	return missed
}

// String says what a candidate made of the objective.
func (o objective) String() string {
	if o.Finding == fewCalls {
		return fmt.Sprintf("%s (%s needs %s, it had %s)", o.query.Name, o.Name, format.Plural(int(o.Needed), "call"), format.Count(int(o.Calls)))
	}
	than := ""
	if o.AtLeast {
		than = cutMark
	}
	text := fmt.Sprintf("%s (%s %s%s, asked ≤ %s", o.query.Name, o.Name, than, format.Duration(o.Measured), format.Duration(o.Bound))
	if o.Rounds > 1 && o.Missed > 0 {
		text += fmt.Sprintf(", missed in %d of %d rounds", o.Missed, o.Rounds)
	}
	if n := o.query.failed(); n > 0 {
		text += fmt.Sprintf(", %s failed", format.Plural(n, "call"))
	}
	return text + ")"
}
