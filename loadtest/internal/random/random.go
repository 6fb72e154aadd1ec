// Package random draws: numbers, items of a list, and indexes by weight. A seed and a purpose come in;
// the same draws go out each time.
package random

import (
	"hash/fnv"
	"math/rand/v2"
)

// New returns the random numbers of one purpose: the same for the same seed,
// purpose and number.
func New(seed uint64, purpose string, n uint64) *rand.Rand {
	h := fnv.New64a()
	_, _ = h.Write([]byte(purpose)) // never fails
	return rand.New(rand.NewPCG(seed, h.Sum64()^n*0x9e3779b97f4a7c15))
}
