package report

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

// few returns a result of one candidate with few calls a round, some of them cut off.
func few(m made, asked ObjectiveSetting, ops, cut int) *Result {
	r := small(m)
	r.Queries[0].Objectives = []ObjectiveSetting{asked}
	m.calls(r, &r.Candidates[0], ops, cut)
	r.Candidates[0].Queries[0].Calls = 2000 // so that the lag is told
	return r
}

var p99 = ObjectiveSetting{"p99", 99, 500 * time.Millisecond}

// A percentile that the calls cannot tell is not met. What was missed by ten calls is missed,
// however few calls there were.
func TestNotEnoughCalls(t *testing.T) {
	swift, tardy := made{"m", driver.Power, fast, 0, fast, 100, 0}, made{"m", driver.Power, slow, 0, fast, 100, 0}
	rare, p50, most := p99, p99, p99
	rare.Name, rare.Percentile = "p99.99", 99.99
	p50.Name, p50.Percentile = "p50", 50
	most.Name, most.Percentile = "max", 100
	for _, tt := range []struct {
		made  made
		ops   int
		asked ObjectiveSetting
		state string
		exit  int
		want  string
	}{
		{swift, 13, p99, stateShort, Invalid, "No verdict: 1 of 1 objectives have not enough calls: one post (p99 needs 1,000 calls, it had 78); make rounds longer (--round 3s), ask for a lower percentile, or give the query more weight."},
		{swift, 167, p99, stateValid, Met, "m: The objective is met."},
		{swift, 166, p99, stateShort, Invalid, "it had 996"},
		{swift, 334, rare, stateShort, Invalid, "p99.99 needs 100,000 calls, it had 2,004); make rounds longer (--round 11s)"},
		{swift, 13, p50, stateValid, Met, "m: The objective is met."},
		{swift, 13, most, stateValid, Met, "m: The objective is met."},
		{tardy, 1, p99, stateShort, Invalid, "it had 6"},
		{tardy, 2, p99, stateValid, Missed, "m does not do what is asked: 1 of 1 objectives are missed: one post (p99 1 s, asked ≤ 500 ms, missed in 6 of 6 rounds)."},
	} {
		r := few(tt.made, tt.asked, tt.ops, 0)
		text := words(r)
		if state := r.Candidates[0].State; state != tt.state || r.Exit != tt.exit || !strings.Contains(text, tt.want) {
			t.Errorf("%s of %d calls a round: %s, exit %d; want %s, %d, and %q:\n%s", tt.asked.Name, tt.ops, state, r.Exit, tt.state, tt.exit, tt.want, text)
		}
		upper, _ := r.Queries[0].Upper()
		if fewer := int64(6*tt.ops) < callsFor(upper.Percentile, 6); fewer != strings.Contains(text, "~ 1 ") || fewer != strings.Contains(text, "~ is from too few calls") {
			t.Errorf("%d calls: p99 is marked as from too few, or not:\n%s", 6*tt.ops, text)
		}
	}
}

