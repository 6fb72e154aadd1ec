package mutate_test

import (
	"context"
	"flag"
	"slices"
	"strings"
	"testing"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/conformance"
	"github.com/polystore/polystore/internal/live"
	"github.com/polystore/polystore/internal/simulate"
	"github.com/polystore/polystore/repo/driver"
)

const mostRuns = 20_000 // of a scenario, which is explored whole

var (
	by    = flag.String("by", "seeds", "what TestProof looks at: seeds, a scenario, one of package live, rules, or rules where other programs may write")
	seeds = flag.Int("seeds", 20, "how many runs at random it makes")
	name  = flag.String("scenario", "", "its name")
	fault = flag.Int("faults", 0, "how much goes wrong in a run of it")
	turns = flag.Int("switches", 3, "how often clients that could go on lose their turn in a run of it, at most")
	rules = flag.String("rules", "", "those whose names begin with one of these, with commas between")
)

// TestProof is what notices a variant. By itself it makes a few runs.
func TestProof(t *testing.T) {
	switch *by {
	case "seeds":
		draw(t, *seeds)
	case "scenario":
		explore(t, *name, *fault, *turns)
	case "live":
		evolve(t, *name)
	case "rules", "others":
		look(t, strings.Split(*rules, ","), *by == "others")
	default:
		t.Fatalf("no proof %q", *by)
	}
}

// draw makes runs at random.
func draw(t *testing.T, most int) {
	t.Helper()
	x := simulate.Simulator{T: t}
	for n := range uint64(most) {
		if f := x.Random(1 + n); f != nil {
			t.Fatalf("seed %d breaks %s\n%s", 1+n, f, f.Story)
		}
	}
}

// explore makes all runs of a scenario in which so much goes wrong, and clients that could go on
// lose their turn so often.
func explore(t *testing.T, name string, faults, switches int) {
	t.Helper()
	list := append(simulate.Scenarios(driver.ScopePartition, true), simulate.Scenarios(driver.ScopeStore, true)...)
	i := slices.IndexFunc(list, func(s simulate.Scenario) bool { return s.Name == name })
	if i < 0 {
		t.Fatalf("no scenario %q", name)
	}
	list[i].Faults, list[i].Switches = faults, switches
	x := simulate.Simulator{T: t}
	complete, f := x.Exhaust(list[i], mostRuns)
	if f != nil {
		t.Fatalf("a run breaks %s\n%s", f, f.Story)
	}
	if !complete {
		t.Errorf("there are more than %d runs", x.Runs)
	}
	t.Logf("%d runs", x.Runs)
}

// evolve makes the run of a scenario of package live.
func evolve(t *testing.T, name string) {
	t.Helper()
	list := live.Scenarios()
	i := slices.IndexFunc(list, func(s live.Scenario) bool { return s.Name == name })
	if i < 0 {
		t.Fatalf("no scenario %q", name)
	}
	_, faults := list[i].Play(t)
	for _, f := range faults {
		t.Error(f)
	}
}

// look checks rules on a store that changes one partition at a time and may leave outcomes
// open, so that there are indexes of both kinds: in their records' commits, and before and
// after them.
func look(t *testing.T, names []string, others bool) {
	t.Helper()
	scope := driver.ScopePartition
	open := func(context.Context) (driver.Store, error) {
		s := memory.New(&memory.Options{Scope: &scope, Uncertain: true})
		if others {
			return common{s}, nil
		}
		return s, nil
	}
	for _, name := range names {
		report, err := conformance.Check(t.Context(), open, conformance.Options{Seed: 1, Ops: -1, Histories: -1, Only: name})
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range report.Groups {
			for _, f := range g.Failed {
				t.Errorf("rule %s\nwant %s\ngot %.4000s", f.Rule, f.Want, f.Got)
			}
		}
	}
}

// A common store is one that other programs may have open.
type common struct{ *memory.Store }

func (s common) Facts() driver.Facts {
	f := s.Store.Facts()
	f.OneProcess = false
	return f
}
