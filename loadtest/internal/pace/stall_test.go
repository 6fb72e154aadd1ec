package pace

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// A stall is a long time without an answer that many operations wait for. Slow operations, a few of
// them, and a process that stands still are none.
func TestStall(t *testing.T) {
	const long = 2 * time.Second
	steady := func(d time.Duration) func(time.Time) func(context.Context) {
		return func(time.Time) func(context.Context) { return (&pause{}).taking(d) }
	}
	frozen := func(from time.Time) func(context.Context) {
		return func(context.Context) {
			time.Sleep(time.Millisecond)
			if left := time.Until(from.Add(long)); left < long {
				time.Sleep(left)
			}
		}
	}
	for name, c := range map[string]struct {
		take func(from time.Time) func(context.Context)
		want time.Duration
	}{
		"none":  {steady(time.Millisecond), 0},
		"slow":  {steady(400 * time.Millisecond), 0},
		"stall": {frozen, long},
		"never": {steady(time.Hour), 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := simulated(t, &Bench{Clock: sleeper{}}, 800, c.take(time.Now().Add(lead+time.Second)))
			if off := r.Stall - c.want; off < -10*time.Millisecond || off > 10*time.Millisecond || r.Stall > 0 && r.Stalled < 300 {
				t.Errorf("%s: stall %+v, want %v", name, r.Stall, c.want)
			}
		})
	}
}