// What few calls tell of the clock, or of the price of a class, is marked or not said.
func TestFewCallsElsewhere(t *testing.T) {
	text := func(calls int) string {
		r := small(made{"a", driver.Memory, fast, fast / 2, fast, 100, 0}, made{"b", driver.Power, fast, fast / 2, fast, 100, 0})
		for i := range r.Candidates {
			r.Candidates[i].Queries[0].Calls, r.Candidates[i].Reads.Calls = int64(calls), int64(calls)
		}
		return words(r)
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
	m := made{"m", driver.Power, slow, 0, fast, 100, 0}
	text := words(few(m, p99, 334, 2))
	for _, want := range []string{"m > 1 s > 1 s ", "missed, 12 cut off", "one post (p99 > 1 s, asked ≤ 500 ms", "> from calls that were cut off and would have taken longer"} {
		if !strings.Contains(text, want) {
			t.Errorf("the text has no %q:\n%s", want, text)
		}
	}
	if text = words(few(m, p99, 334, 0)); strings.Contains(text, "> 1 s") || strings.Contains(text, "cut off") {
		t.Errorf("nothing was cut off:\n%s", text)
	}
}

// What the store alone takes too long for is missed, whether or not the clock was late, too.
func TestCertainMissIsNotTheClocks(t *testing.T) {
	for _, tt := range []struct {
		response, lag time.Duration
		exit          int
		want          string
	}{
		{slow, slow / 2, Invalid, "No verdict: the clock was late (lag p99 500 ms), so what was missed may be its fault"},
		{2 * slow, slow / 2, Missed, "m does not do what is asked: 1 of 1 objectives are missed: one post (p99 2 s"},
	} {
		r := small(made{"m", driver.Power, tt.response, tt.lag, fast, 100, 0})
		if text := words(r); r.Exit != tt.exit || !strings.Contains(text, tt.want) {
			t.Errorf("response %v, lag %v: exit %d; want %d and %q:\n%s", tt.response, tt.lag, r.Exit, tt.exit, tt.want, text)
		}
	}
}

// The rounds in which the clock was late are seen one by one: they do not excuse the others, in which
// operations waited for a slot.
func TestLateRoundsExcuseThemselvesOnly(t *testing.T) {
	for late, want := range map[int]string{0: missed, 2: missed, 4: lateMiss, 6: lateMiss} {
		r := small(made{"m", driver.Power, slow, 0, fast, 100, 0})
		rounds := r.Candidates[0].Rounds
		for i := range rounds {
			if rounds[i].Queries[0].Objectives[0].Service = fast; i < late {
				rounds[i].Lag = slow
			}
		}
		Judge(r)
		if got := r.Candidates[0].Queries[0].Objectives[0].Finding; got != want {
			t.Errorf("%d late rounds: %s, want %s", late, got, want)
		}
	}
}

// In a run of few rounds a miss by stalls alone is no verdict. What is missed beside them is, and what they are too short for.
func TestStallsInAShortRun(t *testing.T) {
	for _, tt := range []struct {
		rounds, stalled int
		took            time.Duration // of the stalls
		response        time.Duration // in the other rounds
		want            string
		text            string
		exit            int
	}{
		{3, 0, slow, slow, missed, "m does not do what is asked", Missed},
		{3, 1, slow, slow, missed, "m does not do what is asked", Missed},
		{3, 2, slow, fast, stallMiss, "No verdict: stalls made it miss what is asked, in 2 of 3 rounds, and fewer than 4 do not tell whether they are the rule; say --rounds 4.", Invalid},
		{2, 1, slow, fast, stallMiss, "in 1 of 2 rounds", Invalid},
		{3, 2, slow / 3, fast, missed, "m does not do what is asked", Missed},
		{4, 3, slow, fast, missed, "m does not do what is asked", Missed},
	} {
		p50 := ObjectiveSetting{"p50", 50, 500 * time.Millisecond}
		r := few(made{"m", driver.Power, slow, 0, fast, 100, 0}, p50, madeOps, 0)
		c := &r.Candidates[0]
		c.Rounds = c.Rounds[:tt.rounds]
		for i := range c.Rounds {
			if i < tt.stalled {
				c.Rounds[i].Stall, c.Rounds[i].Stalled = tt.took, 300
			} else {
				c.Rounds[i].Queries[0].Objectives[0].Response = tt.response
			}
		}
		text := words(r)
		if got := c.Queries[0].Objectives[0].Finding; got != tt.want || r.Exit != tt.exit || !strings.Contains(text, tt.text) {
			t.Errorf("stalls in %d of %d rounds: %s, exit %d; want %s, %d and %q:\n%s", tt.stalled, tt.rounds, got, r.Exit, tt.want, tt.exit, tt.text, text)
		}
	}
}

// What a lost store was not asked any more is neither missed nor took no time.
func TestWhatWasNotMeasuredIsNotMissed(t *testing.T) {
	for _, ended := range []string{"", "made: stopped answering in round 1"} {
		r := small(made{"some", driver.Power, fast, 0, 10 * time.Microsecond, 100, 0})
		r.Candidates = append(r.Candidates, CandidateResult{Name: "none", Queries: make([]QueryResult, 2)})
		r.Ended = ended
		if text := words(r); strings.Contains(text, "not enough calls") != (ended == "") || !strings.Contains(text, "none – –") {
			t.Errorf("ended %q:\n%s", ended, text)
		}
	}
}
