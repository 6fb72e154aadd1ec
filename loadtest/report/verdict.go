package report

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/polystore/polystore/repo/driver"
)

// A verdict ranks the candidates of one class of durability.
type verdict struct {
	class  driver.Durability
	delay  time.Duration // of class delayed
	byCPU  bool          // what candidates are compared by: see figures
	ranked []*candidate  // best first
	ratios []Ratio       // by place in ranked: how many times the best one's figure this one's is
	means  []Ratio       // as ratios, of the mean times where ratios are of median ones
	close  bool          // the second one may be as good as the first
	open   bool          // no candidate is known to do what is asked, and of one it is not known
	of     int           // verdicts that are made together
}

// Judge decides on what was measured: the sums of the candidates, their objectives and states, the
// verdicts, the exit code and the text. What the result says of these is not looked at. With a
// store that was lost there is no verdict.
func Judge(r *Result) {
	candidates := candidatesOf(r)
	for _, c := range candidates {
		c.judge()
		for i := range c.Steps {
			c.Steps[i].judge(r)
		}
	}
	verdicts := decide(candidates)
	p := &page{r: r, candidates: candidates, verdicts: verdicts}
	r.Verdicts, r.Exit = nil, Usage
	switch {
	case r.Wrong:
		r.Exit = Wrong
	case r.apart() && !r.lost():
		r.Exit = Met
	case !r.lost():
		for _, v := range verdicts {
			r.Verdicts = append(r.Verdicts, p.verdictResult(v))
		}
		r.Exit = exitCode(verdicts)
	}
	r.Text = p.sheet().Text()
}

// lost reports whether the run has not come to its end: a store was lost, or answers differed.
func (r *Result) lost() bool { return r.Ended != "" || r.Wrong }

func (p *page) verdictResult(v *verdict) VerdictResult {
	out := VerdictResult{Class: v.class.String(), Figure: v.figureName(), Met: v.best().meets(), TooWeak: v.close || len(v.ranked) > 1 && v.best().meets() && v.ranked[1].unknown()}
	for _, s := range v.stores() {
		out.Stores = append(out.Stores, s.URL+": "+s.Setting)
	}
	switch {
	case out.Met:
		out.Take = v.best().Name
	case v.open:
		out.Unknown, _ = p.doubt(v.doubtful())
	}
	for i, c := range v.ranked {
		out.Ranked = append(out.Ranked, c.Name)
		out.Ratios = append(out.Ratios, nil)
		if x := &v.ratios[i]; i > 0 && !math.IsNaN(x.Times) {
			out.Ratios[i] = x
		}
	}
	return out
}

// figures returns the candidate's figure of each round by which those of its class
// are compared: the processor time of an operation, or the time that it took.
func (v *verdict) figures(c *candidate) []float64 {
	var list []float64
	for i := range c.Rounds {
		if v.byCPU {
			list = append(list, c.Rounds[i].cpuPerOp())
		} else {
			list = append(list, c.Rounds[i].workPerOp())
		}
	}
	return list
}

// figureName returns what candidates are compared by.
func (v *verdict) figureName() string {
	if v.byCPU {
		return "CPU for the mix"
	}
	return "time for the mix"
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
		v.byCPU = !slices.ContainsFunc(v.ranked, func(c *candidate) bool { return !c.on.InProcess })
		v.of = len(verdicts)
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
	v.steadiest()
	v.lessOnTheWhole()
	v.fewestBytes()
	v.steadiest()
	v.close = len(v.ranked) > 1 && v.tie(1)
	v.open = !v.best().meets() && slices.ContainsFunc(v.ranked, (*candidate).unknown)
}

// first makes the candidate at a place the best one. The others keep their order.
func (v *verdict) first(i int) {
	best := v.ranked[i]
	v.ranked = slices.Insert(slices.Delete(v.ranked, i, i+1), 0, best)
	v.compare()
}

