package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run explores what args name, and returns 1 if the protocol has a fault or a mutant has none.
func run(args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("evolution", flag.ContinueOnError)
	flags.SetOutput(stderr)
	scenario := flags.String("scenario", "", "explore this `name` alone, without mutants")
	mutant := flags.String("mutant", "", "explore this `name` alone")
	most := flags.Int("max", 3_000_000, "give up a scenario after so many `states`")
	if flags.Parse(args) != nil {
		return 2
	}
	done, wrong := 0, 0
	for k := range scenarios {
		sc := &scenarios[k]
		if *mutant != "" || *scenario != "" && *scenario != sc.name {
			continue
		}
		r, verdict := explore(sc, correct, *most), "holds"
		if r.fault != "" || !r.whole || !r.ended {
			verdict = fmt.Sprintf("BROKEN (%s, whole %v, ended %v)\n%s", r.fault, r.whole, r.ended, strings.Join(r.run, "\n"))
			wrong++
		}
		fmt.Fprintf(stdout, "%-16s %9d states  %s: %s\n", sc.name, r.states, verdict, sc.says)
		done++
	}
	for k := range mutants {
		c := mutants[k]
		if c.name == "" || *scenario != "" || *mutant != "" && *mutant != c.name {
			continue
		}
		r := explore(scenarioNamed(c.scenario), Mutant(k), *most)
		if !strings.HasPrefix(r.fault, c.breaks) {
			wrong++
		}
		fmt.Fprintf(stdout, "\n%s: %s\n  in %s, %d states: %s\n    %s\n", c.name, c.says, c.scenario, r.states, r.fault, strings.Join(r.run, "\n    "))
		done++
	}
	if done == 0 {
		fmt.Fprintf(stderr, "evolution: there is no scenario %q, or no mutant %q, or both are given, and a mutant has its own scenario; run without flags for the names\n", *scenario, *mutant)
		return 2
	}
	return min(wrong, 1)
}

func scenarioNamed(name string) *Scenario {
	for k := range scenarios {
		if scenarios[k].name == name {
			return &scenarios[k]
		}
	}
	return nil
}
