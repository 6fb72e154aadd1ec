package loadtest

import (
	"cmp"
	"slices"
	"time"

	"github.com/polystore/polystore/repo/driver"
)

// The states of a candidate's run.
const (
	stateValid     = "VALID"
	stateSaturated = "SATURATED" // it cannot carry the rate: a result
	stateInvalid   = "INVALID"   // nothing is known: the clock was late, a stall may be chance, or operations did nothing
	stateBehind    = "BEHIND"    // it fell behind, and whether it cannot carry the rate is not known
	stateShort     = "TOO SHORT" // an objective has not enough calls, and no other is missed
)

// judge decides on a candidate: each objective, and its state. That the clock was late is seen
// before anything is said of the candidate; what is certain all the same counts.
func (c *candidate) judge(w *Workload) {
	c.objectives = nil
	for at, q := range w.queries {
		for i := range q.objectives {
			c.objectives = append(c.objectives, c.judgeObjective(q, at, i))
		}
	}
	c.idles = c.idle(w)
	switch {
	case len(c.idles) > 0:
		c.state = stateInvalid
	case len(c.rounds) >= leastRounds && c.most((*round).saturated):
		c.state = stateSaturated
	case len(c.found(missed)) > 0 || c.failures > 0:
		c.state = stateValid
	case len(c.found(lateMiss))+len(c.found(stallMiss)) > 0 || c.most((*round).late):
		c.state = stateInvalid
	case c.most((*round).behind):
		c.state = stateBehind
	case len(c.found(fewCalls)) > 0:
		c.state = stateShort
	default:
		c.state = stateValid
	}
}

// unknown reports whether it is not known if the candidate does what is asked.
func (c *candidate) unknown() bool {
	return c.state == stateInvalid || c.state == stateBehind || c.state == stateShort
}

// found returns the objectives of which that was found.
func (c *candidate) found(f finding) []judgedObjective {
	return slices.DeleteFunc(slices.Clone(c.objectives), func(j judgedObjective) bool { return j.finding != f })
}

// count returns how often operations of a query ended in a way.
func (c *candidate) count(at int, o outcome) int {
	n := 0
	for _, r := range c.rounds {
		n += r.queries[at].outcomes[o]
	}
	return n
}

// failedOf returns how many operations of a query failed.
func (c *candidate) failedOf(at int) int { return c.count(at, failed) }

// meets reports whether the candidate did all that is asked.
func (c *candidate) meets() bool {
	return c.state == stateValid && len(c.found(met)) == len(c.objectives) && c.failures == 0
}

// figures returns the candidate's figure of each round by which those of its class
// are compared: the processor time of an operation, or the time that it took.
func (v *verdict) figures(c *candidate) []float64 {
	var list []float64
	for _, r := range c.rounds {
		if v.byCPU {
			list = append(list, r.cpuPerOp())
			continue
		}
		sum, n := 0.0, 0
		for _, q := range r.queries {
			sum += float64(q.work) * float64(q.calls)
			n += int(q.calls)
		}
		list = append(list, sum/float64(max(n, 1)))
	}
	return list
}

func (c *candidate) size() int64 { return c.records + c.indexes }

// sameBytes reports whether the bytes of both are of one account. What one store
// calls bytes may be memory, and another's what lies on its disk.
func (c *candidate) sameBytes(o *candidate) bool { return c.store.facts.Name == o.store.facts.Name }

// A verdict ranks the candidates of one class of durability.
type verdict struct {
	class  driver.Durability
	delay  time.Duration // of class delayed
	byCPU  bool          // what candidates are compared by: see figures
	ranked []*candidate  // best first
	ratios []ratio       // by place in ranked: how many times the best one's figure this one's is
	close  bool          // the second one may be as good as the first
	open   bool          // no candidate is known to do what is asked, and of one it is not known
}

func (v *verdict) best() *candidate { return v.ranked[0] }

// doubtful returns the first candidate of which it is not known what it does.
func (v *verdict) doubtful() *candidate {
	return v.ranked[slices.IndexFunc(v.ranked, (*candidate).unknown)]
}

// decide ranks the candidates of each class: those that do what is asked first,
// then by the figure, by bytes where that cannot tell. The figure is the processor
// time if all stores of the class are in this process.
func decide(candidates []*candidate) []*verdict {
	verdicts := classes(candidates)
	for _, v := range verdicts {
		v.byCPU = !slices.ContainsFunc(v.ranked, func(c *candidate) bool { return !c.store.inProcess() })
		v.rank()
	}
	return verdicts
}

func (v *verdict) rank() {
	slices.SortStableFunc(v.ranked, func(a, b *candidate) int {
		return cmp.Or(
			cmp.Compare(a.standing(), b.standing()),
			cmp.Compare(len(a.found(missed)), len(b.found(missed))),
			cmp.Compare(median(v.figures(a)), median(v.figures(b))))
	})
	v.compare()
	if len(v.ranked) > 1 && v.tie(1) && v.ranked[0].sameBytes(v.ranked[1]) && v.ranked[1].size() < v.ranked[0].size() {
		v.ranked[0], v.ranked[1] = v.ranked[1], v.ranked[0]
		v.compare()
	}
	v.close = len(v.ranked) > 1 && v.tie(1)
	v.open = !v.best().meets() && slices.ContainsFunc(v.ranked, (*candidate).unknown)
}

// standing is 0 for a candidate that does what is asked, 1 for one that misses nothing as far
// as its calls can tell, 2 for one that misses objectives, 3 for one of which nothing is
// known, 4 for one that falls behind.
func (c *candidate) standing() int {
	switch {
	case c.meets():
		return 0
	case c.state == stateShort:
		return 1
	case c.state == stateValid:
		return 2
	case c.unknown():
		return 3
	}
	return 4
}

// compare fills in the ratios between the first and the others.
func (v *verdict) compare() {
	v.ratios = make([]ratio, len(v.ranked))
	var list []*ratio
	for i := 1; i < len(v.ranked); i++ {
		v.ratios[i] = compareRounds(v.figures(v.ranked[i]), v.figures(v.ranked[0]))
		if v.ranked[i].standing() == v.ranked[0].standing() {
			list = append(list, &v.ratios[i]) // the others lose without it
		}
	}
	holm(list)
}

// tie reports whether the candidate at a place does what the first one does, and
// the figures cannot tell them apart.
func (v *verdict) tie(i int) bool {
	a, b := v.ranked[0], v.ranked[i]
	return a.standing() == b.standing() && len(a.found(missed)) == len(b.found(missed)) && !v.ratios[i].clear()
}

// Exit codes of a run.
const (
	Met     = 0 // some candidate of each class does all that is asked
	Missed  = 1 // none does in a class
	Usage   = 2 // the command or a file is wrong
	Invalid = 3 // what was measured cannot tell: late clock, too few calls or rounds, operations that do nothing
	Wrong   = 4 // candidates gave different answers
)

// exitCode returns what a run ends with.
func exitCode(verdicts []*verdict) int {
	code := Met
	for _, v := range verdicts {
		switch {
		case v.open:
			return Invalid
		case !v.best().meets():
			code = Missed
		}
	}
	return code
}
