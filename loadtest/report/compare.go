package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/polystore/polystore/loadtest/internal/format"
	"github.com/polystore/polystore/loadtest/internal/limit"
)

// A Comparison is what became better or worse from one result to a later one of the same workload.
type Comparison struct {
	Exit    int      // 0 nothing is worse, 1 something is, 3 the two cannot be compared, 4 one has wrong answers
	Apart   []string // why they cannot be
	Wrong   []string // which of them have wrong answers
	Unknown []string // candidates of which it is not known what they do
	Others  []string // what differs beside, and may be the cause
	Lost    []string // what was met and is not any more
	Won     []string // what was not met and is now
	Changes []Change // of all figures
}

// A Change is one figure of a candidate in both results.
type Change struct {
	Candidate string
	Query     string // "" is all queries together
	Figure    string
	Before    time.Duration // median of the rounds
	After     time.Duration
	Ratio     Ratio // the later one to the earlier one
	Clock     int   // 1 if the clock was much later in the later result, -1 if in the earlier one
}

// Worse reports whether the figure rose, by enough to matter and not by chance, nor because the machine
// had other things to do.
func (c *Change) Worse() bool { return c.rose() && c.Clock <= 0 }

// Better reports whether the figure fell, as Worse does.
func (c *Change) Better() bool { return c.Ratio.clear() && c.Ratio.Times < 1 && c.Clock >= 0 }

func (c *Change) rose() bool { return c.Ratio.clear() && c.Ratio.Times > 1 }

// Compare compares a result with an earlier one, by the statistics of the verdict. Both are judged.
func Compare(before, after *Result) *Comparison {
	c := &Comparison{Others: others(before, after)}
	for _, x := range []struct {
		name string
		r    *Result
	}{{"the earlier result", before}, {"the later result", after}} {
		switch {
		case x.r.Wrong:
			c.Wrong = append(c.Wrong, x.name+" has wrong answers: "+x.r.Ended)
		case x.r.lost():
			c.Apart = append(c.Apart, x.name+" has no verdict: "+x.r.Ended)
		case x.r.apart():
			c.Apart = append(c.Apart, fmt.Sprintf("%s is %s; merge all shares by polystore merge first", x.name, x.r.Share))
		}
	}
	c.Apart = append(c.Apart, Differences(before, after)...)
	if !slices.EqualFunc(before.Data, after.Data, func(a, b DataResult) bool { return a.Collection == b.Collection && a.Records == b.Records }) {
		c.Apart = append(c.Apart, "the data are others: "+records(before)+", and "+records(after))
	}
	pairs := c.pairs(before, after)
	if len(c.Apart)+len(c.Wrong) == 0 {
		for _, p := range pairs {
			c.add(p[0], p[1])
		}
	}
	c.Exit = c.code()
	return c
}

func (c *Comparison) code() int {
	worse := slices.ContainsFunc(c.Changes, func(x Change) bool { return x.Worse() })
	switch {
	case len(c.Wrong) > 0:
		return Wrong
	case len(c.Apart) > 0:
		return Invalid
	case worse || len(c.Lost) > 0:
		return Missed
	case len(c.Unknown) > 0:
		return Invalid
	}
	return Met
}

// Differences returns why two results cannot be compared, as far as that is known before the second is measured: another
// workload, machine or pace.
func Differences(a, b *Result) (list []string) {
	add := func(what, x, y string) {
		if x != y {
			list = append(list, fmt.Sprintf("%s is another: %s, and %s", what, cmp.Or(x, "none"), cmp.Or(y, "none")))
		}
	}
	add("the workload", a.Workload, b.Workload)
	if a.Fingerprint != b.Fingerprint && a.Fingerprint != "" && b.Fingerprint != "" {
		list = append(list, "the workload file says something else (fingerprint "+a.Fingerprint+", and "+b.Fingerprint+")")
	}
	add("the list of models", strings.Join(a.Models, ", "), strings.Join(b.Models, ", "))
	add("the list of queries", queries(a), queries(b))
	x, y := &a.Environment, &b.Environment
	add("the machine", x.machine(), y.machine())
	if x.Machine != y.Machine && x.Machine != "" && y.Machine != "" {
		list = append(list, "the machine is another of the same kind (machine "+x.Machine+", and "+y.Machine+")")
	}
	pace := func(r *Result) string {
		return fmt.Sprintf("%s/s, %d rounds of %v, %s slots", format.Count(r.Rate), r.Rounds, r.Round, format.Count(r.Slots))
	}
	add("the pace", pace(a), pace(b))
	if n := min(a.Rounds, b.Rounds); n < limit.LeastRounds {
		list = append(list, fmt.Sprintf("%s do not tell a difference from chance; say --rounds %d at least", format.Plural(n, "round"), limit.LeastRounds))
	}
	return list
}

