package measure

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/polystore/polystore/internal/toxic"
	"github.com/polystore/polystore/loadtest/internal/candidate"
	"github.com/polystore/polystore/loadtest/internal/fault"
	"github.com/polystore/polystore/loadtest/internal/limit"
	"github.com/polystore/polystore/loadtest/internal/operation"
	"github.com/polystore/polystore/loadtest/report"
	"github.com/polystore/polystore/repo"
)

// A Detour is a candidate as it is reached while something goes wrong, and what that is.
type Detour struct {
	*candidate.Candidate
	Proxy  *toxic.Proxy // before its server; nil is none
	Server fault.Server // that can be killed; nil is none
	Faults []fault.Fault
}

// Around reports whether the client goes around the proxy: it gets answers while the network is cut.
func (d *Detour) Around(ctx context.Context) (bool, error) {
	short, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	d.Proxy.Set(toxic.Fault{Kind: toxic.Cut})
	around := d.Answers(short) == nil
	d.Proxy.Heal()
	if around {
		return true, nil
	}
	return false, comesBack(ctx, d.Candidate)
}

// An act is what became of a call.
type act struct {
	began, ended time.Duration
	outcome      operation.Outcome
	err          error
	steps        []operation.Step
}

// Endure sends n operations to a candidate at the rate while its network or its server fails, and looks for what was
// acknowledged afterwards, without the proxy. Where nothing is lost the answers are checked, too.
func (m *Measurement) Endure(ctx context.Context, i int, d *Detour, n int) (*report.EnduredResult, error) {
	c, calls, books := m.candidates[i], m.stream.Mixed("faults", n, m.first), &books{}
	if err := books.before(ctx, c, m.w, calls); err != nil {
		return nil, err
	}
	acts := make([]act, n)
	began := time.Now()
	var spans []fault.Span
	var failed error
	var start time.Time
	m.bench.Beside = func(ctx context.Context, from time.Time) {
		start = from
		spans, failed = fault.Do(ctx, d.Proxy, d.Server, d.Faults, start)
	}
	took := m.send(ctx, c, n, func(ctx context.Context, at int) (int, operation.Outcome) {
		x, k := &acts[at], &calls[at]
		x.began = time.Since(began)
		a, err := d.Do(ctx, k, false)
		x.ended, x.outcome, x.err, x.steps = time.Since(began), operation.OutcomeOf(ctx, err), err, a.Steps
		for _, step := range a.Steps {
			m.bench.Part(at, step)
		}
		return k.At, k.Effect(a, x.outcome)
	})
	m.bench.Beside = nil
	if failed != nil || ctx.Err() != nil {
		return nil, cmp.Or(ctx.Err(), failed)
	}
	e := &report.EnduredResult{Took: took, Ops: n}
	m.recovered(e, spans, calls, acts)
	excused := excuses(spans, start.Sub(began), c.Store.Facts)
	for j := range acts {
		books.note(&calls[j], &acts[j], excused(acts[j].ended))
	}
	if err := m.afterwards(ctx, c, e, books); err != nil || e.Lost+e.OutOfStep > 0 {
		return e, err
	}
	return e, c.Seen.Settle(c.Label + ", while something failed")
}

// recovered notes what calls made of the faults.
func (m *Measurement) recovered(e *report.EnduredResult, spans []fault.Span, calls []operation.Call, acts []act) {
	unknown := func(i int) bool {
		return calls[i].Q.Writes() && (acts[i].outcome == operation.Unfinished || errors.Is(acts[i].err, repo.ErrUnknownOutcome))
	}
	for i := range acts {
		switch x := &acts[i]; {
		case x.outcome != operation.Failed && x.outcome != operation.Unfinished:
			continue
		case unknown(i):
			e.Unknown++
		default:
			e.Failed++
		}
		if e.Failure == "" {
			e.Failure = fmt.Sprintf("%s: %v", &calls[i], acts[i].err)
		}
	}
	for i, s := range spans {
		until := m.bench.Length()
		if i+1 < len(spans) {
			until = spans[i+1].From
		}
		f := report.FaultResult{Fault: s.String(), At: s.From, For: s.To - s.From}
		m.bench.Recovery(&f, until, m.w.Queries, unknown)
		e.Faults = append(e.Faults, f)
	}
}

// afterwards looks at the records and the indexes.
func (m *Measurement) afterwards(ctx context.Context, c *candidate.Candidate, e *report.EnduredResult, books *books) error {
	if err := comesBack(ctx, c); err != nil {
		return err
	}
	if err := books.after(ctx, c, m.w); err != nil {
		return err
	}
	e.Acknowledged, e.Lost, e.FirstLost = books.all.Acknowledged, books.all.Lost, books.all.First
	if e.Excused = e.Lost - books.kept.Lost; e.Excused < e.Lost {
		e.FirstLost = books.kept.First
	}
	var err error
	if e.OutOfStep, e.FirstRow, err = c.OutOfStep(ctx); e.Lost > e.Excused {
		return nil // with writes, what indexes there are may be lost
	}
	return err
}

// comesBack waits until a store answers.
func comesBack(ctx context.Context, c *candidate.Candidate) (err error) {
	for began := time.Now(); time.Since(began) < limit.RestartTime; time.Sleep(50 * time.Millisecond) {
		if err = c.Answers(ctx); err == nil || ctx.Err() != nil {
			return err
		}
		if errors.Is(err, repo.ErrSchema) {
			return nil // it says that the collection is not there
		}
	}
	return err
}
