package report

import (
	"math"
	"math/rand/v2"
	"slices"

	"golang.org/x/perf/benchmath"

	"github.com/polystore/polystore/loadtest/internal/limit"
)

const (
	alpha       = 0.05  // how often one of the figures of a run may seem to differ from another run's
	alphaBetter = 0.001 // how often a run may call a candidate better that is not
	leastEffect = 0.05  // a smaller difference makes none in practice
)

// A Ratio compares two candidates, or a candidate in two runs, in one figure by their rounds: how many times
// the first one's figure is the second's.
type Ratio struct {
	Times    float64 `json:"times"` // Hodges-Lehmann estimate
	Low      float64 `json:"low"`   // bounds of 95 % confidence, by bootstrap
	High     float64 `json:"high"`
	P        float64 `json:"p"`        // Mann-Whitney between two runs; the lesser of two t-tests, twice, in one run
	Adjusted float64 `json:"adjusted"` // Holm, over all comparisons made together
	Rounds   [2]int  `json:"rounds"`
	Against  int     `json:"rounds_against,omitempty"` // in one run: rounds that say the opposite
}

// clear reports whether the first is greater or less by enough to matter, and
// not by chance.
func (r Ratio) clear() bool {
	return r.Rounds[0] >= limit.LeastRounds && r.Rounds[1] >= limit.LeastRounds && r.Adjusted <= alpha &&
		(r.Low > 1+leastEffect || r.High < 1-leastEffect || math.Abs(r.Times-1) > leastEffect && (r.Low > 1 || r.High < 1))
}

// compareRounds returns how many times a is b.
func compareRounds(a, b []float64) Ratio {
	r := Ratio{Times: math.NaN(), Low: math.NaN(), High: math.NaN(), P: 1, Adjusted: 1, Rounds: [2]int{len(a), len(b)}}
	la, lb := logs(a), logs(b)
	if len(la) == 0 || len(lb) == 0 {
		return r
	}
	r.Times = math.Exp(shift(la, lb))
	r.Low, r.High = bootstrap(la, lb)
	x := benchmath.NewSample(slices.Clone(la), &benchmath.DefaultThresholds)
	y := benchmath.NewSample(slices.Clone(lb), &benchmath.DefaultThresholds)
	r.P = benchmath.AssumeNothing.Compare(x, y).P
	r.Adjusted = r.P
	return r
}

func logs(list []float64) []float64 {
	var out []float64
	for _, x := range list {
		if x > 0 {
			out = append(out, math.Log(x))
		}
	}
	return out
}

// shift returns the median of all differences between the two samples.
func shift(a, b []float64) float64 {
	diffs := make([]float64, 0, len(a)*len(b))
	for _, x := range a {
		for _, y := range b {
			diffs = append(diffs, x-y)
		}
	}
	return median(diffs)
}

func median(list []float64) float64 {
	if len(list) == 0 {
		return math.NaN()
	}
	list = slices.Clone(list)
	slices.Sort(list)
	mid := len(list) / 2
	if len(list)%2 == 1 {
		return list[mid]
	}
	return (list[mid-1] + list[mid]) / 2
}

const resamples = 2000

// bootstrap returns the bounds of 95 % confidence of exp(shift).
func bootstrap(a, b []float64) (low, high float64) {
	r := rand.New(rand.NewPCG(1, 2)) // the same data give the same bounds
	shifts := make([]float64, resamples)
	ra, rb := make([]float64, len(a)), make([]float64, len(b))
	for i := range shifts {
		shifts[i] = shift(resample(r, ra, a), resample(r, rb, b))
	}
	slices.Sort(shifts)
	return math.Exp(shifts[resamples*25/1000]), math.Exp(shifts[resamples*975/1000-1])
}

func resample(r *rand.Rand, dst, src []float64) []float64 {
	for i := range dst {
		dst[i] = src[r.IntN(len(src))]
	}
	return dst
}

// holm adjusts the p-values of comparisons that are made together, so that a
// difference is claimed wrongly in 5 % of the runs at most, however many there
// are.
func holm(list []*Ratio) {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b *Ratio) int {
		switch {
		case a.P < b.P:
			return -1
		case a.P > b.P:
			return 1
		}
		return 0
	})
	most := 0.0
	for i, r := range list {
		most = max(most, min(1, r.P*float64(len(list)-i)))
		r.Adjusted = most
	}
}