// machine returns what two machines have in common that give the same figures.
func (e *Environment) machine() string {
	return fmt.Sprintf("%s %s, %s, %d processors (%d used)", e.OS, e.Arch, cmp.Or(e.CPU, "unknown processor"), e.CPUs, e.GOMAXPROCS)
}

func queries(r *Result) string {
	var list []string
	for _, q := range r.Queries {
		text := fmt.Sprintf("%s (%s %s", q.Name, q.Kind, format.Percent(q.Weight))
		for _, o := range q.Objectives {
			text += ", " + o.String()
		}
		list = append(list, text+")")
	}
	return strings.Join(list, ", ")
}

func records(r *Result) string {
	var list []string
	for _, d := range r.Data {
		list = append(list, format.Count(d.Records)+" "+d.Collection)
	}
	return format.Joined(list)
}

// others returns what differs and does not keep results from being compared.
func others(a, b *Result) (list []string) {
	for _, x := range []struct{ what, a, b string }{
		{"program", a.Environment.Program, b.Environment.Program}, {"Go", a.Environment.Go, b.Environment.Go},
		{"kernel", a.Environment.Kernel, b.Environment.Kernel}, {"seed", fmt.Sprint(a.Seed), fmt.Sprint(b.Seed)},
	} {
		if x.a != x.b {
			list = append(list, fmt.Sprintf("%s: %s, and then %s", x.what, cmp.Or(x.a, "unknown"), cmp.Or(x.b, "unknown")))
		}
	}
	return list
}

// pairs returns the candidates that are in both results: the same model on the same store. Stores of one kind are told
// apart by their order.
func (c *Comparison) pairs(before, after *Result) (list [][2]*candidate) {
	old := map[string]*candidate{}
	for _, x := range candidatesOf(before) {
		old[x.place()] = x
	}
	for _, y := range candidatesOf(after) {
		x := old[y.place()]
		if x == nil {
			c.Others = append(c.Others, y.Name+" is in the later result alone")
			continue
		}
		delete(old, y.place())
		if was, is := x.on.class(), y.on.class(); was != is {
			c.Apart = append(c.Apart, fmt.Sprintf("%s was of class %s, and is of class %s", y.Name, was, is))
		}
		if text := fmt.Sprintf("%s: %s, and then %s", y.on.Name, x.on.Version, y.on.Version); x.on.Version != y.on.Version && !slices.Contains(c.Others, text) {
			c.Others = append(c.Others, text)
		}
		list = append(list, [2]*candidate{x, y})
	}
	for _, x := range candidatesOf(before) {
		if old[x.place()] != nil {
			c.Others = append(c.Others, x.Name+" is in the earlier result alone")
		}
	}
	if len(list) == 0 {
		c.Apart = append(c.Apart, "they have no model on the same store")
	}
	return list
}

// place tells a candidate from the others of its result, and is the same in other results.
func (c *candidate) place() string {
	number := 0
	for i := range c.result.Stores[:c.StoreAt] {
		if c.result.Stores[i].Name == c.on.Name {
			number++
		}
	}
	return fmt.Sprintf("%q on %q %d", c.Model, c.on.Name, number)
}

func (s *StoreResult) class() string {
	if s.Delay > 0 {
		return fmt.Sprintf("%s by %v", s.Durability, s.Delay)
	}
	return s.Durability
}

// add compares a candidate with itself.
func (c *Comparison) add(a, b *candidate) {
	c.objectives(a, b)
	for _, x := range []*candidate{a, b} {
		if x.State == stateInvalid || x.State == stateBehind {
			when := "the earlier result"
			if x == b {
				when = "the later result"
			}
			reason, _ := (&page{r: x.result}).doubt(x)
			c.Unknown = append(c.Unknown, fmt.Sprintf("%s, in %s: %s", b.Name, when, reason))
		}
	}
	if a.State == stateInvalid || b.State == stateInvalid {
		return
	}
	byCPU := a.on.InProcess && b.on.InProcess
	figure := func(x *candidate) []float64 { return (&verdict{byCPU: byCPU}).figures(x) }
	c.family(change(b.Name, "", (&verdict{byCPU: byCPU}).figureName(), figure(a), figure(b)))
	var work, upper []Change
	for at := range b.Queries {
		q := b.Queries[at].Name
		work = append(work, change(b.Name, q, "p50", a.times(at, 50, workOf), b.times(at, 50, workOf)))
		setting, of := b.result.Queries[at].Upper()
		high := func(r *RoundResult, q *RoundQuery) time.Duration {
			if m := of(q); r.Lag > m.Response/5 { // the clock may be the cause
				return m.Service
			}
			return of(q).Response
		}
		upper = append(upper, change(b.Name, q, setting.Name, a.times(at, setting.Percentile, high), b.times(at, setting.Percentile, high)))
	}
	c.family(work...)
	c.family(upper...)
	c.doubt(a, b)
}