// steadiest puts a candidate first that meets in every round what the first one meets by the median alone.
func (v *verdict) steadiest() {
	for i := range v.ranked {
		if v.ranked[i].steadierThan(v.best()) {
			v.first(i)
		}
	}
}

// lessOnTheWhole puts a candidate first that takes less time by the mean, where the first one takes less by the median
// alone: a few of its calls take so long that all together do.
func (v *verdict) lessOnTheWhole() {
	for i := range v.ranked {
		if i > 0 && v.equal(i) && v.means[i].decides() && v.means[i].Times < 1 {
			v.first(i)
		}
	}
}

// fewestBytes puts the candidate first that takes the fewest bytes, of those that the figures cannot tell from the best.
func (v *verdict) fewestBytes() {
	fewest := 0
	for i := range v.ranked {
		if i > 0 && v.tie(i) && !v.onTheWhole(i) && v.ranked[0].sameBytes(v.ranked[i]) && v.ranked[i].size() < v.ranked[fewest].size() {
			fewest = i
		}
	}
	if fewest > 0 {
		v.first(fewest)
	}
}

// compare fills in the ratios between the first and the others. All that may make a candidate the better one is adjusted
// together.
func (v *verdict) compare() {
	v.ratios, v.means = make([]Ratio, len(v.ranked)), make([]Ratio, len(v.ranked))
	var family []*Ratio
	for i := 1; i < len(v.ranked); i++ {
		v.ratios[i] = compareCandidates(v.figures(v.ranked[i]), v.figures(v.ranked[0]))
		v.means[i] = compareCandidates(v.meanTimes(v.ranked[i]), v.meanTimes(v.ranked[0]))
		if v.ranked[i].standing() != v.ranked[0].standing() {
			continue // it loses without the figures
		}
		family = append(family, &v.ratios[i])
		if !v.byCPU {
			family = append(family, &v.means[i])
		}
	}
	holm(family)
	for _, r := range family {
		r.Adjusted = min(1, r.Adjusted*float64(max(v.of, 1)))
	}
}

// meanTimes returns the mean time of an operation of each round, none where processor times are compared.
func (v *verdict) meanTimes(c *candidate) (list []float64) {
	for i := range c.Rounds {
		if !v.byCPU {
			list = append(list, c.Rounds[i].meanPerOp())
		}
	}
	return list
}

// onTheWhole reports whether the candidate at a place takes more time than the first one by the mean, which the median
// does not say.
func (v *verdict) onTheWhole(i int) bool {
	return v.means[i].decides() && v.means[i].Times > 1 && !(v.ratios[i].decides() && v.ratios[i].Times > 1)
}

// tie reports whether the candidate at a place does what the first one does, and
// the figures cannot tell them apart.
func (v *verdict) tie(i int) bool {
	return v.equal(i) && (!v.ratios[i].decides() || v.onTheWhole(i) || v.disturbed(i))
}

// muchBusier is by how many processors other programs use more in the rounds of one candidate than in those of another, so
// that the processor times of the two tell nothing.
const muchBusier = 0.25

// disturbed reports whether other programs may be why the candidate at a place took more processor time than the first.
func (v *verdict) disturbed(i int) bool {
	if !v.byCPU {
		return false
	}
	shares := func(c *candidate) (list []float64) {
		for i := range c.Rounds {
			list = append(list, c.Rounds[i].othersShare())
		}
		return list
	}
	one, best := shares(v.ranked[i]), shares(v.ranked[0])
	return median(one)-median(best) > muchBusier && compareRounds(one, best).P <= alpha
}

// equal reports whether the candidate at a place does as much of what is asked as the first one.
func (v *verdict) equal(i int) bool {
	a, b := v.ranked[0], v.ranked[i]
	return a.standing() == b.standing() && len(a.found(missed)) == len(b.found(missed)) && !a.steadierThan(b) && !b.steadierThan(a)
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
