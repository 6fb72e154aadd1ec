package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/polystore/polystore/loadtest/internal/format"
)

// deciding returns the queries whose numbers tell the candidates of a class apart:
// those with missed objectives, then those with the greatest differences; the one that does most is
// the first.
func (p *page) deciding() []int {
	var list []int
	weight := map[int]float64{}
	for at := range p.r.Queries {
		for _, v := range p.verdicts {
			weight[at] += v.apart(at)
		}
		list = append(list, at)
	}
	slices.SortStableFunc(list, func(a, b int) int { return cmp.Compare(weight[b], weight[a]) })
	return list[:min(shownTables, len(list))]
}

// apart says how much a query tells the candidates of the class apart. One that
// cannot carry the rate is late in all queries alike, so it counts only where there
// are no two others.
func (v *verdict) apart(at int) float64 {
	weight := 0.0
	least, most := time.Duration(1<<62), time.Duration(1)
	carrying := slices.DeleteFunc(slices.Clone(v.ranked), func(c *candidate) bool { return c.State == stateSaturated })
	if len(carrying) < 2 {
		carrying = v.ranked
	}
	for _, c := range carrying {
		p50 := c.Queries[at].Service.P50
		least, most = min(least, max(p50, 1)), max(most, p50)
		for _, o := range c.Queries[at].Objectives {
			if o.Finding == missed {
				weight += 1000
			}
		}
	}
	return weight + float64(most)/float64(least)
}

// byClass returns the candidates, those of the strongest class first.
func (p *page) byClass() []*candidate {
	var list []*candidate
	for _, v := range p.verdicts {
		for _, c := range p.candidates {
			if slices.Contains(v.ranked, c) {
				list = append(list, c)
			}
		}
	}
	return list
}

// classTitle and classOf are a column of the tables where there are several
// classes, and nothing else.
func (p *page) classTitle() string {
	if len(p.verdicts) < 2 {
		return ""
	}
	return "class"
}

func (p *page) classOf(c *candidate) string {
	if len(p.verdicts) < 2 {
		return ""
	}
	return c.on.Durability
}

func (p *page) queryTable(at int) Table {
	setting := &p.r.Queries[at]
	share := format.Percent(setting.Weight)
	if setting.Weight == 0 {
		share = "never asked"
		if slices.ContainsFunc(p.candidates, func(c *candidate) bool { return c.Queries[at].Calls > 0 }) {
			share = "in journeys"
		}
	}
	title := fmt.Sprintf("%s (%s", setting.Name, share)
	for _, o := range setting.Objectives {
		title += ", " + o.String()
	}
	upper, of := setting.Upper()
	t := Table{Head: []string{title + ")", p.classTitle(), "p50", upper.Name, "trips", "requests", "rows read", "CPU/op", ""}}
	for _, c := range p.byClass() {
		q := &c.Queries[at]
		t.Rows = append(t.Rows, []string{c.Name, p.classOf(c), c.shown(at, 50, func(q *RoundQuery) Mark { return q.P50 }), c.shown(at, upper.Percentile, of),
			format.Digits(q.TripsEach), format.Digits(q.RequestsEach), format.Digits(q.RowsEach), format.Duration(q.SampledCPU), p.note(q)})
	}
	return t.narrow().marked()
}

// note says what is wrong with a query of a candidate.
func (p *page) note(q *QueryResult) string {
	var notes []string
	for _, finding := range []string{missed, lateMiss, stallMiss, fewCalls} {
		if slices.ContainsFunc(q.Objectives, func(o ObjectiveResult) bool { return o.Finding == finding && (o.Calls > 0 || !p.r.lost()) }) {
			notes = append(notes, finding)
		}
	}
	if n := q.failed(); n > 0 {
		notes = append(notes, format.Count(n)+" failed")
	}
	if n := q.Outcomes[outcomeUnfinished]; n > 0 {
		notes = append(notes, format.Count(n)+" cut off")
	}
	return strings.Join(notes, ", ")
}

// Upper returns the percentile that is shown beside p50, and which it is of a round: that of the
// query's highest objective, or p99.
func (q *QuerySetting) Upper() (ObjectiveSetting, func(*RoundQuery) Mark) {
	best := -1
	for i, o := range q.Objectives {
		if o.Percentile > 50 && (best < 0 || o.Percentile > q.Objectives[best].Percentile) {
			best = i
		}
	}
	if best < 0 {
		return ObjectiveSetting{Name: "p99", Percentile: 99}, func(q *RoundQuery) Mark { return q.P99 }
	}
	return q.Objectives[best], func(q *RoundQuery) Mark { return q.Objectives[best] }
}

// shown returns a percentile of a query's response, the median of the rounds, or a dash when there
// is none. A mark says that too few calls tell it, or that calls were cut off and it is more.
func (c *candidate) shown(at int, percent float64, of func(*RoundQuery) Mark) string {
	var list []float64
	cut, calls := 0, int64(0)
	for i := range c.Rounds {
		q := &c.Rounds[i].Queries[at]
		if q.Calls == 0 {
			continue
		}
		m := of(q)
		list = append(list, float64(m.Response))
		calls += q.Calls
		if m.Cut {
			cut++
		}
	}
	if len(list) == 0 {
		return "–"
	}
	text := format.Duration(time.Duration(median(list)))
	switch {
	case 2*cut >= len(list):
		return cutMark + text
	case calls < callsFor(percent, len(c.Rounds)):
		return fewMark + text
	}
	return text
}

// lag returns the 99th percentile of the clock's lag.
func (c *candidate) lag() string {
	text := format.Duration(c.Lag.P99)
	if c.calls() < callsFor(99, 1) {
		return fewMark + text
	}
	return text
}

const (
	cutMark = "> "
	fewMark = "~ "
)

// mixTable shows all queries together.
func (p *page) mixTable() Table {
	t := Table{Head: []string{"all queries together", p.classTitle(), "CPU/op", "trips", "requests", "bytes/record", "loaded in", "clock lag p99", ""}}
	for _, c := range p.byClass() {
		t.Rows = append(t.Rows, []string{c.Name, p.classOf(c), format.Duration(c.CPUPerOp), format.Digits(c.TripsEach), format.Digits(c.RequestsEach), p.bytesEach(c),
			format.Duration(c.Loaded), c.lag(), p.stateOf(c)})
	}
	return t.narrow().marked()
}

// stateOf returns how a candidate's run ended, or how far it came.
func (p *page) stateOf(c *candidate) string {
	if p.r.lost() {
		return fmt.Sprintf("%d of %d rounds", len(c.Rounds), p.r.Rounds)
	}
	return c.State
}

func (p *page) bytesEach(c *candidate) string {
	if c.RecordBytes < 0 {
		return "unknown"
	}
	n := 0
	for _, d := range p.r.Data {
		n += d.Records
	}
	return format.Count(int(c.size() / int64(max(n, 1))))
}
