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
func (z *Zipf) Draw(r *rand.Rand) int { return among(r, z.sums) }

// among returns an index by sums of weights.
func among(r *rand.Rand, sums []float64) int {
	x := r.Float64() * sums[len(sums)-1]
	return min(sort.SearchFloat64s(sums, x), len(sums)-1)
}

// A Growing draws from 0 to n-1 as a Zipf does, for an n that may grow.
type Growing struct {
	skew float64
	sums []float64
}

// NewGrowing returns the distribution with an exponent.
func NewGrowing(skew float64) *Growing { return &Growing{skew: skew, sums: []float64{1}} }

// Draw returns one of n numbers.
func (g *Growing) Draw(r *rand.Rand, n int) int {
	for i := len(g.sums); i < n; i++ {
		g.sums = append(g.sums, g.sums[i-1]+math.Pow(float64(i+1), -g.skew))
	}
	return among(r, g.sums[:n])
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
func (p *Picker) Pick(r *rand.Rand) int { return p.Moved(r, 0) }

// Moved returns the number of an item, with other favourites for each turn.
func (p *Picker) Moved(r *rand.Rand, turn int) int {
	if p.zipf == nil {
		return r.IntN(p.n)
	}
	return int(p.order[(int64(p.zipf.Draw(r))+int64(turn)*apart)%int64(p.n)])
}

// apart is how far in the order the favourites of two turns lie apart: a prime, so that all items have their turn.
const apart = 10_007

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
func (w Weights) Draw(r *rand.Rand) int { return among(r, w) }
