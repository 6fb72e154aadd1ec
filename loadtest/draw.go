package loadtest

import (
	"hash/fnv"
	"math"
	"math/rand/v2"
	"sort"
)

// newRand returns the random numbers of one purpose: the same for the same seed,
// purpose and number.
func newRand(seed uint64, purpose string, n uint64) *rand.Rand {
	h := fnv.New64a()
	_, _ = h.Write([]byte(purpose)) // never fails
	return rand.New(rand.NewPCG(seed, h.Sum64()^n*0x9e3779b97f4a7c15))
}

// A zipf draws numbers from 0 to n-1 of which the number i has weight 1/(i+1)^s:
// the true zipf distribution, by its table of sums.
type zipf struct{ sums []float64 }

func newZipf(n int, s float64) *zipf {
	z := &zipf{sums: make([]float64, n)}
	sum := 0.0
	for i := range z.sums {
		sum += math.Pow(float64(i+1), -s)
		z.sums[i] = sum
	}
	return z
}

func (z *zipf) draw(r *rand.Rand) int {
	x := r.Float64() * z.sums[len(z.sums)-1]
	return min(sort.SearchFloat64s(z.sums, x), len(z.sums)-1)
}

// A picker picks items of a list, each alike or some much more often than others.
type picker struct {
	n     int
	zipf  *zipf
	order []int32 // by rank: the item, so that the favourites are not neighbours
}

// newPicker returns a picker of n items. Skew 0 is uniform.
func newPicker(n int, skew float64, seed uint64, purpose string) *picker {
	p := &picker{n: n}
	if skew == 0 || n < 2 {
		return p
	}
	p.zipf = newZipf(n, skew)
	p.order = make([]int32, n)
	for i := range p.order {
		p.order[i] = int32(i)
	}
	newRand(seed, "order of "+purpose, 0).Shuffle(n, func(i, j int) { p.order[i], p.order[j] = p.order[j], p.order[i] })
	return p
}

func (p *picker) pick(r *rand.Rand) int {
	if p.zipf == nil {
		return r.IntN(p.n)
	}
	return int(p.order[p.zipf.draw(r)])
}

// weights draws indexes by their weights.
type weights []float64 // sums

func newWeights(each []float64) weights {
	w := make(weights, len(each))
	sum := 0.0
	for i, x := range each {
		sum += x
		w[i] = sum
	}
	return w
}

func (w weights) draw(r *rand.Rand) int {
	return min(sort.SearchFloat64s(w, r.Float64()*w[len(w)-1]), len(w)-1)
}
