package report

import (
	"strings"
	"testing"
	"time"

	"github.com/polystore/polystore/loadtest/internal/limit"
	"github.com/polystore/polystore/repo/driver"
)

// stepAt returns a step whose rounds are those of a made candidate.
func stepAt(rate int, m made) StepResult {
	r := small(m)
	return StepResult{Rate: rate, Round: time.Second, Rounds: r.Candidates[0].Rounds[:4]}
}

// The search ends at two rates within a tenth of each other, between which lies what the candidate can do.
func TestSearch(t *testing.T) {
	good, bad := made{"m", driver.Power, fast, 0, fast, 100, 0}, made{"m", driver.Power, slow, 0, fast, 100, 0}
	for _, can := range []int{0, 1, 2, 3, 10, 99, 100, 101, 777, 5_000, 99_999, limit.MaxRate, 2 * limit.MaxRate} {
		s, tried := NewSearch(small(good)), map[int]bool{}
		for rate := s.Next(100); rate > 0; rate = s.Next(100) {
			m := good
			if rate > can {
				m = bad
			}
			if step := s.Add(stepAt(rate, m)); step.Met != (rate <= can) || tried[rate] || rate > limit.MaxRate {
				t.Fatalf("can %d: %d tried before %v, %+v", can, rate, tried[rate], step)
			}
			tried[rate] = true
		}
		met, not := kneeOf(s.Steps())
		switch {
		case can == 0:
			if met != 0 || not != 1 {
				t.Errorf("can nothing: met at %d, not at %d", met, not)
			}
		case can >= limit.MaxRate:
			if met != limit.MaxRate || not != 0 {
				t.Errorf("can all: met at %d, not at %d", met, not)
			}
		case met > can || not <= can || float64(not) > within*float64(met) && not-met > 1:
			t.Errorf("can %d: met at %d, not at %d", can, met, not)
		}
		if len(s.Steps()) > 16 {
			t.Errorf("can %d: %d steps", can, len(s.Steps()))
		}
	}
}

// A step is met, not met, or not known, as a run at its rate is.
func TestSteps(t *testing.T) {
	short := stepAt(100, made{"m", driver.Power, fast, 0, fast, 100, 0})
	for i := range short.Rounds {
		short.Rounds[i].Queries[0].Calls = 20
	}
	failed := stepAt(100, made{"m", driver.Power, fast, 0, fast, 100, 0})
	failed.Failed, failed.Failure = 1, "it broke"
	for name, tt := range map[string]struct {
		step                StepResult
		met, unknown, short bool
		why                 string
	}{
		"met":       {step: stepAt(100, made{"m", driver.Power, fast, 0, fast, 100, 0}), met: true},
		"few calls": {step: short, met: true, short: true},
		"missed":    {step: stepAt(100, made{"m", driver.Power, slow, 0, fast, 100, 0}), why: "one post (p99 1 s, asked ≤ 500 ms, missed in 4 of 4 rounds)"},
		"late":      {step: stepAt(100, made{"m", driver.Power, slow, slow, fast, 100, 0}), unknown: true, why: "the clock was late (lag p99 1 s)"},
		"saturated": {step: stepAt(100, made{"m", driver.Power, fast, 0, fast, 100, 500}), why: "it cannot carry the rate"},
		"failed":    {step: failed, why: "1 call failed, the first: it broke"},
	} {
		s := NewSearch(small(made{"m", driver.Power, fast, 0, fast, 100, 0})).Add(tt.step)
		if s.Met != tt.met || s.Unknown != tt.unknown || s.Short != tt.short || !strings.HasPrefix(s.Why, tt.why) || (s.Why == "") != (tt.why == "") {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

// The text has the highest rate of each candidate. What a file says of a step is judged again.
func TestKneeInTheText(t *testing.T) {
	good, bad := made{"m", driver.Power, fast, 0, fast, 100, 0}, made{"m", driver.Power, slow, 0, fast, 100, 0}
	for _, tt := range []struct {
		steps []StepResult
		want  string
	}{
		{[]StepResult{stepAt(100, good), stepAt(200, good), stepAt(400, bad)}, "m: what is asked is met at 200/s; at 400/s it is not: one post (p99 1 s"},
		{[]StepResult{stepAt(100, good)}, "m: what is asked is met at 100/s; higher rates were not tried"},
		{[]StepResult{stepAt(1, bad)}, "m: what is asked is met at no rate; at 1/s it is not: one post"},
		{[]StepResult{stepAt(100, good), stepAt(200, made{"m", driver.Power, slow, slow, fast, 100, 0})}, "at 200/s it is not known: the clock was late"},
		{[]StepResult{stepAt(100, good), stepAt(50, bad)}, "m: what is asked is met at no rate; at 50/s it is not"},
	} {
		r := small(good)
		if r.Candidates[0].Steps = tt.steps; !tt.steps[0].Met {
			r.Candidates[0].Steps[0].Met = true // which nobody believes
		}
		text := words(r)
		if !strings.Contains(text, tt.want) || strings.Contains(text, "Not asked: the highest rate") {
			t.Errorf("the text has no %q:\n%s", tt.want, text)
		}
	}
}

func TestCalls(t *testing.T) {
	r := small(made{"m", driver.Power, fast, 0, fast, 100, 0})
	if n := Calls(r.Queries, 4); n != 1112 { // 1,000 of a query that is 90 %
		t.Errorf("%d calls", n)
	}
}
