package pace

import (
	"slices"
	"time"

	"github.com/polystore/polystore/loadtest/internal/limit"
	"github.com/polystore/polystore/loadtest/report"
)

// series returns the response times of the last round by when operations were due, in intervals of one
// length, of which there are only so many however long the round is.
func (b *Bench) series() []report.IntervalResult {
	n := len(b.Samples)
	if n == 0 {
		return nil
	}
	round := b.instant(n-1) + 1
	length := max(limit.LeastInterval, (round+limit.MaxIntervals-1)/limit.MaxIntervals)
	var list []report.IntervalResult
	var times []int64
	for i := 0; i < n; {
		from := b.instant(i) / length * length
		times = times[:0]
		for ; i < n && b.instant(i) < from+length; i++ {
			times = append(times, b.Samples[i].Response())
		}
		slices.Sort(times)
		at := func(percent int) time.Duration { return time.Duration(times[(len(times)*percent+99)/100-1]) }
		list = append(list, report.IntervalResult{At: from, Calls: len(times), P50: at(50), P99: at(99), Max: at(100)})
	}
	return list
}
