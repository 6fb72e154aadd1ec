package loadtest

import (
	"context"
	"time"

	"github.com/polystore/polystore/loadtest/internal/format"
	"github.com/polystore/polystore/loadtest/internal/limit"
	"github.com/polystore/polystore/loadtest/internal/measure"
	"github.com/polystore/polystore/loadtest/internal/operation"
	"github.com/polystore/polystore/loadtest/report"
)

// climb searches the highest rate of each candidate at which it does what is asked, if that is wanted.
func (r *run) climb(ctx context.Context, s *operation.Stream) error {
	if !r.opts.Max {
		return nil
	}
	m := measure.New(r.w, s, r.candidates, r.progress, r.opts.clock)
	m.Observe = r.opts.observer(r.w)
	m.After(r.measurement)
	asked := &report.Result{Queries: r.asked(), Slots: r.w.Slots}
	least := report.Calls(asked.Queries, limit.LeastRounds)
	for i, c := range r.candidates {
		search := report.NewSearch(asked)
		for rate := search.Next(r.w.Rate); rate > 0; rate = search.Next(r.w.Rate) {
			n := r.opsAt(rate, least)
			round := time.Duration(n) * time.Second / time.Duration(rate)
			r.progress.Status("highest rate of %s: %s a second, about %v", c.Label, format.Count(rate), (round * (limit.LeastRounds + 1)).Round(time.Second))
			of, err := m.Try(ctx, i, rate, limit.LeastRounds, n)
			if err != nil {
				return err
			}
			step := search.Add(report.StepResult{Rate: rate, Round: round, Rounds: of.Rounds, Failed: of.Failures, Failure: of.Failure})
			r.progress.Say("%s at %s a second: %s", c.Label, format.Count(rate), outcome(step))
		}
		r.steps = append(r.steps, search.Steps())
	}
	r.measurement = m // what is inserted from now on is behind what it inserted
	return nil
}

// opsAt returns how many operations a round of the search has: those of a round, or more where the objectives need them.
func (r *run) opsAt(rate, least int) int {
	n := int(float64(rate) * r.w.Round.Seconds())
	more := min(1+least/limit.LeastRounds, int(float64(rate)*limit.LongestStep.Seconds()))
	return min(max(n, more, 1), limit.MaxRoundOps)
}

func outcome(s report.StepResult) string {
	switch {
	case s.Met && s.Short:
		return "met, as far as few calls tell"
	case s.Met:
		return "met"
	case s.Unknown:
		return "not known: " + s.Why
	}
	return "not met: " + s.Why
}
