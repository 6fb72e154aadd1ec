package report

import (
	"strings"
	"testing"
	"time"

	"github.com/polystore/polystore/repo/driver"
)

// A model that misses an objective in more than one round of six is not taken before one that met it always, however cheap
// it is. One round does not decide, nor do rounds in which the clock may be the cause, and who misses it as well is no
// better. The control is in each line: the cheap model is taken otherwise.
func TestMissedInSomeRounds(t *testing.T) {
	for _, tt := range []struct {
		name        string
		cheap, dear int // rounds that they miss
		lag         time.Duration
		take        string
		says        string
	}{
		{"none", 0, 0, 0, "cheap", "2.5 times less CPU for the mix than dear"},
		{"one stall", 1, 0, 0, "cheap", "2.5 times less CPU for the mix than dear"},
		{"two of six", 2, 0, 0, "dear", "Take dear. The objective is met; cheap does that by the median of its rounds alone: one post (p99 1 ms, asked ≤ 500 ms, missed in 2 of 6 rounds)."},
		{"two, and the other one", 2, 1, 0, "cheap", "met, but not in every round"},
		{"both two", 2, 2, 0, "cheap", "missed in 2 of 6 rounds"},
		{"the dear one", 0, 2, 0, "cheap", "dear does that by the median of its rounds alone"},
		{"the clock", 2, 0, slow, "cheap", "met, but not in every round"},
		{"most", 4, 0, 0, "dear", "cheap falls short: 1 of 1 objectives are missed"},
	} {
		r := small(made{"cheap", driver.Power, fast, 0, 100 * time.Microsecond, 1000, 0}, made{"dear", driver.Power, fast, 0, 250 * time.Microsecond, 1000, 0})
		for i, n := range []int{tt.cheap, tt.dear} {
			for j := range n {
				round := &r.Candidates[i].Rounds[j]
				o := &round.Queries[0].Objectives[0]
				if o.Response, round.Lag = slow, tt.lag; tt.lag == 0 {
					o.Service = slow
				}
			}
		}
		text := words(r)
		if v := r.Verdicts[0]; v.Take != tt.take || r.Exit != Met || !strings.Contains(text, tt.says) {
			t.Errorf("%s: exit %d, %v; want %s and %q:\n%s", tt.name, r.Exit, v.Ranked, tt.take, tt.says, r.Text)
		}
	}
}

// One of six rounds is few in a long run, too.
func TestOftenMissed(t *testing.T) {
	for _, tt := range []struct {
		rounds, missed, late int
		want                 bool
	}{{4, 1, 0, false}, {4, 2, 0, true}, {6, 2, 0, true}, {6, 2, 1, false}, {12, 2, 0, false}, {12, 3, 0, true}} {
		if o := (ObjectiveResult{Rounds: tt.rounds, Missed: tt.missed, Late: tt.late}); o.often() != tt.want {
			t.Errorf("%+v: often is %v", o, !tt.want)
		}
	}
}
