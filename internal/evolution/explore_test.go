package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestProtocolHolds(t *testing.T) {
	for k := range scenarios {
		sc := &scenarios[k]
		t.Run(sc.name, func(t *testing.T) {
			t.Parallel()
			r := explore(sc, correct, 500_000)
			if r.fault != "" || !r.whole || !r.ended {
				t.Fatalf("fault %q, explored whole: %v, the changer ended: %v\n%s", r.fault, r.whole, r.ended, strings.Join(r.run, "\n"))
			}
			t.Logf("%d states", r.states)
		})
	}
}

func TestMutantsAreKilled(t *testing.T) {
	for k, c := range mutants {
		if Mutant(k) == correct {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := explore(scenarioNamed(c.scenario), Mutant(k), 500_000)
			if c.says == "" || !strings.HasPrefix(r.fault, c.breaks) {
				t.Fatalf("%s: fault %q, want %s broken in %s\n%s", c.says, r.fault, c.breaks, c.scenario, strings.Join(r.run, "\n"))
			}
		})
	}
}

func TestGivesUp(t *testing.T) {
	if r := explore(&scenarios[0], correct, 100); r.whole || r.fault != "" {
		t.Errorf("100 states of many: whole %v, fault %q", r.whole, r.fault)
	}
}

func TestRun(t *testing.T) {
	for args, code := range map[string]int{"-scenario clash": 0, "-mutant no-fence": 0, "-scenario move -max 10": 1, "-scenario none": 2, "-wrong": 2} {
		var out, errs bytes.Buffer
		if got := run(strings.Fields(args), &out, &errs); got != code || out.Len()+errs.Len() == 0 {
			t.Errorf("%s: code %d, want %d\n%s%s", args, got, code, out.String(), errs.String())
		}
	}
}
