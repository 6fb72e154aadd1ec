package main

import (
	"math"
	"slices"
)

// An estimate is a median with an interval that holds the true one with the
// probability Sure, whatever the distribution: from one order statistic to another.
type estimate struct {
	Median float64 `json:"median"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
	Sure   float64 `json:"sure"`
}

// sure is the least probability that an interval should have.
const sure = 0.95

// estimateOf returns the narrowest interval that is sure enough, or from the least
// to the greatest value when there are too few. There must be one value.
func estimateOf(values []float64) estimate {
	x := slices.Sorted(slices.Values(values))
	n := len(x)
	k := 0
	for k+1 < (n+1)/2 && coverage(n, k+1) >= sure {
		k++
	}
	return estimate{median(x), x[k], x[n-1-k], coverage(n, k)}
}

// median returns the median of sorted values.
func median(x []float64) float64 {
	n := len(x)
	return (x[(n-1)/2] + x[n/2]) / 2
}

// coverage returns the probability that the median lies between the k+1st least
// and the k+1st greatest of n values: that of n coins neither at most k show heads
// nor at most k tails.
func coverage(n, k int) float64 {
	p, term := 0.0, math.Pow(0.5, float64(n))
	for i := range k + 1 {
		p += term
		term *= float64(n-i) / float64(i+1)
	}
	return max(1-2*p, 0)
}

// ratios returns what each sample of a is of the sample of b of the same round.
func ratios(a, b []sample, of func(sample) float64) []float64 {
	list := make([]float64, min(len(a), len(b)))
	for i := range list {
		list[i] = of(a[i]) / of(b[i])
	}
	return list
}

// merged returns the blocks of one phase as one sample: the medians of the times,
// and means of what is counted or summed up.
func merged(list []sample) sample {
	s := sample{P50: medianOf(list, p50), P99: medianOf(list, func(s sample) float64 { return s.P99 })}
	for _, b := range list {
		s.Calls += b.Calls
		s.CPU += b.CPU / float64(len(list))
		s.Allocs += b.Allocs / float64(len(list))
		s.Bytes += b.Bytes / float64(len(list))
		s.Server += b.Server / float64(len(list))
		s.Switches += b.Switches / float64(len(list))
		s.Writes += b.Writes / float64(len(list))
		s.Took += b.Took
	}
	return s
}

// medianOf returns the median of one figure.
func medianOf(samples []sample, of func(sample) float64) float64 {
	var list []float64
	for _, s := range samples {
		list = append(list, of(s))
	}
	slices.Sort(list)
	return median(list)
}
