package loadtest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/polystore/polystore/loadtest/internal/candidate"
	"github.com/polystore/polystore/loadtest/internal/failure"
	"github.com/polystore/polystore/loadtest/internal/fault"
	"github.com/polystore/polystore/loadtest/internal/format"
	"github.com/polystore/polystore/loadtest/internal/limit"
	"github.com/polystore/polystore/loadtest/internal/measure"
	"github.com/polystore/polystore/loadtest/internal/operation"
	"github.com/polystore/polystore/loadtest/internal/store"
	"github.com/polystore/polystore/loadtest/report"
)

// planFaults reads which faults there are to be.
func (r *run) planFaults() (err error) {
	if r.opts.Faults == "" {
		if r.opts.For != 0 {
			return errors.New("the phase with faults has a time, and there are no faults; name some, as in --fault cut@5s:2s")
		}
		return nil
	}
	if r.faults, err = fault.Parse(r.opts.Faults); err != nil {
		return err
	}
	if r.lasts, err = fault.Length(r.faults, r.opts.For); err != nil {
		return err
	}
	if n := r.faultOps(); n > limit.MaxRoundOps || r.lasts > limit.MaxRound {
		return fmt.Errorf("the phase with faults lasts %v and has %s operations; it has %s and lasts %v at most: make it shorter, or the rate lower, as by --rate 500",
			r.lasts, format.Count(n), format.Count(limit.MaxRoundOps), limit.MaxRound)
	}
	for _, url := range r.opts.On {
		if fault.Possible(url) == nil {
			return nil
		}
	}
	if len(r.opts.On) == 0 {
		return nil // told by open
	}
	return fmt.Errorf("no fault can be put before %s (%w); add a store on a server, as by --on redis://localhost:6379", store.Redact(r.opts.On[0]), fault.Possible(r.opts.On[0]))
}

// faultOps returns how many operations the phase with faults has.
func (r *run) faultOps() int { return max(int(float64(r.w.Rate)*r.lasts.Seconds()), 1) }

// endure sends operations to each candidate while its network fails. What is lost ends the run only when all have been
// looked at.
func (r *run) endure(ctx context.Context, s *operation.Stream) error {
	if r.faults == nil {
		return nil
	}
	var wrong error
	m := measure.New(r.w, s, r.candidates, r.progress, r.opts.clock)
	m.After(r.measurement)
	for i, c := range r.candidates {
		e, err := r.endureOne(ctx, m, i, c)
		answers := (*failure.WrongAnswers)(nil)
		if errors.As(err, &answers) {
			err = nil
		}
		if err := c.Store.LostIn(ctx, "when its network failed", err); err != nil {
			return err
		}
		r.endured = append(r.endured, e)
		switch {
		case wrong == nil && answers != nil:
			wrong = answers
		case e.None != "":
			r.progress.Say("%s: no fault can be put there: %s", c.Label, e.None)
		case wrong != nil:
		case e.Lost > 0:
			wrong = &failure.WrongAnswers{Text: fmt.Sprintf("%s lost %s when its network failed: %s", c.Label, format.Plural(e.Lost, "acknowledged write"), e.FirstLost)}
		case e.OutOfStep > 0:
			wrong = &failure.WrongAnswers{Text: fmt.Sprintf("%s has %s that do not agree with its records after its network failed: %s", c.Label, format.Plural(e.OutOfStep, "index row"), e.FirstRow)}
		}
	}
	return wrong
}

// endureOne sends operations to a candidate through a proxy.
func (r *run) endureOne(ctx context.Context, m *measure.Measurement, i int, c *candidate.Candidate) (e *report.EnduredResult, err error) {
	none := func(err error) *report.EnduredResult { return &report.EnduredResult{None: err.Error()} }
	through, p, err := fault.Detour(r.opts.On[c.Store.At])
	if err != nil {
		return none(err), nil
	}
	defer p.Close()
	st, err := store.Open(ctx, through, c.Store.URL, r.opts.Open)
	if err != nil {
		return none(fmt.Errorf("it cannot be reached through a proxy: %w", err)), ctx.Err()
	}
	defer func() { err = errors.Join(err, st.Repo.Close()) }()
	own, err := c.Through(ctx, r.w, st)
	if err != nil {
		return nil, err
	}
	d := &measure.Detour{Candidate: own, Proxy: p, Faults: r.faults}
	if around, err := d.Around(ctx); around || err != nil {
		return none(errors.New("its client goes around a proxy, to an address that the server gives for itself")), err
	}
	r.progress.Say("%s: its network fails, for %v in all", c.Label, r.lasts.Round(time.Second/10))
	return m.Endure(ctx, i, d, r.faultOps())
}
