package loadtest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// A screen is the result in words: verdict, and the numbers it rests on.
type screen struct {
	r        *run
	verdicts []*verdict
	lost     *StoreLost // nil when the run went to its end
	b        strings.Builder
}

const (
	screenWidth = 100
	shownTables = 3 // queries that get a table: those that decide
)

func (s *screen) text() string {
	s.head()
	s.checks()
	if s.lost != nil && s.r.measured() == 0 {
		s.ended()
		return s.b.String()
	}
	for _, at := range s.deciding() {
		s.queryTable(at)
	}
	if more := len(s.r.w.queries) - min(shownTables, len(s.r.w.queries)); more > 0 {
		name := plural(more, "more query")
		fmt.Fprintf(&s.b, "  … %s in the result\n\n", strings.Replace(name, "1 more", "one more", 1))
	}
	s.mixTable()
	if s.lost != nil {
		s.ended()
		return s.b.String()
	}
	for _, v := range s.verdicts {
		s.verdict(v)
		if len(s.verdicts) > 1 {
			s.b.WriteString("\n")
		}
	}
	s.across()
	s.paragraph(s.notAsked())
	return s.b.String()
}

// head says what was measured, and on what.
func (s *screen) head() {
	w := s.r.w
	var parts []string
	for i, c := range w.collections {
		parts = append(parts, showCount(s.r.data[i].n)+" "+c.schema.Collection)
	}
	writes := 0.0
	for _, q := range w.queries {
		if q.writes() {
			writes += q.weight
		}
	}
	queries := plural(len(w.queries), "query")
	fmt.Fprintf(&s.b, "%s   %s, %s (%s writes), %s\n", w.Name, joined(parts), queries, showPercent(writes), plural(len(w.models), "model"))
	for _, st := range s.r.stores {
		name := strings.TrimRight(st.facts.Name+" "+st.facts.Version, " ")
		fmt.Fprintf(&s.b, "  on %s, class %s (%s)\n", name, st.facts.Durability, st.facts.Setting)
	}
	for _, c := range s.r.absent {
		s.paragraph(fmt.Sprintf("not there: %s: %s", c.label, c.lacks))
	}
	s.b.WriteString("\n")
}

// checks says why the numbers can be believed.
func (s *screen) checks() {
	records := 0
	for _, t := range s.r.data {
		records += t.n
	}
	if len(s.r.candidates) > 1 {
		fmt.Fprintf(&s.b, "  same answers   %s agree on %s sampled calls, and on all records after them\n", plural(len(s.r.candidates), "candidate"), showCount(s.r.compared))
	}
	if s.lost == nil {
		s.b.WriteString("  indexes        agree with their records after the run\n")
	}
	fmt.Fprintf(&s.b, "  %-14s %s of %v, interleaved; seed %d\n", "rate "+showCount(s.r.w.Rate)+"/s", plural(s.r.w.Rounds, "round"), s.r.w.Round, s.r.w.Seed)
	s.troubles()
	s.b.WriteString("\n")
}

// troubles tells what makes numbers odd: stalls of a store, and operations that did nothing.
func (s *screen) troubles() {
	var stalls, nothing []string
	for _, c := range s.r.candidates {
		for _, r := range c.rounds {
			if r.stalled() {
				stalls = append(stalls, fmt.Sprintf("%s: nothing was answered for %s in round %d, while %s waited", c.label, showDuration(r.stall.took), r.number, plural(r.stall.waiting, "call")))
			}
		}
	}
	for at, q := range s.r.w.queries {
		worst := effect{query: q}
		for _, c := range s.r.candidates {
			if e := c.effect(q, at); e.nothing*max(worst.ended, 1) > worst.nothing*e.ended {
				worst = e
			}
		}
		if worst.told() {
			nothing = append(nothing, worst.String())
		}
	}
	s.listed("stalls", stalls)
	s.listed("no effect", nothing)
}

const mostListed = 8 // of one trouble

// listed writes texts below each other, with a title before the first.
func (s *screen) listed(title string, texts []string) {
	if more := len(texts) - mostListed; more > 0 {
		texts = append(texts[:mostListed:mostListed], fmt.Sprintf("and %d more in the result", more))
	}
	for _, text := range texts {
		lines := wrapped(text, screenWidth-17)
		for _, line := range lines {
			fmt.Fprintf(&s.b, "  %-14s %s\n", title, line)
			title = ""
		}
	}
}

// deciding returns the queries whose numbers tell the candidates of a class apart:
// those with missed objectives, then those with the greatest differences.
func (s *screen) deciding() []int {
	var list []int
	weight := map[int]float64{}
	for at := range s.r.w.queries {
		for _, v := range s.verdicts {
			weight[at] += v.apart(at)
		}
		list = append(list, at)
	}
	slices.SortStableFunc(list, func(a, b int) int { return cmp.Compare(weight[b], weight[a]) })
	list = list[:min(shownTables, len(list))]
	slices.Sort(list)
	return list
}

// apart says how much a query tells the candidates of the class apart. One that
// cannot carry the rate is late in all queries alike, so it counts only where there
// are no two others.
func (v *verdict) apart(at int) float64 {
	weight := 0.0
	least, most := time.Duration(1<<62), time.Duration(1)
	carrying := slices.DeleteFunc(slices.Clone(v.ranked), func(c *candidate) bool { return c.state == stateSaturated })
	if len(carrying) < 2 {
		carrying = v.ranked
	}
	for _, c := range carrying {
		p50 := time.Duration(c.spectra[at][serviceTime].ValueAtQuantile(50))
		least, most = min(least, max(p50, 1)), max(most, p50)
		for _, j := range c.objectives {
			if j.at == at && j.finding == missed {
				weight += 1000
			}
		}
	}
	return weight + float64(most)/float64(least)
}

