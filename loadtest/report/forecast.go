package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/polystore/polystore/loadtest/internal/format"
)

// Bounds of a forecast.
const (
	leastGrowth = 2    // the largest size is at least so many times the smallest
	mostGrowth  = 1000 // the forecast is for at most so many times the largest size
	flat        = 0.1  // a lesser exponent is taken for no growth
)

// A Forecast says what models would cost with more records, by results of one workload at several sizes. Each cost is
// taken to grow as a power of the records: cost = a·N^b, by least squares in logarithms.
type Forecast struct {
	Workload   string    `json:"workload"`
	Collection string    `json:"collection"` // the largest one: its records are the size
	Sizes      []int     `json:"sizes"`      // that were measured, ascending
	Size       int       `json:"size"`       // that is forecast
	Candidates []Growing `json:"candidates"`
}

// A Growing is a candidate in a forecast.
type Growing struct {
	Name       string    `json:"name"`
	Costs      []Growth  `json:"costs"`
	Objectives []Horizon `json:"objectives"`
}

// A Growth is how a cost grows.
type Growth struct {
	Query    string    `json:"query"`  // "" is all queries together
	Figure   string    `json:"figure"` // what it is: "rows a call"
	Unit     Unit      `json:"unit"`
	Measured []float64 `json:"measured"` // by size
	Exponent float64   `json:"exponent"`
	Forecast float64   `json:"forecast"`

	// Off is how many times the cost at the largest size is what the smaller ones forecast for it; 0 if there are only
	// two sizes, which do not tell.
	Off float64 `json:"off,omitempty"`
}

// A Unit is what a number counts.
type Unit string

// The units.
const (
	Number      Unit = "number"
	Bytes       Unit = "bytes"
	Nanoseconds Unit = "nanoseconds"
)

// A Horizon is how long an objective holds.
type Horizon struct {
	Query     string `json:"query"`
	Objective string `json:"objective"`
	From      int    `json:"from,omitempty"`    // records from which on it is missed; 0 is never, as far as the forecast goes
	Unknown   string `json:"unknown,omitempty"` // why it cannot be told
}

// Plan forecasts the costs of models with so many records of the largest collection. The results are of one workload on
// one machine and the same stores, at two sizes or more.
func Plan(results []*Result, records int) (*Forecast, error) {
	list, err := bySize(results)
	if err != nil {
		return nil, err
	}
	largest := list[len(list)-1]
	f := &Forecast{Workload: largest.Workload, Collection: largest.largest().Collection, Size: records}
	for _, r := range list {
		f.Sizes = append(f.Sizes, r.recordsOf(f.Collection))
	}
	first, last := f.Sizes[0], f.Sizes[len(f.Sizes)-1]
	switch {
	case first < 1 || last < leastGrowth*first:
		return nil, fmt.Errorf("the sizes are too alike to tell how costs grow: %s to %s of %s; measure at a quarter of the records as well (--records)", format.Count(first), format.Plural(last, "record"), f.Collection)
	case records < 1 || records/mostGrowth > last:
		return nil, fmt.Errorf("%s is no size that a forecast reaches: say 1 to %s, which is %d times the largest result", format.Plural(records, "record"), format.Count(mostGrowth*last), mostGrowth)
	}
	for i := range largest.Candidates {
		var of []*CandidateResult
		for _, r := range list {
			if c := r.candidate(&largest.Candidates[i]); c != nil {
				of = append(of, c)
			}
		}
		if len(of) == len(list) {
			f.Candidates = append(f.Candidates, f.growing(of))
		}
	}
	if len(f.Candidates) == 0 {
		return nil, fmt.Errorf("the results have no model on one store in common")
	}
	return f, nil
}

// bySize returns results in the order of their sizes, one of each. Those that are not of one workload, machine and pace
// are refused.
func bySize(results []*Result) ([]*Result, error) {
	if len(results) < 2 {
		return nil, fmt.Errorf("a forecast needs results of two sizes at least; three tell its error")
	}
	list := slices.Clone(results)
	name := list[0].largest().Collection
	slices.SortStableFunc(list, func(a, b *Result) int { return a.recordsOf(name) - b.recordsOf(name) })
	for _, r := range list {
		if r.lost() || r.Wrong {
			return nil, fmt.Errorf("a result with %s of %s has no verdict: %s", format.Plural(r.recordsOf(name), "record"), name, r.Ended)
		}
		if r.apart() {
			return nil, fmt.Errorf("a result with %s of %s is %s; merge all shares by polystore merge first", format.Plural(r.recordsOf(name), "record"), name, r.Share)
		}
		if why := Differences(list[0], r); len(why) > 0 {
			return nil, fmt.Errorf("the results are not of the same workload: %s", strings.Join(why, "; "))
		}
	}
	return slices.CompactFunc(list, func(a, b *Result) bool { return a.recordsOf(name) == b.recordsOf(name) }), nil
}

