package pace

import (
	"testing"
	"time"

	"github.com/polystore/polystore/loadtest/internal/limit"
)

// The series has each operation once, in few intervals however long the round is, and shows when a
// store stood still.
func TestSeries(t *testing.T) {
	for _, rate := range []int{1, 7, 500} {
		for _, n := range []int{1, 2, 999, 50_000} {
			b := &Bench{Rate: rate, Samples: make([]Sample, n)}
			for i := range b.Samples {
				b.Samples[i].service = int64(time.Millisecond)
			}
			half := &b.Samples[n/2]
			half.wait = int64(time.Second)
			calls, greatest, last := 0, time.Duration(-1), time.Duration(-1)
			list := b.series()
			for _, x := range list {
				if x.At <= last || x.Calls == 0 || x.P50 > x.P99 || x.P99 > x.Max {
					t.Errorf("%d at %d/s: %+v after %v", n, rate, x, last)
				}
				last = x.At
				calls += x.Calls
				if x.Max > time.Second {
					greatest = x.At
				}
			}
			if due := b.instant(n / 2); calls != n || len(list) > limit.MaxIntervals || greatest > due || greatest < 0 {
				t.Errorf("%d at %d/s: %d calls in %d intervals, the slow one, due at %v, in that of %v", n, rate, calls, len(list), due, greatest)
			}
		}
	}
	if list := (&Bench{Rate: 1}).series(); list != nil {
		t.Errorf("of no operation there is %v", list)
	}
}
