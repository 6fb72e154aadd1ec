package report

import (
	"math"

	"github.com/aclements/go-moremath/stats"

	"github.com/polystore/polystore/loadtest/internal/limit"
)

// compareCandidates returns how many times a is b, of two candidates of one run. Their rounds were interleaved, so the
// i-th rounds of both had the same machine.
func compareCandidates(a, b []float64) Ratio {
	r := compareRounds(a, b)
	if math.IsNaN(r.Times) {
		return r
	}
	r.P, r.Against = byChance(a, b)
	r.Adjusted = r.P
	return r
}

// byChance returns how often chance makes two candidates differ as much, and how many pairs of rounds say the opposite of
// most. What disturbs both in one round is not in the paired test; outside of such disturbance the other test sees more.
// The lesser of two tests counts twice.
func byChance(a, b []float64) (p float64, against int) {
	la, lb := logs(a), logs(b)
	t, err := stats.TwoSampleWelchTTest(stats.Sample{Xs: la}, stats.Sample{Xs: lb}, stats.LocationDiffers)
	p = chance(t, err, la, lb)
	la, lb = pairs(a, b)
	if len(la) < limit.LeastRounds {
		return p, len(la)
	}
	t, err = stats.PairedTTest(la, lb, 0, stats.LocationDiffers)
	paired := chance(t, err, la, lb)
	more, less := 0, 0
	for i := range la {
		if la[i] >= lb[i] {
			more++
		}
		if la[i] <= lb[i] {
			less++
		}
	}
	return min(1, 2*min(p, paired)), min(more, less)
}

// chance returns the p of a test. Where nothing varies there is no test, and two samples are alike or certainly not.
func chance(t *stats.TTestResult, err error, a, b []float64) float64 {
	switch {
	case err == nil:
		return t.P
	case min(len(a), len(b)) < limit.LeastRounds || shift(a, b) == 0:
		return 1
	}
	return 0
}

// pairs returns the logarithms of both in those rounds in which both have one.
func pairs(a, b []float64) (la, lb []float64) {
	for i := range min(len(a), len(b)) {
		if a[i] > 0 && b[i] > 0 {
			la, lb = append(la, math.Log(a[i])), append(lb, math.Log(b[i]))
		}
	}
	return la, lb
}

// decides reports whether a candidate of a run is better than another: the difference is more than leastEffect by the
// whole interval, chance gives it once in a thousand runs, and the rounds agree.
func (r Ratio) decides() bool {
	n := min(r.Rounds[0], r.Rounds[1])
	return n >= limit.LeastRounds && r.Adjusted <= alphaBetter && agree(r.Against, n) && (r.Low > 1+leastEffect || r.High < 1-leastEffect)
}

// same reports whether two candidates of a run differ by too little to matter: by the whole interval.
func (r Ratio) same() bool {
	return min(r.Rounds[0], r.Rounds[1]) >= limit.LeastRounds && r.Low >= 1-leastEffect && r.High <= 1+leastEffect
}

// agree reports whether so few of n rounds say the opposite that chance seldom gives as few (sign test), or none.
func agree(against, n int) bool {
	sum, each := 0.0, math.Pow(0.5, float64(n))
	for i := range against + 1 {
		sum += each
		each *= float64(n-i) / float64(i+1)
	}
	return against == 0 || 2*sum <= alpha
}
