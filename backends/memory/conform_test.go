package memory_test

import (
	"context"
	"testing"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/conformance"
	"github.com/polystore/polystore/repo/driver"
)

func TestConformance(t *testing.T) {
	conformance.Run(t, func(context.Context) (driver.Store, error) { return memory.New(nil), nil })
}

// The memory backend can say of itself that it is less than it is: then rules are
// left out, and those that remain see that nothing else happens.
func TestLesserStores(t *testing.T) {
	partition, record := driver.ScopePartition, driver.ScopeRecord
	near := []driver.Kind{driver.Int, driver.String}
	for name, opts := range map[string]memory.Options{
		"one partition at a time":  {Scope: &partition},
		"one record at a time":     {Scope: &record},
		"outcomes can be unknown":  {Uncertain: true},
		"one partition, uncertain": {Scope: &partition, Uncertain: true},
		"native indexes":           {Native: true},
		"native, uncertain":        {Native: true, Uncertain: true},
		"local native":             {Native: true, NativeLocal: near, Scope: &partition, Uncertain: true},
	} {
		t.Run(name, func(t *testing.T) {
			report, err := conformance.Check(t.Context(), func(context.Context) (driver.Store, error) { return memory.New(&opts), nil },
				conformance.Options{Ops: 2000, Histories: 12})
			if err != nil {
				t.Fatal(err)
			}
			for _, g := range report.Groups {
				for _, f := range g.Failed {
					t.Errorf("%s\n%s\nwant %s\ngot %s", f.Rule, f.Sentence, f.Want, f.Got)
				}
			}
			if want := opts.Scope == &record; (report.Missing > 60) != want || report.Passed < 100 {
				t.Errorf("%s; want many not supported: %v", report.Summary(), want)
			}
			t.Log(report.Summary())
		})
	}
}
