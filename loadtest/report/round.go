package report

import (
	"time"

	"github.com/polystore/polystore/loadtest/internal/limit"
)

func (r *RoundResult) least() int { return max(limit.LeastBacklog, (r.Ops+99)/100) }

// behind reports whether the candidate had not kept up at the end of the round: operations
// waited, or were cut off.
func (r *RoundResult) behind() bool { return max(r.Backlog, r.Unfinished) >= r.least() }

// late reports whether the candidate was behind and the clock may be the cause.
func (r *RoundResult) late() bool {
	return r.behind() && max(r.Backlog, r.Unfinished)-r.WithinLag < r.least()
}

func (r *RoundResult) stalled() bool { return r.Stall > 0 }

// saturated reports whether the candidate was behind by its own fault: operations waited
// because all slots were busy, and more and more of them. A stall is another matter.
func (r *RoundResult) saturated() bool {
	return r.behind() && !r.late() && !r.stalled() && r.Busy >= r.Slots && r.Backlog > r.HalfWaited
}

// cpuPerOp returns the processor time of an operation that ended.
func (r *RoundResult) cpuPerOp() float64 {
	return float64(r.CPU+r.ServerCPU) / float64(max(r.Ops-r.Unfinished, 1))
}

// PerOp returns the processor time of an operation that ended.
func (r *RoundResult) PerOp() time.Duration { return time.Duration(r.cpuPerOp()) }

// workPerOp returns the time from the release of an operation to its answer: the median of each query.
func (r *RoundResult) workPerOp() float64 {
	return r.perOp(func(q *RoundQuery) time.Duration { return q.Work })
}

// meanPerOp returns the mean of these times, which calls that take very long are in, too; 0 where it is not known.
func (r *RoundResult) meanPerOp() float64 {
	return r.perOp(func(q *RoundQuery) time.Duration { return q.WorkMean })
}

func (r *RoundResult) perOp(of func(*RoundQuery) time.Duration) float64 {
	sum, n := 0.0, int64(0)
	for i := range r.Queries {
		q := &r.Queries[i]
		sum += float64(of(q)) * float64(q.Calls)
		n += q.Calls
	}
	return sum / float64(max(n, 1))
}

// othersShare returns how many processors other programs used in the round.
func (r *RoundResult) othersShare() float64 { return float64(r.Others) / float64(max(r.Took, 1)) }

// unanswered reports whether a few calls were not answered, although the candidate kept up.
func (r *RoundResult) unanswered() bool { return r.Unfinished > 0 && !r.behind() }

// count returns how many rounds are so.
func count(rounds []RoundResult, are func(*RoundResult) bool) int {
	n := 0
	for i := range rounds {
		if are(&rounds[i]) {
			n++
		}
	}
	return n
}

// Hopeless reports whether more rounds of a candidate would only take time.
func Hopeless(rounds []RoundResult) bool {
	return len(rounds) >= limit.LeastRounds && count(rounds, (*RoundResult).saturated) == len(rounds)
}
