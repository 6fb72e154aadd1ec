package pace

import (
	"time"

	"github.com/polystore/polystore/loadtest/report"
)

// backlog notes how the store kept up with the clock in the last round. An operation waits from
// the moment at which the clock releases it until a slot begins it.
func (b *Bench) backlog(r *report.RoundResult) {
	last := int64(b.last())
	r.HalfWaited, _ = b.waiting(last / 2)
	var open int
	r.Backlog, open = b.waiting(last)
	r.Busy, r.Slots = min(open, b.Slots), b.Slots
	worst := int64(0)
	for i := range b.Samples {
		worst = max(worst, b.Samples[i].lag)
	}
	r.WithinLag = int(worst * int64(b.Rate) / int64(time.Second))
}

// waiting returns how many operations had been released at a time and not begun, and how many
// had been released and not ended. What begins within a millisecond does not wait.
func (b *Bench) waiting(at int64) (waiting, open int) {
	for i := range b.Samples {
		s := &b.Samples[i]
		released := int64(b.instant(i)) + s.lag
		if released > at {
			continue
		}
		if released+s.wait > at+int64(time.Millisecond) {
			waiting++
		}
		if released+s.wait+s.service > at {
			open++
		}
	}
	return waiting, open
}
