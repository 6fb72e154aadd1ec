package report

import (
	"fmt"

	"github.com/polystore/polystore/loadtest/internal/format"
)

// The outcomes of calls by which they are judged.
const (
	outcomeDone       = "done"
	outcomeFailed     = "failed"
	outcomeUnfinished = "unfinished"
)

// failed returns how many calls of a query failed.
func (q *QueryResult) failed() int { return q.Outcomes[outcomeFailed] }

// An effect is how many calls of a query did what they are for, and how many nothing: a find
// that finds nothing, an insert of what exists already, a change of what is not there, a move to
// where the record is.
type effect struct {
	query   *QuerySetting
	ended   int // calls that were answered
	nothing int
}

const (
	leastEnded  = 10  // calls that tell what is the rule
	leastToTell = 100 // nothing is told where fewer than one call of so many did nothing
)

// effect returns the effect of the calls of the query at an index.
func (c *candidate) effect(at int) effect {
	q := &c.Queries[at]
	return effect{&c.result.Queries[at], q.NoEffect + q.Outcomes[outcomeDone], q.NoEffect}
}

// idle returns the effects of the queries whose calls do nothing as a rule. Where few calls were
// measured, those that were sampled before tell as well.
func (c *candidate) idle() []effect {
	var list []effect
	for at := range c.Queries {
		e := c.effect(at)
		if e.ended < leastEnded {
			e.ended, e.nothing = e.ended+c.Queries[at].SampledCalls, e.nothing+c.Queries[at].SampledNoEffect
		}
		if e.idle() {
			list = append(list, e)
		}
	}
	return list
}

// idle reports whether it is the rule that calls do nothing, and nobody said that it should be.
func (e effect) idle() bool {
	return !e.query.Misses && e.ended >= leastEnded && 2*e.nothing > e.ended
}

func (e effect) told() bool { return leastToTell*e.nothing >= e.ended && e.nothing > 0 }

func (e effect) String() string {
	what := "found nothing"
	switch e.query.Kind {
	case "insert":
		what = "inserted nothing, as the record exists already"
	case "update", "modify", "group", "renew", "delete":
		what = "changed nothing"
	case "move", "transplant":
		what = "moved nothing"
	}
	return fmt.Sprintf("%s: %s of %s %s", e.query.Name, format.Count(e.nothing), format.Plural(e.ended, "call"), what)
}

// remedy says how the calls of a query get something to do.
func (r *Result) remedy(q *QuerySetting) string {
	switch q.Kind {
	case "insert":
		return fmt.Sprintf("give each new record a key of its own (set: {%s: {sequence: 1}}, with a pattern that the data do not have)", r.lastOfKey(q))
	case "transplant":
		return "draw nodes with less below them (below: {max: 100})"
	case "move":
		return "set what the record does not have already"
	case "update", "modify", "group", "renew", "delete":
		return "take more records, or fewer deletes"
	}
	return "ask for values of the data ($)"
}

// lastOfKey returns the last field of the key of a query's records.
func (r *Result) lastOfKey(q *QuerySetting) string {
	for _, d := range r.Data {
		if d.Collection == q.Collection && len(d.Key) > 0 {
			return d.Key[len(d.Key)-1]
		}
	}
	return ""
}
