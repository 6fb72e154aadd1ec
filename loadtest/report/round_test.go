package report

import (
	"strings"
	"testing"
	"time"

	"github.com/polystore/polystore/repo/driver"
)

// A round is saturated by a hundredth of its operations that wait, but not by a few, if all slots
// are busy, more and more operations wait, and neither the clock nor a stall can be the cause.
func TestSaturated(t *testing.T) {
	full := func(ops, end int) RoundResult {
		return RoundResult{Ops: ops, HalfWaited: end / 2, Backlog: end, Busy: 64, Slots: 64}
	}
	with := func(r RoundResult, change func(*RoundResult)) RoundResult {
		change(&r)
		return r
	}
	for name, c := range map[string]struct {
		round                   RoundResult
		behind, late, saturated bool
	}{
		"one of ten":         {full(10, 1), false, false, false},
		"four of ten":        {full(10, 4), false, false, false},
		"five of ten":        {full(10, 5), true, false, true},
		"five of 500":        {full(500, 5), true, false, true},
		"nine of 1,000":      {full(1000, 9), false, false, false},
		"ten of 1,000":       {full(1000, 10), true, false, true},
		"slots are free":     {with(full(800, 10), func(r *RoundResult) { r.Busy = 14 }), true, false, false},
		"it shrinks":         {with(full(800, 100), func(r *RoundResult) { r.HalfWaited = 300 }), true, false, false},
		"the clock was late": {with(full(800, 100), func(r *RoundResult) { r.WithinLag = 126 }), true, true, false},
		"and slots are free": {RoundResult{Ops: 800, Backlog: 10, Busy: 14, Slots: 64, WithinLag: 126}, true, true, false},
		"more than its lag":  {with(full(800, 300), func(r *RoundResult) { r.WithinLag = 126 }), true, false, true},
		"a stall":            {with(full(800, 300), func(r *RoundResult) { r.Stall, r.Stalled = time.Second, 300 }), true, false, false},
	} {
		r := &c.round
		if r.behind() != c.behind || r.late() != c.late || r.saturated() != c.saturated {
			t.Errorf("%s: behind %v, late %v, saturated %v; want %v, %v, %v", name, r.behind(), r.late(), r.saturated(), c.behind, c.late, c.saturated)
		}
	}
}

// A candidate that carries the rate, but not in every round, is said to.
func TestFallingBehindNowAndThen(t *testing.T) {
	for _, tt := range []struct {
		asked []ObjectiveSetting
		want  string
	}{
		{[]ObjectiveSetting{p99}, "Take m. The objective is met, though it fell behind in 2 of 6 rounds; no other does that."},
		{nil, "Take m. It carries 200/s, though it fell behind in 2 of 6 rounds; no objective was asked; no other does that."},
	} {
		r := small(made{"m", driver.Power, fast, 0, 50, 500, 0}, made{"full", driver.Power, fast, 0, 50, 500, 200})
		r.Queries[0].Objectives = tt.asked
		for i := range 2 {
			x := &r.Candidates[0].Rounds[i]
			x.HalfWaited, x.Backlog, x.Busy, x.Slots = 100, 200, 64, 64
		}
		if text := words(r); !strings.Contains(text, tt.want) {
			t.Errorf("the text has no %q:\n%s", tt.want, text)
		}
	}
}

// Before a candidate is said not to carry the rate there are four rounds, and no other cause.
func TestFallingBehindInWords(t *testing.T) {
	for _, tt := range []struct {
		rounds, within, busy int
		state, text          string
		exit                 int
	}{
		{6, 0, 64, stateSaturated, "it cannot carry 200/s", Missed},
		{3, 0, 64, stateBehind, "No verdict: it fell behind in 3 of 3 rounds, and fewer than 4 do not tell whether it can carry 200/s; say --rounds 4.", Invalid},
		{6, 300, 14, stateInvalid, "No verdict: the clock was late (lag p99 0.5 µs), so that it fell behind in 6 of 6 rounds may be its fault; lower the rate", Invalid},
		{6, 0, 14, stateBehind, "it fell behind in 6 of 6 rounds, with 14 of 64 slots busy", Invalid},
	} {
		r := small(made{"full", driver.Power, fast, 500, 50, 500, 200})
		c := &r.Candidates[0]
		c.Rounds = c.Rounds[:tt.rounds]
		for i := range c.Rounds {
			c.Rounds[i].WithinLag, c.Rounds[i].Busy = tt.within, tt.busy
		}
		text := words(r)
		if c.State != tt.state || !strings.Contains(text, tt.text) || r.Exit != tt.exit {
			t.Errorf("%s, exit %d; want %s, %d, and %q:\n%s", c.State, r.Exit, tt.state, tt.exit, tt.text, text)
		}
		if (tt.state == stateSaturated) != strings.Contains(text, "cannot carry") {
			t.Errorf("%s: it is said that it cannot carry the rate:\n%s", c.State, text)
		}
	}
}

func TestTimesLess(t *testing.T) {
	if a, b := timesLess(2.08, "CPU"), timesLess(1.1, "CPU"); a != "2.1 times less CPU" || b != "9.1 % less CPU" {
		t.Errorf("%q, %q", a, b)
	}
}
