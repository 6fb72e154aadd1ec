package report

import (
	"fmt"
	"math"
	"time"

	"github.com/polystore/polystore/loadtest/internal/format"
	"github.com/polystore/polystore/loadtest/internal/limit"
)

// A StepResult is what a candidate did at one rate, when its highest one was searched.
type StepResult struct {
	Rate    int           `json:"rate"`
	Round   time.Duration `json:"round"`
	Failed  int           `json:"failed"`
	Failure string        `json:"failure,omitempty"` // the first one
	Rounds  []RoundResult `json:"rounds"`
	Met     bool          `json:"met"`             // it did what is asked, as far as its calls tell
	Unknown bool          `json:"unknown"`         // it is not known whether it did
	Why     string        `json:"why,omitempty"`   // it did not
	Short   bool          `json:"short,omitempty"` // an objective had not enough calls
}

// judge decides on a step.
func (s *StepResult) judge(of *Result) {
	r := &Result{Rate: s.Rate, Rounds: len(s.Rounds), Round: s.Round, Slots: of.Slots, Queries: of.Queries, Stores: make([]StoreResult, 1)}
	c := &candidate{&CandidateResult{Rounds: s.Rounds, Failures: s.Failed, Queries: make([]QueryResult, len(of.Queries))}, r, &r.Stores[0]}
	for i := range c.Queries {
		c.Queries[i].Name = of.Queries[i].Name
		for _, x := range s.Rounds {
			c.Queries[i].Calls += x.Queries[i].Calls
		}
	}
	c.Lag = Percentiles{P99: mostLag(s.Rounds)}
	c.judge()
	s.Met, s.Unknown, s.Short, s.Why = c.standing() <= 1, false, c.State == stateShort, ""
	switch {
	case s.Met:
	case s.Failed > 0:
		s.Why = format.Plural(s.Failed, "call") + " failed, the first: " + s.Failure
	case c.State == stateValid:
		var parts []string
		for _, o := range c.found(missed) {
			parts = append(parts, o.String())
		}
		s.Why = atMost(parts)
	case c.State == stateSaturated:
		s.Why = "it cannot carry the rate"
	default:
		s.Unknown = true
		s.Why, _ = (&page{r: r}).doubt(c)
	}
}

func mostLag(rounds []RoundResult) (most time.Duration) {
	for i := range rounds {
		most = max(most, rounds[i].Lag)
	}
	return most
}

// A Search finds the highest rate at which a candidate does what is asked: it doubles the rate or halves it until there
// is a rate that is met and one that is not, and then tries what lies between.
type Search struct {
	of    *Result
	steps []StepResult
}

// NewSearch returns a search that has tried nothing. Of the result, the queries and slots are looked at.
func NewSearch(of *Result) *Search { return &Search{of: of} }

// The search ends where the two rates are within a tenth of each other, or after so many steps.
const (
	within    = 1.1
	mostSteps = 20
)

// Next returns the rate to try next, first the given one, or 0 at the end.
func (s *Search) Next(first int) int {
	met, not := kneeOf(s.steps)
	switch {
	case len(s.steps) == 0:
		return first
	case len(s.steps) == mostSteps || met == limit.MaxRate || not == 1:
		return 0
	case not == 0:
		return min(2*met, limit.MaxRate)
	case met == 0:
		return max(not/2, 1)
	case float64(not) <= within*float64(met) || not-met < 2:
		return 0
	}
	return min(max(int(math.Sqrt(float64(met)*float64(not))), met+1), not-1)
}

// Add takes what was measured at a rate, and returns it judged.
func (s *Search) Add(step StepResult) StepResult {
	step.judge(s.of)
	s.steps = append(s.steps, step)
	return step
}

// Steps returns what was tried.
func (s *Search) Steps() []StepResult { return s.steps }

// kneeOf returns the highest rate below the lowest that was not met, and that one; 0 is none.
func kneeOf(steps []StepResult) (met, not int) {
	for i := range steps {
		if s := &steps[i]; !s.Met && (not == 0 || s.Rate < not) {
			not = s.Rate
		}
	}
	for i := range steps {
		if s := &steps[i]; s.Met && s.Rate > met && (not == 0 || s.Rate < not) {
			met = s.Rate
		}
	}
	return met, not
}

// Calls returns how many operations tell all objectives in so many rounds.
func Calls(queries []QuerySetting, rounds int) int {
	most := 0.0
	for _, q := range queries {
		for _, o := range q.Objectives {
			if q.Weight > 0 {
				most = max(most, float64(callsFor(o.Percentile, rounds))*100/q.Weight)
			}
		}
	}
	return int(math.Ceil(most))
}

// knees says what the highest rates are.
func (p *page) knees() (list []Item) {
	for _, c := range p.byClass() {
		if len(c.Steps) > 0 {
			list = append(list, Item{"highest rate", c.Name + ": " + c.knee()})
		}
	}
	return list
}

// knee says what the highest rate of a candidate is.
func (c *candidate) knee() string {
	met, not := kneeOf(c.Steps)
	var at, over StepResult
	for _, s := range c.Steps {
		switch s.Rate {
		case met:
			at = s
		case not:
			over = s
		}
	}
	text := "what is asked is met at no rate"
	if met > 0 {
		text = fmt.Sprintf("what is asked is met at %s/s", format.Count(met))
		if at.Short {
			text += ", as far as few calls tell"
		}
	}
	switch {
	case not == 0:
		return text + "; higher rates were not tried"
	case over.Unknown:
		return fmt.Sprintf("%s; at %s/s it is not known: %s", text, format.Count(not), over.Why)
	}
	return fmt.Sprintf("%s; at %s/s it is not: %s", text, format.Count(not), over.Why)
}
