package loadtest

import (
	"strings"
	"testing"
	"time"

	"github.com/polystore/polystore/repo/driver"
)

func TestCallsForAPercentile(t *testing.T) {
	for _, tt := range []struct {
		percent float64
		rounds  int
		want    int64
	}{{50, 6, 20}, {90, 6, 100}, {95, 1, 200}, {99, 6, 1000}, {99, 20, 2000}, {99.9, 6, 10_000}, {99.99, 6, 100_000}, {100, 6, 6}} {
		if got := callsFor(tt.percent, tt.rounds); got != tt.want {
			t.Errorf("p%v in %d rounds needs %d calls, want %d", tt.percent, tt.rounds, got, tt.want)
		}
	}
}

func TestMark(t *testing.T) {
	var s spans
	for i := range 100 {
		s.add(&sample{lag: 1000, service: int64(i+1) * 1000})
	}
	s.sort()
	if m := s.mark(99, 90*time.Microsecond); m != (mark{100 * time.Microsecond, 99 * time.Microsecond, 11, false}) {
		t.Errorf("p99 %+v", m)
	}
	if m := s.mark(100, time.Second); m.response != 101*time.Microsecond || m.over != 0 {
		t.Errorf("the greatest %+v", m)
	}
	s.add(&sample{service: 80_000, outcome: unfinished})
	s.sort()
	if a, b := s.mark(50, 0), s.mark(99, 0); a.cut || !b.cut {
		t.Errorf("a call is cut off after 80 µs: p50 %+v, p99 %+v; want the second one to be more", a, b)
	}
}

// A few is a round of few operations.
type few struct {
	made
	ops int // in each of six rounds
	cut int // of them, cut off
}

func (f few) candidate(w *Workload) *candidate {
	c := f.made.candidate(w)
	for _, r := range c.rounds {
		b := &bench{rate: w.Rate, slots: w.Slots}
		for i := range f.ops {
			s := sample{lag: int64(f.lag), service: int64(f.response - f.lag)}
			if i < f.cut {
				s.outcome = unfinished
			}
			b.samples = append(b.samples, s)
		}
		r.unfinished = 0
		r.count(b, w.queries)
	}
	c.judge(w)
	return c
}

// A percentile that the calls cannot tell is not met. What was missed by ten calls is missed,
// however few calls there were.
func TestNotEnoughCalls(t *testing.T) {
	swift, tardy := made{"m", driver.Power, fast, 0, fast, 100, 0}, made{"m", driver.Power, slow, 0, fast, 100, 0}
	for _, tt := range []struct {
		few        few
		percentile string
		state      string
		exit       int
		want       string
	}{
		{few{swift, 13, 0}, "p99", stateShort, Invalid, "No verdict: 1 of 1 objectives have not enough calls: one post (p99 needs 1,000 calls, it had 78); make rounds longer (--round 3s), ask for a lower percentile, or give the query more weight."},
		{few{swift, 167, 0}, "p99", stateValid, Met, "m: The objective is met."},
		{few{swift, 166, 0}, "p99", stateShort, Invalid, "it had 996"},
		{few{swift, 334, 0}, "p99.99", stateShort, Invalid, "p99.99 needs 100,000 calls, it had 2,004); make rounds longer (--round 11s)"},
		{few{swift, 13, 0}, "p50", stateValid, Met, "m: The objective is met."},
		{few{swift, 13, 0}, "max", stateValid, Met, "m: The objective is met."},
		{few{tardy, 1, 0}, "p99", stateShort, Invalid, "it had 6"},
		{few{tardy, 2, 0}, "p99", stateValid, Missed, "m does not do what is asked: 1 of 1 objectives are missed: one post (p99 1 s, asked ≤ 500 ms, missed in 6 of 6 rounds)."},
	} {
		w := mustParse(t, strings.Replace(small, "p99: 500ms", tt.percentile+": 500ms", 1))
		list := []*candidate{tt.few.candidate(w)}
		verdicts := decide(list)
		text := words(w, list, verdicts)
		if list[0].state != tt.state || exitCode(verdicts) != tt.exit || !strings.Contains(text, tt.want) {
			t.Errorf("%s of %d calls a round: %s, exit %d; want %s, %d, and %q:\n%s", tt.percentile, tt.few.ops, list[0].state, exitCode(verdicts), tt.state, tt.exit, tt.want, text)
		}
		upper, _ := w.queries[0].upper()
		if fewer := int64(6*tt.few.ops) < callsFor(upper.percentile, 6); fewer != strings.Contains(text, "~ 1 ") || fewer != strings.Contains(text, "~ is from too few calls") {
			t.Errorf("%d calls: p99 is marked as from too few, or not:\n%s", 6*tt.few.ops, text)
		}
	}
}

