package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"time"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run explores what args name, writes what it finds to stdout, and returns 1 if the
// protocol has a fault, or a mutant has none, or a scenario is too large.
func run(args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("model", flag.ContinueOnError)
	flags.SetOutput(stderr)
	scenario := flags.String("scenario", "", "explore this `name` alone; all is every one, and of a mutant, too")
	mutant := flags.String("mutant", "", "explore this `name` alone; none is the protocol without a mutant")
	most := flags.Int("max", 10_000_000, "give up a scenario after so many `states`")
	if flags.Parse(args) != nil {
		return 2
	}
	if !known(*scenario, *mutant) {
		fmt.Fprintf(stderr, "model: no scenario %q or no mutant %q; run without flags for the names\n", *scenario, *mutant)
		return 2
	}
	wrong := 0
	if *mutant == "" || *mutant == "none" {
		wrong += exploreProtocol(stdout, *scenario, *most)
	}
	if *mutant != "none" && (*mutant != "" || *scenario == "") {
		wrong += exploreMutants(stdout, *scenario, *mutant, *most)
	}
	if wrong > 0 {
		fmt.Fprintf(stdout, "\nWRONG: %d\n", wrong)
		return 1
	}
	return 0
}

func known(scenario, mutant string) bool {
	found := scenario == "" || scenario == "all" || scenarioNamed(scenario) != nil
	named := mutant == "" || mutant == "none"
	for _, c := range mutants[1:] {
		named = named || c.name == mutant
	}
	return found && named
}

func scenarioNamed(name string) *Scenario {
	for k := range scenarios {
		if scenarios[k].name == name {
			return &scenarios[k]
		}
	}
	return nil
}

// exploreProtocol returns how many scenarios break a promise or were not explored
// whole.
func exploreProtocol(out io.Writer, only string, most int) (wrong int) {
	fmt.Fprintf(out, "%-18s %10s %6s %8s  %s\n", "scenario", "states", "depth", "time", "result")
	total, begun := 0, time.Now()
	for k := range scenarios {
		sc := &scenarios[k]
		if only != "" && only != "all" && only != sc.name {
			continue
		}
		r := explore(sc, correct, most)
		total += r.states
		fmt.Fprintf(out, "%-18s %10d %6d %7.1fs  %s: %s\n", sc.name, r.states, r.depth, r.took.Seconds(), r.verdict(), sc.says)
		if r.fault != "" || !r.whole {
			wrong++
			printRun(out, sc, r)
		}
	}
	fmt.Fprintf(out, "%-18s %10d %6s %7.1fs\n", "all", total, "", time.Since(begun).Seconds())
	return wrong
}

func (r Result) verdict() string {
	switch {
	case r.fault != "":
		return "BROKEN"
	case !r.whole:
		return "NOT EXPLORED WHOLE"
	}
	return "holds"
}

// exploreMutants returns how many mutants survive, or break another promise than
// they should.
func exploreMutants(out io.Writer, scenario, only string, most int) (wrong int) {
	for k := range mutants[1:] {
		c := mutants[k+1]
		if only != "" && only != c.name {
			continue
		}
		for j := range scenarios {
			sc := &scenarios[j]
			if scenario == "" && sc.name != c.scenario || scenario != "" && scenario != "all" && scenario != sc.name {
				continue
			}
			r := explore(sc, Mutant(k+1), most)
			if scenario == "" && !c.killed(r) {
				wrong++
			}
			fmt.Fprintf(out, "\n%s: %s\n  in %s, %d states, %d steps: %s\n", c.name, c.says, sc.name, r.states, len(r.run), r.end())
			printRun(out, sc, r)
		}
	}
	return wrong
}

func (r Result) end() string {
	if r.fault == "" {
		return "no fault found"
	}
	return r.fault
}

// killed says that r broke the promise that the mutant breaks.
func (c Change) killed(r Result) bool { return len(r.fault) > 2 && r.fault[:2] == c.breaks }

func printRun(out io.Writer, sc *Scenario, r Result) {
	for _, line := range sc.tell(r.run) {
		fmt.Fprintln(out, line)
	}
}
