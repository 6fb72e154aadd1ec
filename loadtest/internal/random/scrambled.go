package random

import (
	"math"
	"math/rand/v2"
)

// Hash returns a number for a number, as YCSB scatters its keys: FNV-1a of 64 bits over the eight bytes, the lowest
// first, without the sign.
func Hash(n int64) int64 {
	h := uint64(14695981039346656037)
	for range 8 {
		h = (h ^ uint64(n)&0xff) * 1099511628211
		n >>= 8
	}
	if x := int64(h); x < 0 {
		return -x
	}
	return int64(h)
}

// The zipfian of YCSB: the approximation of Gray et al. for the exponent 0.99, over ten thousand million numbers
// whatever there is.
const (
	theta = 0.99
	items = 1e10
	zetaN = 26.46902820178302 // the sum of 1/i^theta over the items
)

var (
	second = math.Pow(0.5, theta)
	alpha  = 1 / (1 - theta)
	eta    = (1 - math.Pow(2/items, 1-theta)) / (1 - (1+second)/zetaN)
)

// Scrambled draws one of n numbers as YCSB does: a zipfian number, hashed. The most frequent one has 3.8 %, however
// many there are.
func Scrambled(r *rand.Rand, n int) int {
	u := r.Float64()
	x := int64(0)
	switch z := u * zetaN; {
	case z < 1:
	case z < 1+second:
		x = 1
	default:
		x = int64(items * math.Pow(eta*u-eta+1, alpha))
	}
	return int(Hash(x) % int64(n))
}
