package pace

import (
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

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
	round := b.last() + 1
	length := max(limit.LeastInterval, (round+limit.MaxIntervals-1)/limit.MaxIntervals)
	var list []report.IntervalResult
	var times []int64
	var h *hdrhistogram.Histogram // where operations are divided
	if b.Divided {
		h = hdrhistogram.New(1000, limit.LongestTime, 3)
	}
	for i := 0; i < n; {
		from := b.instant(i) / length * length
		times = times[:0]
		for ; i < n && b.instant(i) < from+length; i++ {
			times = append(times, b.Samples[i].Response())
		}
		slices.Sort(times)
		at := func(percent int) time.Duration { return time.Duration(times[(len(times)*percent+99)/100-1]) }
		x := report.IntervalResult{At: from, Calls: len(times), P50: at(50), P99: at(99), Max: at(100)}
		if b.Divided {
			x.Response = encoded(h, times)
		}
		list = append(list, x)
	}
	return list
}
