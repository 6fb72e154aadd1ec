package loadtest

import "testing"

// A round is saturated by a hundredth of its operations, but not by a few.
func TestSaturated(t *testing.T) {
	for _, c := range []struct {
		ops, backlog int
		want         bool
	}{{10, 1, false}, {10, 4, false}, {10, 5, true}, {500, 5, true}, {1000, 9, false}, {1000, 10, true}} {
		if got := (&round{ops: c.ops, backlog: c.backlog}).saturated(); got != c.want {
			t.Errorf("%d of %d waiting: saturated %v, want %v", c.backlog, c.ops, got, c.want)
		}
	}
}
