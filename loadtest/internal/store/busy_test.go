package store

import (
	"testing"
	"time"
)

func TestBusyOf(t *testing.T) {
	for line, want := range map[string]time.Duration{
		"cpu  100 20 30 9000 500 4 5 6 0 0": 1650 * time.Millisecond,
		"cpu0 100 20 30 9000 500 4 5 6 0 0": 0,
		"cpu  100 20 30":                    0,
		"cpu  100 20 x 9000 500 4 5 6 0 0":  0,
		"":                                  0,
	} {
		if got := busyOf(line); got != want {
			t.Errorf("%q: %v, want %v", line, got, want)
		}
	}
}
