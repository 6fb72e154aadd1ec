package pace

import (
	"cmp"
	"slices"
	"time"

	"github.com/polystore/polystore/loadtest/internal/limit"
	"github.com/polystore/polystore/loadtest/internal/operation"
)

// A stall is the longest time in a round in which the store answered nothing although
// operations were under way. The zero stall is none.
type stall struct {
	took    time.Duration
	waiting int // operations that were under way or waited for a slot at its end
}

// An interval is when an operation was released, begun and ended.
type interval struct {
	released, begin, end int64
	answered             bool
}

// stall returns the stall of the last round.
func (b *Bench) stall() stall {
	list := make([]interval, len(b.Samples))
	for i := range b.Samples {
		s := &b.Samples[i]
		released := int64(b.instant(i)) + s.lag
		list[i] = interval{released, released + s.wait, released + s.wait + s.service, s.Outcome != operation.Unfinished}
	}
	slices.SortFunc(list, func(a, b interval) int { return cmp.Compare(a.end, b.end) })
	from, to := longestGap(list)
	found := stall{took: time.Duration(to - from)}
	var beside []int64
	lag := int64(0)
	for i, x := range list {
		lag = max(lag, b.Samples[i].lag)
		if x.answered && (x.end <= from || x.begin >= to) {
			beside = append(beside, x.end-x.begin)
		}
		if x.released < to && x.end >= to {
			found.waiting++
		}
	}
	if len(beside) < limit.LeastBacklog || found.waiting < limit.LeastBacklog || 2*lag > int64(found.took) {
		return stall{} // the whole round was like that, hardly anybody noticed, or this process stood still
	}
	slices.Sort(beside)
	if found.took < max(limit.StallTime, limit.StallTimes*time.Duration(beside[len(beside)/2])) {
		return stall{}
	}
	return found
}

// longestGap returns the bounds of the longest time without an answer, of operations by their
// ends. It begins with the answer before it or, if nothing was under way then, when the clock
// released the next operation.
func longestGap(list []interval) (from, to int64) {
	oldest := make([]int64, len(list)) // release of those that end at or after the i-th
	for i := len(list) - 1; i >= 0; i-- {
		oldest[i] = list[i].released
		if i+1 < len(list) {
			oldest[i] = min(oldest[i], oldest[i+1])
		}
	}
	first := 0 // operation after the last answer
	last := int64(0)
	for i, x := range list {
		if !x.answered && i+1 < len(list) {
			continue // it was cut off
		}
		if begin := max(last, oldest[first]); x.end-begin > to-from {
			from, to = begin, x.end
		}
		first, last = i+1, x.end
	}
	return from, to
}