// largest returns the collection with the most records.
func (r *Result) largest() DataResult {
	if len(r.Data) == 0 {
		return DataResult{}
	}
	return slices.MaxFunc(r.Data, func(a, b DataResult) int { return a.Records - b.Records })
}

func (r *Result) recordsOf(collection string) int {
	for _, d := range r.Data {
		if d.Collection == collection {
			return d.Records
		}
	}
	return 0
}

// candidate returns the candidate of the same model, class and queries, or nil.
func (r *Result) candidate(like *CandidateResult) *CandidateResult {
	for i := range r.Candidates {
		c := &r.Candidates[i]
		if c.Name == like.Name && c.Durability == like.Durability && slices.EqualFunc(c.Queries, like.Queries, func(a, b QueryResult) bool {
			return a.Name == b.Name && len(a.Objectives) == len(b.Objectives)
		}) {
			return c
		}
	}
	return nil
}

// growing returns how the costs of a candidate grow, of which there is a result for each size.
func (f *Forecast) growing(of []*CandidateResult) Growing {
	g := Growing{Name: of[0].Name}
	add := func(query, figure string, unit Unit, cost func(c *CandidateResult) float64) {
		measured := make([]float64, len(of))
		for i, c := range of {
			measured[i] = cost(c)
		}
		if x, ok := f.grows(measured); ok {
			x.Query, x.Figure, x.Unit = query, figure, unit
			g.Costs = append(g.Costs, x)
		}
	}
	add("", "bytes", Bytes, func(c *CandidateResult) float64 {
		if c.RecordBytes < 0 { // the store does not say
			return 0
		}
		return float64(c.RecordBytes) + float64(max(c.IndexBytes, 0))
	})
	add("", "CPU an operation", Nanoseconds, func(c *CandidateResult) float64 { return float64(c.CPUPerOp) })
	for i := range of[0].Queries {
		name := of[0].Queries[i].Name
		at := func(c *CandidateResult) *QueryResult { return &c.Queries[i] }
		add(name, "rows a call", Number, func(c *CandidateResult) float64 { return at(c).RowsEach })
		add(name, "requests a call", Number, func(c *CandidateResult) float64 { return at(c).RequestsEach })
		add(name, "service p50", Nanoseconds, func(c *CandidateResult) float64 {
			if c.State == stateSaturated { // the time is that of what was not cut off
				return 0
			}
			return float64(at(c).Service.P50)
		})
		for j := range of[0].Queries[i].Objectives {
			g.Objectives = append(g.Objectives, f.horizon(of, i, j))
		}
	}
	return g
}

// grows fits what was measured by size. It is false where something was not measured, or nothing.
func (f *Forecast) grows(measured []float64) (Growth, bool) {
	if slices.ContainsFunc(measured, func(y float64) bool { return !(y > 0) || math.IsInf(y, 0) }) {
		return Growth{}, false
	}
	p := fit(f.Sizes, measured)
	g := Growth{Measured: measured, Exponent: p.exponent, Forecast: p.at(f.Size)}
	if n := len(measured) - 1; n >= 2 {
		g.Off = measured[n] / fit(f.Sizes[:n], measured[:n]).at(f.Sizes[n])
	}
	return g, true
}

// horizon returns how long an objective of a query holds.
func (f *Forecast) horizon(of []*CandidateResult, query, objective int) Horizon {
	q := &of[0].Queries[query]
	bound := float64(q.Objectives[objective].Bound)
	h := Horizon{Query: q.Name, Objective: q.Objectives[objective].Name + " ≤ " + format.Duration(q.Objectives[objective].Bound)}
	measured := make([]float64, len(of))
	for i, c := range of {
		o := &c.Queries[query].Objectives[objective]
		measured[i] = float64(o.Measured)
		switch {
		case o.Finding == fewCalls:
			h.Unknown = "too few calls at " + format.Plural(f.Sizes[i], "record")
		case o.AtLeast || measured[i] > bound:
			h.From = f.Sizes[i]
			return h
		}
	}
	if h.Unknown != "" {
		return h
	}
	if p := fit(f.Sizes, measured); p.at(f.Size) > bound {
		h.From = int(math.Exp((math.Log(bound) - p.scale) / p.exponent))
	}
	return h
}

// A power is y = e^scale · n^exponent.
type power struct{ scale, exponent float64 }

func (p power) at(n int) float64 { return math.Exp(p.scale + p.exponent*math.Log(float64(n))) }

// fit returns the power that fits best, by least squares in logarithms.
func fit(sizes []int, y []float64) power {
	var mx, my, xy, xx float64
	for i, n := range sizes {
		mx, my = mx+math.Log(float64(n)), my+math.Log(y[i])
	}
	mx, my = mx/float64(len(y)), my/float64(len(y))
	for i, n := range sizes {
		dx := math.Log(float64(n)) - mx
		xy, xx = xy+dx*(math.Log(y[i])-my), xx+dx*dx
	}
	b := xy / xx
	return power{my - b*mx, b}
}
