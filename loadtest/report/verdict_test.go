package report

import (
	"strings"
	"testing"
	"time"

	"github.com/polystore/polystore/repo/driver"
)

func TestVerdicts(t *testing.T) {
	good := made{"good", driver.Power, fast, 0, 100 * time.Microsecond, 1000, 0}
	tests := []struct {
		name  string
		made  []made
		best  string
		exit  int
		words []string
	}{
		{"one is cheaper", []made{{"dear", driver.Power, fast, 0, 250 * time.Microsecond, 900, 0}, good}, "good", Met,
			[]string{"Take good. The objective is met; 2.5 times less CPU for the mix than dear", "10 % fewer bytes: take it where these matter more."}},
		{"one misses", []made{{"late", driver.Power, slow, 0, 50 * time.Microsecond, 500, 0}, good}, "good", Met,
			[]string{"Take good", "no other does that", "late falls short: 1 of 1 objectives are missed: one post (p99 1 s, asked ≤ 500 ms, missed in 6 of 6 rounds). It takes 50 % fewer bytes. on made"}},
		{"all miss", []made{{"late", driver.Power, slow, 0, 50 * time.Microsecond, 500, 0}}, "late", Missed, []string{"late does not do what is asked"}},
		{"none of two", []made{{"late", driver.Power, slow, 0, 50, 500, 0}, {"later", driver.Power, 2 * slow, 0, 90, 500, 0}}, "late", Missed, []string{"None does what is asked. The nearest is late"}},
		{"too close", []made{{"other", driver.Power, fast, 0, 101 * time.Microsecond, 1000, 0}, good}, "good", Met, []string{"too close to call against other"}},
		{"too close, so fewer bytes", []made{good, {"other", driver.Power, fast, 0, 101 * time.Microsecond, 500, 0}}, "other", Met, []string{"Take other. The objective is met; too close to call against good by CPU for the mix, so the one with fewer bytes.", "good does what is asked, too. It takes 100 % more bytes"}},
		{"saturated", []made{{"full", driver.Power, slow, 0, 50, 500, 200}, good}, "good", Met, []string{"full falls short: it cannot carry 200/s"}},
		{"late clock", []made{{"unlucky", driver.Power, slow, slow / 2, 50, 500, 0}, good}, "good", Met, []string{"no other is known to do that", "unlucky is not judged: the clock was late (lag p99 500 ms)"}},
		{"late clock for all", []made{{"unlucky", driver.Power, slow, slow / 2, 50, 500, 0}, {"late", driver.Power, slow, 0, 50, 500, 0}}, "late", Invalid, []string{"No verdict: the clock was late"}},
		{"late clock alone", []made{{"unlucky", driver.Power, slow, slow / 2, 50, 500, 0}}, "unlucky", Invalid, []string{"No verdict: the clock was late"}},
		{"lag that does no harm", []made{{"lucky", driver.Power, fast, fast / 2, 50, 500, 0}}, "lucky", Met, []string{"lucky: The objective is met."}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := small(tt.made...)
			text := words(r)
			if got := r.Verdicts[0].Ranked[0]; got != tt.best {
				t.Errorf("the best is %s, want %s", got, tt.best)
			}
			if r.Exit != tt.exit {
				t.Errorf("exit %d, want %d", r.Exit, tt.exit)
			}
			for _, want := range tt.words {
				if !strings.Contains(text, want) {
					t.Errorf("the text has no %q:\n%s", want, text)
				}
			}
		})
	}
}

func TestFailedOperationsMissTheObjective(t *testing.T) {
	r := small(made{"m", driver.Power, fast, 0, fast, 100, 0})
	if Judge(r); !r.Verdicts[0].Met {
		t.Fatalf("without failures the objective is missed: %v", r.Candidates[0].Queries[0].Objectives)
	}
	r.Candidates[0].Queries[0].Outcomes[outcomeFailed] = 1
	if Judge(r); r.Verdicts[0].Met {
		t.Error("a failed operation meets the objective")
	}
}
