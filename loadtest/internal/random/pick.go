package random

import (
	"math"
	"math/rand/v2"
	"sort"
)

// A Zipf draws numbers from 0 to n-1 of which the number i has weight 1/(i+1)^s:
// the true zipf distribution, by its table of sums.
type Zipf struct{ sums []float64 }

// NewZipf returns the distribution of n numbers with an exponent.
func NewZipf(n int, s float64) *Zipf {
	z := &Zipf{sums: make([]float64, n)}
	sum := 0.0
	for i := range z.sums {
		sum += math.Pow(float64(i+1), -s)
		z.sums[i] = sum
	}
	return z
}

// Draw returns a number.
func (z *Zipf) Draw(r *rand.Rand) int {
	x := r.Float64() * z.sums[len(z.sums)-1]
	return min(sort.SearchFloat64s(z.sums, x), len(z.sums)-1)
}

// A Picker picks items of a list, each alike or some much more often than others.
type Picker struct {
	n     int
	zipf  *Zipf
	order []int32 // by rank: the item, so that the favourites are not neighbours
}

// NewPicker returns a picker of n items. Skew 0 is uniform.
func NewPicker(n int, skew float64, seed uint64, purpose string) *Picker {
	p := &Picker{n: n}
	if skew == 0 || n < 2 {
		return p
	}
	p.zipf = NewZipf(n, skew)
	p.order = make([]int32, n)
	for i := range p.order {
		p.order[i] = int32(i)
	}
	New(seed, "order of "+purpose, 0).Shuffle(n, func(i, j int) { p.order[i], p.order[j] = p.order[j], p.order[i] })
	return p
}

// Pick returns the number of an item.
func (p *Picker) Pick(r *rand.Rand) int {
	if p.zipf == nil {
		return r.IntN(p.n)
	}
	return int(p.order[p.zipf.Draw(r)])
}

// Weights draws indexes by their weights.
type Weights []float64 // sums

// NewWeights returns what draws indexes that have these weights.
func NewWeights(each []float64) Weights {
	w := make(Weights, len(each))
	sum := 0.0
	for i, x := range each {
		sum += x
		w[i] = sum
	}
	return w
}

// Draw returns an index.
func (w Weights) Draw(r *rand.Rand) int {
	return min(sort.SearchFloat64s(w, r.Float64()*w[len(w)-1]), len(w)-1)
}
