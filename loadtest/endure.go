package loadtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
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
	if n := r.faultOps(); n > limit.MaxRoundOps || r.lasts > limit.MaxPhase {
		return fmt.Errorf("the phase with faults lasts %v and has %s operations; it has %s and lasts %v at most: make it shorter, or the rate lower, as by --rate 50",
			r.lasts, format.Count(n), format.Count(limit.MaxRoundOps), limit.MaxPhase)
	}
	if len(r.opts.On) == 0 || slices.ContainsFunc(r.opts.On, func(url string) bool { return r.noFault(url) == nil }) {
		return nil // that there is no store is told by open
	}
	remedy := "add a store on a server, as by --on redis://localhost:6379"
	if slices.ContainsFunc(r.faults, fault.Fault.OfServer) {
		remedy = "let the tool start a server, as by --start redis"
	}
	return fmt.Errorf("no fault can be put before %s (%w); %s", store.Redact(r.opts.On[0]), r.noFault(r.opts.On[0]), remedy)
}

// noFault says why the faults are not possible on a store, nil if they are.
func (r *run) noFault(url string) error {
	for _, f := range r.faults {
		switch err := fault.Possible(url); {
		case f.OfServer() && r.opts.Servers[url] == nil:
			return fmt.Errorf("%s is for a server that this program started", f)
		case !f.OfServer() && err != nil:
			return err
		}
	}
	return nil
}

// faultOps returns how many operations the phase with faults has.
func (r *run) faultOps() int { return max(int(float64(r.w.Rate)*r.lasts.Seconds()), 1) }

// endure sends operations to each candidate while its network or its server fails. What is lost ends the run only when all
// have been looked at, unless a server was killed: what others have there may be lost, too.
func (r *run) endure(ctx context.Context, s *operation.Stream) error {
	if r.faults == nil {
		return nil
	}
	var wrong error
	m := measure.New(r.w, s, r.candidates, r.progress, r.opts.clock)
	m.Observe = r.opts.observer(r.w)
	m.After(r.measurement)
	for i, c := range r.candidates {
		e, err := r.endureOne(ctx, m, i, c)
		answers := (*failure.WrongAnswers)(nil)
		if errors.As(err, &answers) {
			err = nil
		}
		if err := c.Store.LostIn(ctx, "when something failed", err); err != nil {
			return err
		}
		r.endured = append(r.endured, e)
		switch {
		case wrong == nil && answers != nil:
			wrong = answers
		case e.None != "":
			r.progress.Say("%s: no fault can be put there: %s", c.Label, e.None)
		case wrong != nil:
		case e.Lost > e.Excused:
			wrong = &failure.WrongAnswers{Text: fmt.Sprintf("%s lost %s when something failed: %s", c.Label, format.Plural(e.Lost, "acknowledged write"), e.FirstLost)}
			if slices.ContainsFunc(r.faults, fault.Fault.Kills) {
				return wrong
			}
		case e.OutOfStep > 0:
			wrong = &failure.WrongAnswers{Text: fmt.Sprintf("%s has %s that do not agree with its records after something failed: %s", c.Label, format.Plural(e.OutOfStep, "index row"), e.FirstRow)}
		}
	}
	return wrong
}

// endureOne sends operations to a candidate, through a proxy if its network is to fail.
func (r *run) endureOne(ctx context.Context, m *measure.Measurement, i int, c *candidate.Candidate) (e *report.EnduredResult, err error) {
	none := func(err error) *report.EnduredResult { return &report.EnduredResult{None: err.Error()} }
	url := r.opts.On[c.Store.At]
	if err := r.noFault(url); err != nil {
		return none(err), nil
	}
	d := &measure.Detour{Candidate: c, Server: r.opts.Servers[url], Faults: r.faults}
	if !slices.ContainsFunc(r.faults, func(f fault.Fault) bool { return !f.OfServer() }) {
		r.sayFaults(c)
		return m.Endure(ctx, i, d, r.faultOps())
	}
	through, p, err := fault.Detour(url)
	if err != nil {
		return none(err), nil
	}
	defer p.Close()
	st, err := store.Open(ctx, through, c.Store.URL, r.opts.Open)
	if err != nil {
		return none(fmt.Errorf("it cannot be reached through a proxy: %w", err)), ctx.Err()
	}
	defer func() { err = errors.Join(err, st.Repo.Close()) }()
	d.Proxy = p
	if d.Candidate, err = c.Through(ctx, r.w, st); err != nil {
		return nil, err
	}
	if around, err := d.Around(ctx); around || err != nil {
		return none(errors.New("its client goes around a proxy, to an address that the server gives for itself")), err
	}
	r.sayFaults(c)
	return m.Endure(ctx, i, d, r.faultOps())
}

func (r *run) sayFaults(c *candidate.Candidate) {
	r.progress.Say("%s: faults, for %v in all", c.Label, r.lasts.Round(time.Second/10))
}
