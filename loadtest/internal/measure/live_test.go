package measure

import (
	"strings"
	"testing"
	"time"

	"github.com/polystore/polystore/loadtest/internal/pace"
)

func TestLiveLinesHaveWhatWasMeasured(t *testing.T) {
	l := pace.Live{Answered: 500, Failed: 3, Took: time.Second, Left: time.Second, P50: time.Millisecond, P99: 20 * time.Millisecond}
	got := strings.Join(liveLines("round 1 of 4: a", &l, 6*time.Second), "\n")
	want := "round 1 of 4: a\n  500/s, p50 1 ms, p99 20 ms, 3 errors\n  about 7s of rounds left"
	if got != want {
		t.Errorf("lines %q, want %q", got, want)
	}
}
