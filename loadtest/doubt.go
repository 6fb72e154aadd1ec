package loadtest

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// noVerdict says why it is not known whether a candidate does what is asked, and what helps.
func (s *screen) noVerdict(c *candidate) string {
	reason, remedy := s.doubt(c)
	return fmt.Sprintf("No verdict: %s; %s.", reason, remedy)
}

const lessToDo = "lower the rate, or run on a machine with less to do"

// doubt says why it is not known whether a candidate does what is asked, and what helps.
func (s *screen) doubt(c *candidate) (reason, remedy string) {
	n := len(c.rounds)
	behind := c.roundsThat((*round).behind)
	switch few := c.found(fewCalls); {
	case len(c.idles) > 0:
		return nothingDone(c.idles)
	case c.state == stateInvalid && len(c.found(lateMiss)) > 0:
		return fmt.Sprintf("the clock was late (lag p99 %s), so what was missed may be its fault", c.lag()), lessToDo
	case c.state == stateInvalid && len(c.found(stallMiss)) > 0:
		return fmt.Sprintf("stalls made it miss what is asked, in %d of %s, and fewer than %d do not tell whether they are the rule", c.roundsThat((*round).stalled), plural(n, "round"), leastRounds),
			fmt.Sprintf("say --rounds %d", leastRounds)
	case c.state == stateInvalid:
		return fmt.Sprintf("the clock was late (lag p99 %s), so that it fell behind in %d of %s may be its fault", c.lag(), behind, plural(n, "round")), lessToDo
	case c.state == stateBehind && n < leastRounds:
		return fmt.Sprintf("it fell behind in %d of %s, and fewer than %d do not tell whether it can carry %s/s", behind, plural(n, "round"), leastRounds, showCount(s.r.w.Rate)),
			fmt.Sprintf("say --rounds %d", leastRounds)
	case c.state == stateBehind:
		return fmt.Sprintf("it fell behind in %d of %s, with %d of %d slots busy%s, so that it is not known whether it can carry %s/s",
			behind, plural(n, "round"), c.busiest(), s.r.w.Slots, c.stalls(), showCount(s.r.w.Rate)), "make rounds longer (--round), " + lessToDo
	case len(few) > 0:
		var parts []string
		for _, j := range few {
			parts = append(parts, j.String())
		}
		return fmt.Sprintf("%d of %d objectives have not enough calls: %s", len(few), len(c.objectives), atMost(parts)), s.longer(few)
	}
	return "", ""
}

// nothingDone says which queries do nothing.
func nothingDone(list []effect) (reason, remedy string) {
	var parts, remedies []string
	for _, e := range list {
		parts = append(parts, e.String())
		remedies = append(remedies, e.query.name+": "+e.remedy())
	}
	return "what was measured is not what was meant. " + strings.Join(parts, "; "),
		strings.Join(remedies, "; ") + "; or say misses: true in the query if that is meant"
}

// busiest returns the most slots that were busy at the end of a round in which the candidate
// was behind.
func (c *candidate) busiest() int {
	most := 0
	for _, r := range c.rounds {
		if r.behind() {
			most = max(most, r.backlog.busy)
		}
	}
	return most
}

// stalls says in how many rounds the candidate was behind and stalled.
func (c *candidate) stalls() string {
	n := c.roundsThat(func(r *round) bool { return r.behind() && r.stalled() })
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" and a stall in %d of them", n)
}

// longer says how long rounds must be for the calls that objectives need.
func (s *screen) longer(few []judgedObjective) string {
	const other = "ask for a lower percentile, or give the query more weight"
	times := 1.0
	for _, j := range few {
		times = max(times, 1.1*float64(j.needed)/float64(max(j.calls, 1)))
	}
	round := time.Duration(math.Ceil(times*s.r.w.Round.Seconds()*10)) * time.Second / 10
	if round >= time.Second {
		round = (round + time.Second - 1).Truncate(time.Second)
	}
	if round > maxRound || round.Seconds()*float64(s.r.w.Rate) > maxRoundOps {
		return other
	}
	return fmt.Sprintf("make rounds longer (--round %v), %s", round, other)
}

// atMost returns some parts and how many others there are.
func atMost(parts []string) string {
	const most = 3
	if len(parts) > most {
		parts = append(parts[:most:most], fmt.Sprintf("%d more", len(parts)-most))
	}
	return joined(parts)
}