// What few calls tell of the clock, or of the price of a class, is marked or not said.
func TestFewCallsElsewhere(t *testing.T) {
	w := mustParse(t, small)
	text := func(calls int) string {
		list := []*candidate{made{"a", driver.Memory, fast, fast / 2, fast, 100, 0}.candidate(w), made{"b", driver.Power, fast, fast / 2, fast, 100, 0}.candidate(w)}
		for _, c := range list {
			c.all, c.spectra[0] = newSpectra(), newSpectra()
			for range calls {
				x := &sample{lag: int64(fast / 2), service: int64(fast / 2)}
				c.all.record(x)
				c.spectra[0].record(x)
			}
		}
		return words(w, list, decide(list))
	}
	for calls, want := range map[int]struct{ lag, price bool }{19: {true, false}, 20: {true, true}, 999: {true, true}, 1000: {false, true}} {
		got := text(calls)
		if strings.Contains(got, "~ 500 µs VALID") != want.lag || strings.Contains(got, "The price, at p50: a read takes 1 ms") != want.price {
			t.Errorf("%d calls: want lag marked %v and a price %v:\n%s", calls, want.lag, want.price, got)
		}
	}
}

// Calls that were cut off would have taken longer, and that is said wherever their time is.
func TestCutOffIsNoMeasuredTime(t *testing.T) {
	w := mustParse(t, small)
	c := few{made{"m", driver.Power, slow, 0, fast, 100, 0}, 334, 2}.candidate(w)
	text := words(w, []*candidate{c}, decide([]*candidate{c}))
	for _, want := range []string{"m > 1 s > 1 s ", "missed, 12 cut off", "one post (p99 > 1 s, asked ≤ 500 ms", "> from calls that were cut off and would have taken longer"} {
		if !strings.Contains(text, want) {
			t.Errorf("the screen has no %q:\n%s", want, text)
		}
	}
	c = few{made{"m", driver.Power, slow, 0, fast, 100, 0}, 334, 0}.candidate(w)
	if text = words(w, []*candidate{c}, decide([]*candidate{c})); strings.Contains(text, "> 1 s") || strings.Contains(text, "cut off") {
		t.Errorf("nothing was cut off:\n%s", text)
	}
}

// What the store alone takes too long for is missed, whether or not the clock was late, too.
func TestCertainMissIsNotTheClocks(t *testing.T) {
	w := mustParse(t, small)
	for _, tt := range []struct {
		response, lag time.Duration
		exit          int
		want          string
	}{
		{slow, slow / 2, Invalid, "No verdict: the clock was late (lag p99 500 ms), so what was missed may be its fault"},
		{2 * slow, slow / 2, Missed, "m does not do what is asked: 1 of 1 objectives are missed: one post (p99 2 s"},
	} {
		list := []*candidate{made{"m", driver.Power, tt.response, tt.lag, fast, 100, 0}.candidate(w)}
		verdicts := decide(list)
		if text := words(w, list, verdicts); exitCode(verdicts) != tt.exit || !strings.Contains(text, tt.want) {
			t.Errorf("response %v, lag %v: exit %d; want %d and %q:\n%s", tt.response, tt.lag, exitCode(verdicts), tt.exit, tt.want, text)
		}
	}
}

// The rounds in which the clock was late are seen one by one: they do not excuse the others, in which
// operations waited for a slot.
func TestLateRoundsExcuseThemselvesOnly(t *testing.T) {
	for late, want := range map[int]finding{0: missed, 2: missed, 4: lateMiss, 6: lateMiss} {
		w := mustParse(t, small)
		c := made{"m", driver.Power, slow, 0, fast, 100, 0}.candidate(w)
		for i, r := range c.rounds {
			if r.queries[0].marks[0].service = fast; i < late {
				r.lag = slow
			}
		}
		if c.judge(w); c.objectives[0].finding != want {
			t.Errorf("%d late rounds: %s, want %s", late, c.objectives[0].finding, want)
		}
	}
}
