package conformance_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/conformance"
	"github.com/polystore/polystore/repo/driver"
)

// The test of a backend is one line.
func ExampleRun() {
	_ = func(t *testing.T) { // func TestConformance(t *testing.T)
		conformance.Run(t, func(context.Context) (driver.Store, error) { return memory.New(nil), nil })
	}
}

// Check is for programs that are no test: here it runs one group of rules.
func ExampleCheck() {
	report, err := conformance.Check(context.Background(),
		func(context.Context) (driver.Store, error) { return memory.New(nil), nil },
		conformance.Options{Only: "unique"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(report.Passed > 0, report.Failed)
	// Output: true 0
}
