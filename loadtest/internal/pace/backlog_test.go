package pace

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/polystore/polystore/loadtest/internal/operation"
	"github.com/polystore/polystore/loadtest/internal/workload"
	"github.com/polystore/polystore/loadtest/report"
)

// A pause is a time in which this process gets no processor: neither the clock nor an operation
// goes on.
type pause struct {
	sleeper
	from, to time.Time
}

func (p *pause) Until(t time.Time) { p.sleeper.Until(p.after(t)) }

// after returns when what was to happen at t happens.
func (p *pause) after(t time.Time) time.Time {
	if t.After(p.from) && t.Before(p.to) {
		return p.to
	}
	return t
}

// taking returns an operation that takes so long.
func (p *pause) taking(d time.Duration) func(context.Context) {
	return func(ctx context.Context) {
		select {
		case <-time.After(time.Until(p.after(time.Now().Add(d)))):
		case <-ctx.Done():
		}
	}
}

// simulated returns a round on a store of the test's that takes so long for each operation.
func simulated(t *testing.T, b *Bench, n int, take func(context.Context)) *report.RoundResult {
	t.Helper()
	b.Rate, b.Slots, b.Grace = 400, 64, 2*time.Second
	b.Run(t.Context(), n, func(ctx context.Context, _ int) (int, operation.Outcome) {
		take(ctx)
		return 0, operation.OutcomeOf(ctx, ctx.Err())
	})
	return b.Result([]*workload.Query{{}})
}

// The process stood still for 317 ms at the end of the round, so that many operations began late.
// The store did nothing wrong. The control is a store that is too slow, in either case.
func TestLateClockIsNotSaturation(t *testing.T) {
	const paused = 317 * time.Millisecond
	for name, c := range map[string]struct {
		paused          time.Duration
		takes           time.Duration
		late, saturated bool
	}{
		"in time":              {0, 100 * time.Millisecond, false, false},
		"late":                 {paused, 100 * time.Millisecond, true, false},
		"late, and it is fast": {paused, 5 * time.Millisecond, false, false},
		"slow store":           {0, 400 * time.Millisecond, false, true},
		"late, and it is slow": {paused, 400 * time.Millisecond, false, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			from := time.Now().Add(lead + 1650*time.Millisecond)
			p := &pause{from: from, to: from.Add(c.paused)}
			r := simulated(t, &Bench{Clock: p}, 800, p.taking(c.takes))
			behind := max(r.Backlog, r.Unfinished) >= 8
			late := behind && max(r.Backlog, r.Unfinished)-r.WithinLag < 8
			if saturated := hopeless(r); late != c.late || saturated != c.saturated || r.Stall > 0 {
				t.Errorf("%s: late %v, saturated %v, want %v, %v and no stall: %+v", name, late, saturated, c.late, c.saturated, r)
			}
		})
	}
}

// hopeless reports whether a candidate is whose rounds are all like this one.
func hopeless(r *report.RoundResult) bool {
	return report.Hopeless([]report.RoundResult{*r, *r, *r, *r})
}
