package pace

import (
	"slices"
	"time"

	"github.com/polystore/polystore/loadtest/internal/limit"
	"github.com/polystore/polystore/loadtest/internal/operation"
	"github.com/polystore/polystore/loadtest/internal/workload"
	"github.com/polystore/polystore/loadtest/report"
)

// Recovery notes what the last round says of a fault: of the calls that it met, and of those that came until another
// time, when the next fault begins or the round ends. Unknown reports whether a call may have written something although
// it failed.
func (b *Bench) Recovery(f *report.FaultResult, until time.Duration, queries []*workload.Query, unknown func(i int) bool) {
	end := f.At + f.For
	f.Watched = until - end
	for i := range b.Samples {
		s := &b.Samples[i]
		due := b.instant(i)
		ended := due + time.Duration(s.Response())
		bad := s.Outcome == operation.Failed || s.Outcome == operation.Unfinished
		if due < end && ended >= f.At {
			f.Calls++
		}
		switch {
		case bad && ended >= f.At && due < until && (ended < until || s.Outcome == operation.Unfinished):
			if unknown(i) {
				f.Unknown++
			} else {
				f.Failed++
			}
		case !bad && ended >= end && ended < until:
			if took := ended - end; f.FirstSuccess == nil || took < *f.FirstSuccess {
				f.FirstSuccess = &took
			}
		}
	}
	f.Back = b.back(end, until, queries)
}

// Length returns how long the last round was: until its last instant.
func (b *Bench) Length() time.Duration { return b.instant(len(b.Samples)) }

// back returns how long after the end of a fault the response times are under the objectives again, and stay there for
// some windows; nil if they are not, or if there are no objectives. A window without calls tells nothing.
func (b *Bench) back(end, until time.Duration, queries []*workload.Query) *time.Duration {
	if !slices.ContainsFunc(queries, func(q *workload.Query) bool { return len(q.Objectives) > 0 }) {
		return nil
	}
	var since time.Duration
	good := 0
	i := 0
	for i < len(b.Samples) && b.instant(i) < end {
		i++
	}
	for from := end; from+limit.RecoveryWindow <= until && i < len(b.Samples); from += limit.RecoveryWindow {
		first := i
		for i < len(b.Samples) && b.instant(i) < from+limit.RecoveryWindow {
			i++
		}
		switch {
		case first == i:
		case !b.under(first, i, queries):
			good = 0
		default:
			if good++; good == 1 {
				since = from - end
			}
			if good == limit.RecoveryWindows {
				return &since
			}
		}
	}
	return nil
}

// under reports whether operations from one to another met the objectives.
func (b *Bench) under(from, to int, queries []*workload.Query) bool {
	times := make([]spans, len(queries))
	for i := from; i < to; i++ {
		s := &b.Samples[i]
		if s.Outcome == operation.Failed || s.Outcome == operation.Unfinished {
			return false
		}
		times[s.At].add(s)
		for j := range b.parts[i] {
			times[b.parts[i][j].At].add(&b.parts[i][j])
		}
	}
	for at, q := range queries {
		times[at].sort()
		for _, o := range q.Objectives {
			if times[at].mark(o.Percentile, o.Bound).Response > o.Bound {
				return false
			}
		}
	}
	return true
}
