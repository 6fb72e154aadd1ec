package report

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/polystore/polystore/loadtest/internal/format"
	"github.com/polystore/polystore/loadtest/internal/limit"
)

// noVerdict says why it is not known whether a candidate does what is asked, and what helps.
func (p *page) noVerdict(c *candidate) string {
	reason, remedy := p.doubt(c)
	return fmt.Sprintf("No verdict: %s; %s.", reason, remedy)
}

const lessToDo = "lower the rate, or run on a machine with less to do"

// doubt says why it is not known whether a candidate does what is asked, and what helps.
func (p *page) doubt(c *candidate) (reason, remedy string) {
	n := len(c.Rounds)
	behind, idle := c.roundsThat((*RoundResult).behind), c.idle()
	switch few := c.found(fewCalls); {
	case len(idle) > 0:
		return p.nothingDone(idle)
	case c.State == stateInvalid && len(c.found(lateMiss)) > 0:
		return fmt.Sprintf("the clock was late (lag p99 %s), so what was missed may be its fault", c.lag()), lessToDo
	case c.State == stateInvalid && len(c.found(stallMiss)) > 0:
		return fmt.Sprintf("stalls made it miss what is asked, in %d of %s, and fewer than %d do not tell whether they are the rule", c.roundsThat((*RoundResult).stalled), format.Plural(n, "round"), limit.LeastRounds),
			fmt.Sprintf("say --rounds %d", limit.LeastRounds)
	case c.State == stateInvalid:
		return fmt.Sprintf("the clock was late (lag p99 %s), so that it fell behind in %d of %s may be its fault", c.lag(), behind, format.Plural(n, "round")), lessToDo
	case c.State == stateBehind && n < limit.LeastRounds:
		return fmt.Sprintf("it fell behind in %d of %s, and fewer than %d do not tell whether it can carry %s/s", behind, format.Plural(n, "round"), limit.LeastRounds, format.Count(p.r.Rate)),
			fmt.Sprintf("say --rounds %d", limit.LeastRounds)
	case c.State == stateBehind:
		return fmt.Sprintf("it fell behind in %d of %s, with %d of %d slots busy%s, so that it is not known whether it can carry %s/s",
			behind, format.Plural(n, "round"), c.busiest(), p.r.Slots, c.stalls(), format.Count(p.r.Rate)), "make rounds longer (--round), " + lessToDo
	case len(few) > 0:
		var parts []string
		for _, j := range few {
			parts = append(parts, j.String())
		}
		return fmt.Sprintf("%d of %d objectives have not enough calls: %s", len(few), len(c.objectives()), atMost(parts)), p.longer(few)
	}
	return "", ""
}

// nothingDone says which queries do nothing.
func (p *page) nothingDone(list []effect) (reason, remedy string) {
	var parts, remedies []string
	for _, e := range list {
		parts = append(parts, e.String())
		remedies = append(remedies, e.query.Name+": "+p.r.remedy(e.query))
	}
	return "what was measured is not what was meant. " + strings.Join(parts, "; "),
		strings.Join(remedies, "; ") + "; or say misses: true in the query if that is meant"
}

// busiest returns the most slots that were busy at the end of a round in which the candidate
// was behind.
func (c *candidate) busiest() int {
	most := 0
	for i := range c.Rounds {
		if r := &c.Rounds[i]; r.behind() {
			most = max(most, r.Busy)
		}
	}
	return most
}

// stalls says in how many rounds the candidate was behind and stalled.
func (c *candidate) stalls() string {
	n := c.roundsThat(func(r *RoundResult) bool { return r.behind() && r.stalled() })
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" and a stall in %d of them", n)
}

// longer says how long rounds must be for the calls that objectives need.
func (p *page) longer(few []objective) string {
	const other = "ask for a lower percentile, or give the query more weight"
	times := 1.0
	for _, j := range few {
		times = max(times, 1.1*float64(j.Needed)/p.r.callsOf(j))
	}
	if times*p.r.Round.Seconds() > limit.MaxRound.Seconds() {
		return other
	}
	round := time.Duration(math.Ceil(times*p.r.Round.Seconds()*10)) * time.Second / 10
	if round >= time.Second {
		round = (round + time.Second - 1).Truncate(time.Second)
	}
	if round > limit.MaxRound || round.Seconds()*float64(p.r.Rate) > limit.MaxRoundOps {
		return other
	}
	return fmt.Sprintf("make rounds longer (--round %v), %s", round, other)
}

// callsOf returns how many calls of an objective's query a run has: those that it had or, if it had none, those that its
// weight makes one expect.
func (r *Result) callsOf(j objective) float64 {
	if j.Calls > 0 {
		return float64(j.Calls)
	}
	ops := r.Round.Seconds() * float64(r.Rate) * float64(r.Rounds)
	for _, q := range r.Queries {
		if q.Name == j.query.Name && q.Weight > 0 {
			return min(ops*q.Weight/100, 1)
		}
	}
	return 1
}

// atMost returns some parts and how many others there are.
func atMost(parts []string) string {
	const most = 3
	if len(parts) > most {
		parts = append(parts[:most:most], fmt.Sprintf("%d more", len(parts)-most))
	}
	return format.Joined(parts)
}
