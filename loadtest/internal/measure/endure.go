package measure

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/polystore/polystore/internal/toxic"
	"github.com/polystore/polystore/loadtest/internal/candidate"
	"github.com/polystore/polystore/loadtest/internal/fault"
	"github.com/polystore/polystore/loadtest/internal/ledger"
	"github.com/polystore/polystore/loadtest/internal/operation"
	"github.com/polystore/polystore/loadtest/report"
	"github.com/polystore/polystore/repo"
)

// A Detour is a candidate that is reached through a proxy, and what that is to do.
type Detour struct {
	*candidate.Candidate
	Proxy  *toxic.Proxy
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
	var err error
	for began := time.Now(); time.Since(began) < 10*time.Second; time.Sleep(50 * time.Millisecond) {
		if err = d.Answers(ctx); err == nil || ctx.Err() != nil {
			break
		}
	}
	return false, err
}

// An act is what became of a call.
type act struct {
	began, ended time.Duration
	outcome      operation.Outcome
	err          error
	steps        []operation.Step
}

// Endure sends n operations to a candidate at the rate while its network fails, and looks for what was acknowledged
// afterwards, without the proxy. Where nothing is lost the answers are checked, too.
func (m *Measurement) Endure(ctx context.Context, i int, d *Detour, n int) (*report.EnduredResult, error) {
	c, calls, book := m.candidates[i], m.stream.Mixed("faults", n, m.first), &ledger.Ledger{}
	book.Expect(calls)
	for _, of := range m.w.Collections {
		if err := book.Before(of, c.All(ctx, of.At)); err != nil {
			return nil, err
		}
	}
	acts := make([]act, n)
	began := time.Now()
	var spans []fault.Span
	m.bench.Beside = func(ctx context.Context, start time.Time) { spans = fault.Do(ctx, d.Proxy, d.Faults, start) }
	took := m.bench.Run(ctx, n, func(ctx context.Context, at int) (int, operation.Outcome) {
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
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	e := &report.EnduredResult{Took: took, Ops: n}
	m.recovered(e, spans, calls, acts)
	for j := range acts {
		note(book, &calls[j], &acts[j])
	}
	if err := m.afterwards(ctx, c, e, book); err != nil || e.Lost+e.OutOfStep > 0 {
		return e, err
	}
	return e, c.Seen.Settle(c.Label + ", while its network failed")
}

// note enters a call, or the steps of a journey.
func note(book *ledger.Ledger, k *operation.Call, x *act) {
	book.Note(k, x.began, x.ended, x.outcome)
	for _, step := range x.steps {
		book.Note(step.Call, x.began, x.ended, step.Outcome)
	}
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
func (m *Measurement) afterwards(ctx context.Context, c *candidate.Candidate, e *report.EnduredResult, book *ledger.Ledger) (err error) {
	for _, of := range m.w.Collections {
		if err := book.After(of, c.All(ctx, of.At)); err != nil {
			return err
		}
	}
	e.Acknowledged, e.Lost, e.FirstLost = book.Acknowledged, book.Lost, book.First
	e.OutOfStep, e.FirstRow, err = c.OutOfStep(ctx)
	return err
}
