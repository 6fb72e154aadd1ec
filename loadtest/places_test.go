package loadtest

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/polystore/polystore/loadtest/internal/failure"
	"github.com/polystore/polystore/loadtest/internal/workload"
)

// places is the shipped workload, made short, or another one that is made of it.
func places(t *testing.T, changes ...string) (*workload.Workload, error) {
	t.Helper()
	return shipped(t, "places", append([]string{"rounds: 6", "rounds: 1", "round: 2s", "round: 200ms", "count: 10000", "count: 300"}, changes...)...)
}

// What is near is the same in all models, in one order; a store that leaves something out is found.
func TestPlaces(t *testing.T) {
	w, err := places(t)
	if err != nil {
		t.Fatal(err)
	}
	s := newWatched()
	result, err := Run(t.Context(), opened(w), options(s))
	if err != nil {
		t.Fatal(err)
	}
	s.check(t)
	for _, c := range result.Candidates {
		if c.Failures > 0 {
			t.Errorf("%s: %d failures, the first: %s", c.Name, c.Failures, c.Failure)
		}
		if c.Queries[0].FoundEach < 2 {
			t.Errorf("%s: %v records are found by a call, want two at least", c.Name, c.Queries[0].FoundEach)
		}
	}
	_, err = runWith(t, opened(w), newWatched(), &forgetful{watched: newWatched()}, func([]byte) {})
	if wrong, ok := errors.AsType[*failure.WrongAnswers](err); !ok {
		t.Errorf("%v, %v", err, wrong)
	}
}

func TestPlacesWithoutAnIndex(t *testing.T) {
	w, err := places(t, "sort: [at]", "sort: [name]", "  - {name: scan, indexes: [], scan: true}\n", "", "kind: move, set: {at: {point: {south: 45.3, north: 45.66, west: 9.0, east: 9.5}}}", "kind: update, set: {open: true}")
	if err != nil {
		t.Fatal(err)
	}
	_, err = Run(t.Context(), opened(w), options(newWatched()))
	if faults, ok := errors.AsType[failure.Faults](err); !ok || !strings.Contains(err.Error(), `query nearest ten in model covering: `) || !strings.Contains(err.Error(), `sort: ["at"]`) {
		t.Errorf("%v, %v", err, faults)
	}
}

func TestPlaceFaults(t *testing.T) {
	for _, tt := range []struct{ old, new, want string }{
		{"near: {field: at, metres: 5000}, ", "", "query nearest ten has no near"},
		{"near: {field: at, metres: 5000}", "near: {field: att, metres: 5000}", `there is no field "att"`},
		{"near: {field: at, metres: 5000}", "near: {field: open, metres: 5000}", "field open is of kind bool; a place is a string"},
		{"near: {field: at, metres: 5000}", "near: {field: at}", "has no metres"},
		{"south: 45.3", "south: 46", "the north lies south of the south"},
		{"south: 45.3", "south: 95", "want -90 to 90"},
	} {
		if _, err := places(t, tt.old, tt.new); !strings.Contains(fmt.Sprint(err), tt.want) {
			t.Errorf("%q for %q: %v, want %q", tt.new, tt.old, err, tt.want)
		}
	}
}
