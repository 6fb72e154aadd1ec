package main

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// quick returns the scenarios that a test explores whole, with one call of each
// actor that gets no answer: those of up to a million states, and fewer under the
// race detector. The program explores them all.
func quick() []Scenario {
	most := uint8(medium)
	if raceDetector {
		most = small
	}
	var list []Scenario
	for _, sc := range scenarios {
		if sc.size <= most {
			sc.timeouts = 1
			list = append(list, sc)
		}
	}
	return list
}

func TestProtocolHolds(t *testing.T) {
	for _, sc := range quick() {
		t.Run(sc.name, func(t *testing.T) {
			t.Parallel()
			r := explore(&sc, correct, 2_000_000)
			if r.fault != "" || !r.whole {
				t.Fatalf("%s: %s\n%s", r.verdict(), r.fault, strings.Join(sc.tell(r.run), "\n"))
			}
			t.Logf("%d states, %d deep, %v", r.states, r.depth, r.took)
		})
	}
}

func TestMutantsAreKilled(t *testing.T) {
	for k, c := range mutants[1:] {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			sc := scenarioNamed(c.scenario)
			r := explore(sc, Mutant(k+1), 2_000_000)
			if !c.killed(r) {
				t.Fatalf("%s: %s, want %s broken in %s\n%s", c.says, r.end(), c.breaks, sc.name, strings.Join(sc.tell(r.run), "\n"))
			}
			t.Logf("%s\n%s, %d states, %d steps: %s\n%s", c.says, sc.name, r.states, len(r.run), r.fault, strings.Join(sc.tell(r.run), "\n"))
		})
	}
}

// A killing run must be a run of the mutant alone: without the mutant the scenario
// has no fault at all. TestProtocolHolds and the program say so of each scenario;
// here the tables are compared with each other.
func TestTables(t *testing.T) {
	names := map[string]bool{"": true, "none": true, "all": true}
	for _, sc := range scenarios {
		if names[sc.name] || sc.says == "" || len(sc.actors) > nActors {
			t.Errorf("scenario %q has a name that is taken, no sentence, or too many actors", sc.name)
		}
		names[sc.name] = true
	}
	for _, c := range mutants[1:] {
		if names[c.name] || c.says == "" || scenarioNamed(c.scenario) == nil {
			t.Errorf("mutant %q has a name that is taken, no sentence, or no scenario", c.name)
		}
		names[c.name] = true
	}
}

func TestSameEveryTime(t *testing.T) {
	sc := scenarioNamed("retry")
	a, b := explore(sc, fenceReused, 1_000_000), explore(sc, fenceReused, 1_000_000)
	if diff := cmp.Diff(sc.tell(a.run), sc.tell(b.run)); diff != "" || a.states != b.states || len(a.run) == 0 {
		t.Errorf("two runs differ: %d and %d states\n%s", a.states, b.states, diff)
	}
}

func TestGivesUp(t *testing.T) {
	if r := explore(scenarioNamed("retry"), correct, 100); r.whole || r.fault != "" {
		t.Errorf("100 states of many: whole %v, fault %q", r.whole, r.fault)
	}
}

func TestRun(t *testing.T) {
	tests := []struct {
		args string
		code int
		says string
	}{
		{"-scenario lookup-kept -mutant none", 0, "holds"},
		{"-scenario lookup-kept -mutant none -max 100", 1, "NOT EXPLORED WHOLE"},
		{"-mutant row-after-commit", 0, "has no row in the index"},
		{"-mutant row-after-commit -scenario unique-lookup", 0, "no fault found"},
		{"-mutant fence-reused -max 100", 1, "no fault found"},
		{"-mutant nobody", 2, ""},
		{"-scenario nowhere", 2, ""},
		{"-depth", 2, ""},
	}
	for _, tt := range tests {
		var out, errs strings.Builder
		if code := run(strings.Fields(tt.args), &out, &errs); code != tt.code || !strings.Contains(out.String(), tt.says) {
			t.Errorf("%s: code %d, want %d with %q:\n%s%s", tt.args, code, tt.code, tt.says, &out, &errs)
		}
	}
}

// The protocol's text says of every mutant which line it leaves out.
func TestTextNamesMutants(t *testing.T) {
	text, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	words := map[string]bool{}
	inBrackets := false
	for _, w := range strings.FieldsFunc(string(text), func(r rune) bool { return strings.ContainsRune(" \n\t,/", r) }) {
		inBrackets = inBrackets || strings.HasPrefix(w, "[")
		words[strings.Trim(w, "[].:;")] = inBrackets
		inBrackets = inBrackets && !strings.Contains(w, "]")
	}
	for _, c := range mutants[1:] {
		if !words[c.name] {
			t.Errorf("doc.go does not say what %s leaves out", c.name)
		}
	}
	if words["retention"] || words["nobody"] {
		t.Error("a word outside brackets counts as a mutant")
	}
}
