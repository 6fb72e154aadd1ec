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
		{"alike", []made{{"other", driver.Power, fast, 0, 101 * time.Microsecond, 1000, 0}, good}, "good", Met, []string{"no practical difference from other by CPU for the mix (95 % sure: "}},
		{"alike, so fewer bytes", []made{good, {"other", driver.Power, fast, 0, 101 * time.Microsecond, 500, 0}}, "other", Met, []string{"Take other. The objective is met; no practical difference from good by CPU for the mix, so the one with fewer bytes (95 % sure: ", "good does what is asked, too. It takes 100 % more bytes"}},
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

// remote makes the stores of a result servers, so that times are compared, and gives a candidate times of its own: the
// median of its calls and their mean.
func remote(r *Result, at int, work, mean time.Duration) {
	r.Stores[r.Candidates[at].StoreAt].InProcess = false
	for i := range r.Candidates[at].Rounds {
		q := &r.Candidates[at].Rounds[i].Queries[0]
		q.Work, q.WorkMean = work+time.Duration(i), mean+time.Duration(i)
	}
}

// A candidate whose calls take less by half, but of which some take so long that all together take more, is not called
// better. The control is one that takes less by both.
func TestLongCallsCount(t *testing.T) {
	for _, tt := range []struct {
		name string
		mean time.Duration // of the candidate that has the lower median
		best string
		want string
	}{
		{"some take long", 10 * time.Millisecond, "even", "Take even. The objective is met; by the median time for the mix uneven is ahead, but all its calls together take 10.0 times as long (95 % sure: "},
		{"none does", 800 * time.Microsecond, "uneven", "less time for the mix than even (95 % sure: "},
	} {
		r := small(made{"uneven", driver.Power, fast, 0, 50, 500, 0}, made{"even", driver.Power, fast, 0, 50, 500, 0})
		remote(r, 0, 800*time.Microsecond, tt.mean)
		remote(r, 1, time.Millisecond, time.Millisecond)
		if text := words(r); r.Verdicts[0].Ranked[0] != tt.best || !strings.Contains(text, tt.want) {
			t.Errorf("%s: %v, want %q:\n%s", tt.name, r.Verdicts[0].Ranked, tt.want, r.Text)
		}
	}
}

// A candidate that took more processor time is not called worse if other programs took more, too, in its rounds. The
// control is a machine that is as busy in the rounds of the other.
func TestOtherProgramsDoNotDecide(t *testing.T) {
	for _, alike := range []bool{false, true} {
		r := small(made{"a", driver.Power, fast, 0, 100 * time.Microsecond, 1000, 0}, made{"b", driver.Power, fast, 0, 130 * time.Microsecond, 1000, 0})
		for i := range r.Candidates {
			for j := range r.Candidates[i].Rounds {
				x := &r.Candidates[i].Rounds[j]
				if x.Took = time.Second + time.Duration(j)*time.Millisecond; i == 1 || alike {
					x.Others = time.Second
				} else {
					x.Others = 10 * time.Millisecond
				}
			}
		}
		text := words(r)
		if r.Verdicts[0].TooWeak == alike || strings.Contains(text, "other programs took more of the processors in its rounds") == alike {
			t.Errorf("alike: %v:\n%s", alike, r.Text)
		}
	}
}

// Of all candidates that the figures cannot tell from the best, the one with the fewest bytes is taken.
func TestFewestBytesOfAll(t *testing.T) {
	r := small(made{"a", driver.Power, fast, 0, 100 * time.Microsecond, 1000, 0}, made{"b", driver.Power, fast, 0, 101 * time.Microsecond, 1000, 0},
		made{"c", driver.Power, fast, 0, 102 * time.Microsecond, 600, 0}, made{"d", driver.Power, fast, 0, 200 * time.Microsecond, 100, 0})
	if Judge(r); r.Verdicts[0].Take != "c" {
		t.Errorf("%v, want c first:\n%s", r.Verdicts[0].Ranked, r.Text)
	}
}

// A candidate that as a rule leaves a few calls without an answer does not do what is asked, however few they are. In one
// round it may.
func TestCallsWithoutAnAnswer(t *testing.T) {
	for rounds, want := range map[int]int{1: Met, 6: Missed} {
		r := small(made{"m", driver.Power, fast, 0, 50, 500, 0})
		for i := range rounds {
			r.Candidates[0].Rounds[i].Unfinished = 2
		}
		if text := words(r); r.Exit != want || strings.Contains(text, "some calls were not answered in 6 of 6 rounds") != (want == Missed) {
			t.Errorf("in %d of 6 rounds: exit %d, want %d:\n%s", rounds, r.Exit, want, r.Text)
		}
	}
}