// byClass returns the candidates, those of the strongest class first.
func (s *screen) byClass() []*candidate {
	var list []*candidate
	for _, v := range s.verdicts {
		for _, c := range s.r.candidates {
			if slices.Contains(v.ranked, c) {
				list = append(list, c)
			}
		}
	}
	return list
}

// classTitle and classOf are a column of the tables where there are several
// classes, and nothing else.
func (s *screen) classTitle() string {
	if len(s.verdicts) < 2 {
		return ""
	}
	return "class"
}

func (s *screen) classOf(c *candidate) string {
	if len(s.verdicts) < 2 {
		return ""
	}
	return c.store.facts.Durability.String()
}

func (s *screen) queryTable(at int) {
	q := s.r.w.queries[at]
	title := fmt.Sprintf("%s (%s", q.name, showPercent(q.weight))
	for _, o := range q.objectives {
		title += ", " + o.String()
	}
	upper, of := q.upper()
	rows := [][]string{{title + ")", s.classTitle(), "p50", upper.name, "trips", "requests", "rows read", "CPU/op", ""}}
	for _, c := range s.byClass() {
		p := c.probes[at]
		rows = append(rows, []string{c.label, s.classOf(c), c.shown(at, 50, func(q *roundQuery) mark { return q.p50 }), c.shown(at, upper.percentile, of),
			digits(p.each.trips), digits(p.each.requests), digits(p.each.rows), showDuration(p.each.cpu()), s.note(c, at)})
	}
	s.table(rows)
}

func ms(ns int64) string { return showDuration(time.Duration(ns)) }

// note says what is wrong with a query of a candidate.
func (s *screen) note(c *candidate, at int) string {
	var notes []string
	for _, f := range []finding{missed, lateMiss, stallMiss, fewCalls} {
		if slices.ContainsFunc(c.found(f), func(j judgedObjective) bool { return j.at == at && (j.calls > 0 || s.lost == nil) }) {
			notes = append(notes, string(f))
		}
	}
	if n := c.failedOf(at); n > 0 {
		notes = append(notes, showCount(n)+" failed")
	}
	if n := c.count(at, unfinished); n > 0 {
		notes = append(notes, showCount(n)+" cut off")
	}
	return strings.Join(notes, ", ")
}

// upper returns the percentile that is shown beside p50, and which it is of a round: that of the
// query's highest objective, or p99.
func (q *query) upper() (objective, func(*roundQuery) mark) {
	best := -1
	for i, o := range q.objectives {
		if o.percentile > 50 && (best < 0 || o.percentile > q.objectives[best].percentile) {
			best = i
		}
	}
	if best < 0 {
		return objective{percentile: 99, name: "p99"}, func(q *roundQuery) mark { return q.p99 }
	}
	return q.objectives[best], func(q *roundQuery) mark { return q.marks[best] }
}

// shown returns a percentile of a query's response, the median of the rounds, or a dash when there
// is none. A mark says that too few calls tell it, or that calls were cut off and it is more.
func (c *candidate) shown(at int, percent float64, of func(*roundQuery) mark) string {
	var list []float64
	cut, calls := 0, int64(0)
	for _, r := range c.rounds {
		q := &r.queries[at]
		if q.calls == 0 {
			continue
		}
		m := of(q)
		list = append(list, float64(m.response))
		calls += q.calls
		if m.cut {
			cut++
		}
	}
	switch {
	case len(list) == 0:
		return "–"
	case 2*cut >= len(list):
		return cutMark + ms(int64(median(list)))
	case calls < callsFor(percent, len(c.rounds)):
		return fewMark + ms(int64(median(list)))
	}
	return ms(int64(median(list)))
}

// lag returns the 99th percentile of the clock's lag.
func (c *candidate) lag() string {
	lag := c.all[lagTime]
	if lag.TotalCount() < callsFor(99, 1) {
		return fewMark + ms(lag.ValueAtQuantile(99))
	}
	return ms(lag.ValueAtQuantile(99))
}

const (
	cutMark = "> "
	fewMark = "~ "
)

// marks explains the marks of percentiles that are on the screen.
func (s *screen) marks() string {
	var parts []string
	if strings.Contains(s.b.String(), "   "+fewMark) {
		parts = append(parts, "~ is from too few calls")
	}
	if strings.Contains(s.b.String(), "   "+cutMark) {
		parts = append(parts, "> from calls that were cut off and would have taken longer")
	}
	if len(parts) == 0 {
		return ""
	}
	return " " + strings.Join(parts, "; ") + "."
}

// mixTable shows all queries together.
func (s *screen) mixTable() {
	rows := [][]string{{"all queries together", s.classTitle(), "CPU/op", "trips", "requests", "bytes/record", "loaded in", "clock lag p99", ""}}
	for _, c := range s.byClass() {
		each := c.spentPerOp()
		rows = append(rows, []string{c.label, s.classOf(c), showDuration(c.cpuPerOp()), digits(each.trips), digits(each.requests), s.bytesEach(c),
			showDuration(c.loaded), c.lag(), s.stateOf(c)})
	}
	s.table(rows)
}

// stateOf returns how a candidate's run ended, or how far it came.
func (s *screen) stateOf(c *candidate) string {
	if s.lost != nil {
		return fmt.Sprintf("%d of %d rounds", len(c.rounds), s.r.w.Rounds)
	}
	return c.state
}

func (s *screen) bytesEach(c *candidate) string {
	if c.records < 0 {
		return "unknown"
	}
	n := 0
	for _, t := range s.r.data {
		n += t.n
	}
	return showCount(int(c.size() / int64(max(n, 1))))
}
