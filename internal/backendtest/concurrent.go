package backendtest

import (
	"context"
	"testing"

	"github.com/polystore/polystore/conformance"
	"github.com/polystore/polystore/repo/driver"
)

// concurrent are rules in which several goroutines use a store at once.
const concurrent = "concurrent histories,walk and scan/walk at once,records and fields/many at once,queries and cursors/paging at once," +
	"hierarchies/adjacency: histories,hierarchies/spread adjacency: histories,hierarchies/path: writer that stops,close"

// Concurrent sees that a backend keeps the rules in which several goroutines use it at once. It is for runs with the
// race detector, in which the whole suite would take long.
func Concurrent(t *testing.T, open func(context.Context) (driver.Store, error)) {
	t.Helper()
	report := Rules(t, open, conformance.Options{Only: concurrent, Ops: -1})
	if len(report.Problems) > 0 || report.Passed < 10 {
		t.Errorf("%s; problems: %q", report.Summary(), report.Problems)
	}
}

// Rules reports the rules of a part of the suite that a backend breaks.
func Rules(t *testing.T, open func(context.Context) (driver.Store, error), part conformance.Options) *conformance.Report {
	t.Helper()
	report, err := conformance.Check(t.Context(), open, part)
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range report.Groups {
		for _, f := range g.Failed {
			t.Errorf("%s\n%s\nwant %s\ngot %s", f.Rule, f.Sentence, f.Want, f.Got)
		}
	}
	return report
}
