package simulate_test

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/polystore/polystore/internal/simulate"
	"github.com/polystore/polystore/repo/driver"
)

// remoteNeeded says that a store which changes one partition at a time must take
// indexes in other partitions, so that one which refuses them fails the test.
const remoteNeeded = true

// known are scenarios that break a promise as package repo is now: they are told and
// do not fail the test. Who mends one takes its line out.
var known = map[string]string{}

var (
	most     = flag.Int("most", runs, "how many runs of a scenario TestScenarios makes at most")
	faults   = flag.Int("faults", 1, "how many faults these have")
	switches = flag.Int("switches", -1, "how often a client that could go on loses its turn in them; below 0 is no bound")
	long     = flag.Duration("time", 0, "how long TestLong draws runs at random; 0 is for so many seeds as the short form has")
	seed     = flag.Uint64("seed", 1, "seed of the first of them")
	replay   = flag.Uint64("replay", 0, "make the run of this seed only")
	scenario = flag.String("scenario", "", "explore this scenario only, whole")
	choices  = flag.String("choices", "", "make the run of these choices, of the scenario, only")
)

// groups are where records and indexes may lie.
var groups = []struct {
	name   string
	scope  driver.Scope
	remote bool
}{
	{"local", driver.ScopePartition, false},
	{"remote", driver.ScopePartition, true},
	{"store", driver.ScopeStore, true},
}

// eachScenario calls do for every scenario that the library takes.
func eachScenario(t *testing.T, do func(name string, s simulate.Scenario)) {
	for _, g := range groups {
		for _, s := range simulate.Scenarios(g.scope, g.remote) {
			name := g.name + "/" + s.Name
			s.Faults, s.Switches = *faults, *switches
			switch err := s.Accepts(); {
			case err != nil && g.name == "remote" && !remoteNeeded:
				t.Logf("%s: left out: %v", name, err)
			case err != nil:
				t.Errorf("%s: %v", name, err)
			default:
				do(name, s)
			}
		}
	}
}

func report(t *testing.T, name, again string, f *simulate.Failure) {
	t.Helper()
	t.Errorf("%s: %s\n%s\nchoices %s\nreplay: go test ./internal/simulate -run TestLong -args %s",
		name, f, f.Story, text(f.Choices), again)
}

// replayOf returns the flags that make the run of a failure again.
func replayOf(name string, f *simulate.Failure) string {
	return fmt.Sprintf("-faults %d -switches %d -scenario %q -choices %s", *faults, *switches, name, text(f.Choices))
}

func text(choices []int) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(choices), " ", ","), "[]")
}

func numbers(t *testing.T, text string) []int {
	var out []int
	for part := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(part)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, n)
	}
	return out
}

// Every interleaving of the small scenarios with one fault. Of those that have more
// than so many, the first ones and some at random.
func TestScenarios(t *testing.T) {
	x := simulate.Simulator{T: t}
	whole, all := 0, 0
	eachScenario(t, func(name string, s simulate.Scenario) {
		all++
		before := x.Runs
		complete, f := x.Exhaust(s, *most)
		for n := 0; n < *most/2 && !complete && f == nil; n++ {
			f = x.Roll(s, rand.New(rand.NewPCG(uint64(n), 3)))
		}
		switch why := known[s.Name]; {
		case f != nil && why != "":
			t.Logf("%s: known: %s: %s\n%s", name, why, f, f.Story)
		case f != nil:
			report(t, name, replayOf(name, f), f)
		}
		if complete {
			whole++
		}
		t.Logf("%-40s %6d runs, whole: %v", name, x.Runs-before, complete)
	})
	t.Logf("%d runs, %d choices, %d steps; %d of %d scenarios whole", x.Runs, x.Choices, x.Steps, whole, all)
}

// Runs at random for a while: the long form.
func TestLong(t *testing.T) {
	x := simulate.Simulator{T: t, Seen: map[string]int{}}
	switch {
	case *scenario != "":
		longScenario(t, &x)
		return
	case *replay != 0:
		if f := x.Random(*replay); f != nil {
			report(t, "seed", fmt.Sprintf("-replay %d", *replay), f)
		}
		return
	}
	began, n := time.Now(), *seed
	goesOn := func() bool { return n < *seed+seeds && *long == 0 || time.Since(began) < *long }
	for ; goesOn() && !t.Failed(); n++ {
		if f := x.Random(n); f != nil {
			report(t, fmt.Sprintf("seed %d", n), fmt.Sprintf("-replay %d", n), f)
		}
	}
	t.Logf("seeds %d to %d: %d runs, %d choices, %d steps in %s", *seed, n-1, x.Runs, x.Choices, x.Steps, time.Since(began).Round(time.Second))
	reached(t, x.Seen)
}

// reached sees that the runs met everything that can happen.
func reached(t *testing.T, seen map[string]int) {
	want := []string{"verdict: committed", "verdict: not committed", "verdict: unknown", "told: done", "told: found", "told: nothing",
		"told: already exists", "told: not found", "told: conflict", "told: unknown outcome", "told: store unavailable"}
	for _, f := range simulate.Fates() {
		want = append(want, "fate: "+f)
	}
	for _, what := range want {
		if seen[what] == 0 {
			t.Errorf("no run had %q", what)
		}
		t.Logf("%9d  %s", seen[what], what)
	}
}

// longScenario makes the runs of one scenario.
func longScenario(t *testing.T, x *simulate.Simulator) {
	eachScenario(t, func(name string, s simulate.Scenario) {
		if name != *scenario {
			return
		}
		var f *simulate.Failure
		complete := false
		if *choices != "" {
			f = x.Follow(s, numbers(t, *choices))
		} else {
			complete, f = x.Exhaust(s, math.MaxInt)
		}
		if f != nil {
			report(t, name, replayOf(name, f), f)
		}
		t.Logf("%s: %d runs, %d choices, whole: %v", name, x.Runs, x.Choices, complete)
	})
	if x.Runs == 0 {
		t.Fatalf("no scenario %q", *scenario)
	}
}

// The same choices make the same story, whatever the pace of the goroutines.
func TestRunsRepeat(t *testing.T) {
	steady := simulate.Simulator{T: t}
	uneven := simulate.Simulator{T: t, Pace: func() {
		for range rand.IntN(40) {
			runtime.Gosched()
		}
	}}
	for n := range uint64(repeats) {
		random := rand.New(rand.NewPCG(n, 2))
		s := simulate.RandomScenario(random)
		picks := make([]int, 60)
		for i := range picks {
			picks[i] = random.IntN(4)
		}
		if first, second := steady.Tell(s, picks), uneven.Tell(s, picks); first != second || len(first) < 100 {
			t.Errorf("seed %d: the first story is\n%s\nand the second\n%s", n, first, second)
		}
	}
}
