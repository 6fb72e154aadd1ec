package generate

import (
	"encoding/binary"
	"math"

	"github.com/polystore/polystore/loadtest/internal/random"
)

// Hashed scatters the numbers of another generator: neighbours become numbers far from each other.
type Hashed struct{ Of Generator }

// Value returns the number that another one becomes.
func (g Hashed) Value(m *Making) any {
	n, _ := g.Of.Value(m).(int64)
	return random.Hash(n)
}

// Lognormal draws sizes of which the logarithms have a normal distribution: most are near the median, and some are
// many times as large.
type Lognormal struct {
	Mu, Sigma float64
	Low, High int64
}

// Value returns a size.
func (g Lognormal) Value(m *Making) any {
	x := math.Exp(g.Mu + g.Sigma*m.Rand.NormFloat64())
	return min(max(int64(math.Round(min(x, float64(g.High)))), g.Low), g.High)
}

// A Payload is random bytes, so that nothing compresses them, or a shorter piece of such, again and again.
type Payload struct {
	Size  Generator // of int64
	Ratio float64   // of all bytes to those that differ; 1 compresses to nothing less
}

// Value returns the bytes.
func (g Payload) Value(m *Making) any { return g.fill(m) }

func (g Payload) fill(m *Making) []byte {
	size, _ := g.Size.Value(m).(int64)
	all := make([]byte, size)
	own := all
	if g.Ratio > 1 {
		own = all[:min(max(int(float64(size)/g.Ratio), 1), len(all))]
	}
	var word [8]byte
	for i := 0; i < len(own); i += len(word) {
		binary.LittleEndian.PutUint64(word[:], m.Rand.Uint64())
		copy(own[i:], word[:])
	}
	for n := len(own); n > 0 && n < len(all); n *= 2 {
		copy(all[n:], all[:n])
	}
	return all
}

// letters are what random text is made of.
const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

// Text is a payload in letters, digits and two marks. A compressor that counts characters takes a quarter off.
type Text struct{ Payload }

// Value returns the text.
func (g Text) Value(m *Making) any {
	all := g.fill(m)
	for i, b := range all {
		all[i] = letters[int(b)%len(letters)]
	}
	return string(all)
}
