package loadtest

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/polystore/polystore/repo/driver"
)

// A round is saturated by a hundredth of its operations that wait, but not by a few, if all slots
// are busy, more and more operations wait, and neither the clock nor a stall can be the cause.
func TestSaturated(t *testing.T) {
	full := func(end int) backlog { return backlog{half: end / 2, end: end, busy: 64, slots: 64} }
	with := func(g backlog, change func(*backlog)) backlog {
		change(&g)
		return g
	}
	for name, c := range map[string]struct {
		ops                     int
		backlog                 backlog
		stall                   stall
		behind, late, saturated bool
	}{
		"one of ten":         {10, full(1), stall{}, false, false, false},
		"four of ten":        {10, full(4), stall{}, false, false, false},
		"five of ten":        {10, full(5), stall{}, true, false, true},
		"five of 500":        {500, full(5), stall{}, true, false, true},
		"nine of 1,000":      {1000, full(9), stall{}, false, false, false},
		"ten of 1,000":       {1000, full(10), stall{}, true, false, true},
		"slots are free":     {800, with(full(10), func(g *backlog) { g.busy = 14 }), stall{}, true, false, false},
		"it shrinks":         {800, with(full(100), func(g *backlog) { g.half = 300 }), stall{}, true, false, false},
		"the clock was late": {800, with(full(100), func(g *backlog) { g.late = 126 }), stall{}, true, true, false},
		"and slots are free": {800, backlog{0, 10, 14, 64, 126}, stall{}, true, true, false},
		"more than its lag":  {800, with(full(300), func(g *backlog) { g.late = 126 }), stall{}, true, false, true},
		"a stall":            {800, full(300), stall{time.Second, 300}, true, false, false},
	} {
		r := &round{ops: c.ops, backlog: c.backlog, stall: c.stall}
		if r.behind() != c.behind || r.late() != c.late || r.saturated() != c.saturated {
			t.Errorf("%s: behind %v, late %v, saturated %v; want %v, %v, %v", name, r.behind(), r.late(), r.saturated(), c.behind, c.late, c.saturated)
		}
	}
}

// A pause is a time in which this process gets no processor: neither the clock nor an operation
// goes on.
type pause struct {
	sleeper
	from, to time.Time
}

func (p *pause) until(t time.Time) { p.sleeper.until(p.after(t)) }

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
func simulated(t *testing.T, b *bench, n int, take func(context.Context)) *round {
	t.Helper()
	b.rate, b.slots, b.grace = 400, 64, 2*time.Second
	b.run(t.Context(), n, func(ctx context.Context, _ int) (int, outcome) {
		take(ctx)
		return 0, outcomeOf(ctx, ctx.Err())
	})
	r := &round{number: 1, ops: n}
	r.count(b, []*query{{}})
	return r
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
			r := simulated(t, &bench{clock: p}, 800, p.taking(c.takes))
			if r.late() != c.late || r.saturated() != c.saturated || r.stall.is() {
				t.Errorf("%s: late %v, saturated %v, want %v, %v and no stall: %+v, %+v, %d unfinished", name, r.late(), r.saturated(), c.late, c.saturated, r.backlog, r.stall, r.unfinished)
			}
		})
	}
}

// A candidate that carries the rate, but not in every round, is said to.
func TestFallingBehindNowAndThen(t *testing.T) {
	for asked, want := range map[string]string{
		", objectives: {p99: 500ms}": "Take m. The objective is met, though it fell behind in 2 of 6 rounds; no other does that.",
		"":                           "Take m. It carries 200/s, though it fell behind in 2 of 6 rounds; no objective was asked; no other does that.",
	} {
		w := mustParse(t, strings.Replace(small, ", objectives: {p99: 500ms}", asked, 1))
		list := []*candidate{made{"m", driver.Power, fast, 0, 50, 500, 0}.candidate(w), made{"full", driver.Power, fast, 0, 50, 500, 200}.candidate(w)}
		for _, r := range list[0].rounds[:2] {
			r.backlog = list[1].rounds[0].backlog
		}
		list[0].judge(w)
		if text := words(w, list, decide(list)); !strings.Contains(text, want) {
			t.Errorf("the screen has no %q:\n%s", want, text)
		}
	}
}

// Before a candidate is said not to carry the rate there are four rounds, and no other cause.
func TestFallingBehindInWords(t *testing.T) {
	w := mustParse(t, small)
	full := made{"full", driver.Power, fast, 0, 50, 500, 200}
	few := func(change func(*round)) *candidate {
		c := full.candidate(w)
		c.rounds = c.rounds[:3]
		for _, r := range c.rounds {
			change(r)
		}
		c.objectives[0].bound.percentile = 50
		c.judge(w)
		return c
	}
	late := full.candidate(w)
	for _, r := range late.rounds {
		r.backlog.late, r.backlog.busy = 300, 14
	}
	late.judge(w)
	free := full.candidate(w)
	for _, r := range free.rounds {
		r.backlog.busy = 14
	}
	free.judge(w)
	for _, tt := range []struct {
		c           *candidate
		state, text string
		exit        int
	}{
		{full.candidate(w), stateSaturated, "it cannot carry 200/s", Missed},
		{few(func(*round) {}), stateBehind, "No verdict: it fell behind in 3 of 3 rounds, and fewer than 4 do not tell whether it can carry 200/s; say --rounds 4.", Invalid},
		{late, stateInvalid, "No verdict: the clock was late (lag p99 0.5 µs), so that it fell behind in 6 of 6 rounds may be its fault; lower the rate", Invalid},
		{free, stateBehind, "it fell behind in 6 of 6 rounds, with 14 of 64 slots busy", Invalid},
	} {
		verdicts := decide([]*candidate{tt.c})
		text := words(w, []*candidate{tt.c}, verdicts)
		if tt.c.state != tt.state || !strings.Contains(text, tt.text) || exitCode(verdicts) != tt.exit {
			t.Errorf("%s, exit %d; want %s, %d, and %q:\n%s", tt.c.state, exitCode(verdicts), tt.state, tt.exit, tt.text, text)
		}
		if (tt.state == stateSaturated) != strings.Contains(text, "cannot carry") {
			t.Errorf("%s: it is said that it cannot carry the rate:\n%s", tt.c.state, text)
		}
	}
}