// muchLater is how many times as late the clock is on a machine that has got other things to do.
const muchLater = 2

// doubt marks the changes of a candidate between two results in one of which the clock was much later.
func (c *Comparison) doubt(a, b *candidate) {
	lags := func(x *candidate) (list []float64) {
		for i := range x.Rounds {
			list = append(list, float64(x.Rounds[i].Lag))
		}
		return list
	}
	lag := change(b.Name, "", "clock lag p99", lags(a), lags(b))
	clock := 0
	switch {
	case !lag.Ratio.clear():
		return
	case lag.Ratio.Times > muchLater:
		clock = 1
	case lag.Ratio.Times < 1./muchLater:
		clock = -1
	}
	rose := 0
	for i := range c.Changes {
		if x := &c.Changes[i]; x.Candidate == b.Name {
			if x.Clock = clock; clock > 0 && x.rose() {
				rose++
			}
		}
	}
	if rose > 0 {
		c.Unknown = append(c.Unknown, fmt.Sprintf("%s: %s rose, and the clock was late by %s (p99; before %s), so the machine may have had other things to do: measure again",
			b.Name, format.Plural(rose, "figure"), format.Duration(lag.After), format.Duration(lag.Before)))
	}
}

func workOf(_ *RoundResult, q *RoundQuery) time.Duration { return q.Work }

// times returns a percentile of a query in each round, without the clock's lag; none where too few calls tell it.
func (c *candidate) times(at int, percent float64, of func(*RoundResult, *RoundQuery) time.Duration) (list []float64) {
	calls := int64(0)
	for i := range c.Rounds {
		if q := &c.Rounds[i].Queries[at]; q.Calls > 0 {
			list, calls = append(list, float64(of(&c.Rounds[i], q))), calls+q.Calls
		}
	}
	if calls < callsFor(percent, len(c.Rounds)) {
		return nil
	}
	return list
}

func change(name, query, figure string, before, after []float64) Change {
	c := Change{Candidate: name, Query: query, Figure: figure, Ratio: compareRounds(after, before)}
	if len(before) > 0 && len(after) > 0 {
		c.Before, c.After = time.Duration(median(before)), time.Duration(median(after))
	}
	return c
}

// family adjusts changes of one kind for being many, and keeps those that there are.
func (c *Comparison) family(list ...Change) {
	list = slices.DeleteFunc(list, func(x Change) bool { return math.IsNaN(x.Ratio.Times) })
	var ratios []*Ratio
	for i := range list {
		ratios = append(ratios, &list[i].Ratio)
	}
	holm(ratios)
	c.Changes = append(c.Changes, list...)
}

// objectives notes what is missed that was met, and the other way round, and calls that fail.
func (c *Comparison) objectives(a, b *candidate) {
	was := a.objectives()
	for i, o := range b.objectives() {
		switch {
		case i >= len(was):
		case was[i].Finding == met && o.Finding == missed:
			c.Lost = append(c.Lost, b.Name+": "+o.String())
		case was[i].Finding == missed && o.Finding == met:
			c.Won = append(c.Won, fmt.Sprintf("%s: %s (%s %s, asked ≤ %s)", b.Name, o.query.Name, o.Name, format.Duration(o.Measured), format.Duration(o.Bound)))
		case was[i].Finding == met && o.Finding != met && (b.State == stateValid || b.State == stateShort):
			c.Unknown = append(c.Unknown, fmt.Sprintf("%s: %s: %s, and it was met", b.Name, o.String(), o.Finding))
		}
	}
	if a.State != stateSaturated && b.State == stateSaturated {
		c.Lost = append(c.Lost, fmt.Sprintf("%s cannot carry %s/s any more", b.Name, format.Count(b.result.Rate)))
	}
	if a.Failures == 0 && b.Failures > 0 {
		c.Lost = append(c.Lost, fmt.Sprintf("%s: %s failed, the first: %s", b.Name, format.Plural(b.Failures, "operation"), b.Failure))
	}
}
