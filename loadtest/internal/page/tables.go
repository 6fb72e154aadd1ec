package page

import (
	"fmt"
	"strings"
	"time"

	"github.com/polystore/polystore/loadtest/internal/format"
	"github.com/polystore/polystore/loadtest/report"
)

// objectives has what each candidate made of each objective.
func objectives(r *report.Result) report.Table {
	t := report.Table{Head: []string{"query", "candidate", "asked", "measured", "missed rounds", "calls", "calls needed", ""}}
	for at, q := range r.Queries {
		for i, o := range q.Objectives {
			for _, c := range r.Candidates {
				if i >= len(c.Queries[at].Objectives) {
					continue
				}
				of := c.Queries[at].Objectives[i]
				than := ""
				if of.AtLeast {
					than = "> "
				}
				t.Rows = append(t.Rows, []string{q.Name, c.Name, o.String(), than + format.Duration(of.Measured), fmt.Sprintf("%d of %d", of.Missed, of.Rounds),
					format.Count(int(of.Calls)), format.Count(int(of.Needed)), of.Finding})
			}
		}
	}
	return t
}

// rounds has what happened in each round.
func rounds(r *report.Result) report.Table {
	t := report.Table{Head: []string{"candidate", "round", "operations", "failed", "unfinished", "CPU/op", "clock lag p99", "waiting at the end", "heap", ""}}
	for _, c := range r.Candidates {
		for i := range c.Rounds {
			x := &c.Rounds[i]
			stall := ""
			if x.Stall > 0 {
				stall = fmt.Sprintf("stall of %s, %s waited", format.Duration(x.Stall), format.Plural(x.Stalled, "call"))
			}
			t.Rows = append(t.Rows, []string{c.Name, format.Count(x.Number), format.Count(x.Ops), format.Count(x.Failed), format.Count(x.Unfinished), format.Duration(x.PerOp()),
				format.Duration(x.Lag), format.Count(x.Backlog), fmt.Sprintf("%d MB", x.Heap>>20), stall})
		}
	}
	return t
}

// rates has the steps of the search for the highest rates.
func rates(r *report.Result) report.Table {
	t := report.Table{Head: []string{"candidate", "operations/s", "round", "outcome", ""}}
	for _, c := range r.Candidates {
		for _, s := range c.Steps {
			outcome := "missed"
			switch {
			case s.Met:
				outcome = "met"
			case s.Unknown:
				outcome = "not known"
			}
			t.Rows = append(t.Rows, []string{c.Name, format.Count(s.Rate), s.Round.Round(time.Millisecond).String(), outcome, s.Why})
		}
	}
	return t
}

// spreads has how models spread records over partitions.
func spreads(r *report.Result) report.Table {
	t := report.Table{Head: []string{"model", "collection", "partition", "partitions", "records of the largest", ""}}
	for _, s := range r.Spreads {
		partition, largest := strings.Join(s.Partition, ", "), format.Count(s.Largest)
		if s.In != "" {
			partition += ", embedded in " + s.In
		}
		if s.Grown > s.Largest {
			largest += fmt.Sprintf(" (at the end %s)", format.Count(s.Grown))
		}
		t.Rows = append(t.Rows, []string{s.Model, s.Collection, partition, format.Count(s.Partitions), largest, ""})
	}
	return t
}
