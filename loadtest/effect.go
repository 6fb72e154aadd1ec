package loadtest

import "fmt"

// An effect is how many calls of a query did what they are for, and how many nothing: a find
// that finds nothing, an insert of what exists already, a change of what is not there, a move to
// where the record is.
type effect struct {
	query   *query
	ended   int // calls that were answered
	nothing int
}

const (
	leastEnded  = 10  // calls that tell what is the rule
	leastToTell = 100 // nothing is told where fewer than one call of so many did nothing
)

// effect returns the effect of a query's calls.
func (c *candidate) effect(q *query, at int) effect {
	e := effect{query: q}
	for o := done; o <= unfinished; o++ {
		if o.nothing() {
			e.nothing += c.count(at, o)
		}
	}
	e.ended = e.nothing + c.count(at, done)
	return e
}

// idle reports whether it is the rule that calls do nothing, and nobody said that it should be.
func (e effect) idle() bool {
	return !e.query.misses && e.ended >= leastEnded && 2*e.nothing > e.ended
}

func (e effect) told() bool { return leastToTell*e.nothing >= e.ended && e.nothing > 0 }

func (e effect) String() string {
	what := "found nothing"
	switch e.query.kind {
	case "insert":
		what = "inserted nothing, as the record exists already"
	case "update", "delete":
		what = "changed nothing"
	case "move":
		what = "moved nothing"
	}
	return fmt.Sprintf("%s: %s of %s %s", e.query.name, showCount(e.nothing), plural(e.ended, "call"), what)
}

// remedy says how the calls of a query get something to do.
func (e effect) remedy() string {
	key := e.query.collection.key()
	switch e.query.kind {
	case "insert":
		return fmt.Sprintf("give each new record a key of its own (set: {%s: {sequence: 1}}, with a pattern that the data do not have)", key[len(key)-1])
	case "move":
		return "set what the record does not have already"
	case "update", "delete":
		return "take more records, or fewer deletes"
	}
	return "ask for values of the data ($)"
}

// idle returns the effects of the queries whose calls do nothing as a rule. Where few calls were
// measured, those that were sampled before tell as well.
func (c *candidate) idle(w *Workload) []effect {
	var list []effect
	for at, q := range w.queries {
		e := c.effect(q, at)
		if p := c.probes[at]; e.ended < leastEnded {
			e.ended, e.nothing = e.ended+p.calls, e.nothing+p.nothing
		}
		if e.idle() {
			list = append(list, e)
		}
	}
	return list
}
