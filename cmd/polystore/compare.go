package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/polystore/polystore/loadtest"
)

const compareAbout = `Says what became better or worse from one result of polystore load to a later one of
the same workload, by the statistics of the verdict: a difference counts when it is
more than 5 % and not by chance. The seed may be another. polystore load --baseline
runs a workload and compares its result so.

Exit codes: 0 nothing is worse; 1 a model is worse in a query or in all together,
or misses what it met; 2 the command or a file is wrong; 3 the two cannot be compared
(another workload, machine, pace or class of durability, too few rounds) or it is not
known what a model does; 4 one has wrong answers.`

func compare(_ context.Context, args []string, stdout, stderr io.Writer) error {
	fs := newFlags("compare", "BEFORE AFTER", compareAbout, "polystore compare runs/blog-7/result.json runs/blog-7.2/result.json", stderr)
	rest, err := parse(fs, args, "BEFORE AFTER", stdout)
	if err != nil {
		return err
	}
	var results [2]*loadtest.Result
	for i, file := range rest {
		if results[i], err = loadtest.ReadResult(file); err != nil {
			return exit{loadtest.Usage, err}
		}
	}
	return compared(results[0], results[1], stdout)
}

// compared prints a comparison, and returns how it ends.
func compared(before, after *loadtest.Result, w io.Writer) error {
	c := loadtest.Compare(before, after)
	if err := c.WriteText(w); err != nil {
		return err
	}
	if c.Exit != loadtest.Met {
		return exit{c.Exit, nil}
	}
	return nil
}

// readBaseline returns the result that a run is to be compared with, nil if there is none. One that the run cannot be
// compared with is refused before anything is measured.
func (f *loadFlags) readBaseline(w *loadtest.Workload) (*loadtest.Result, error) {
	if f.baseline == "" {
		return nil, nil
	}
	before, err := loadtest.ReadResult(f.baseline)
	if err != nil {
		return nil, exit{loadtest.Usage, fmt.Errorf("load: --baseline: %w", err)}
	}
	if why := w.Differences(before); len(why) > 0 {
		return nil, exit{loadtest.Invalid, fmt.Errorf("load: a run cannot be compared with %s: %s; measure the baseline again", f.baseline, strings.Join(why, "; "))}
	}
	return before, nil
}
