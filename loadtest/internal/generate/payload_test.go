package generate

import (
	"bytes"
	"compress/flate"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/polystore/polystore/loadtest/internal/random"
)

func deflated(t *testing.T, text []byte) int {
	t.Helper()
	var b bytes.Buffer
	z, err := flate.NewWriter(&b, flate.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := z.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Len()
}

// A payload compresses by its ratio, or not at all; a text by a quarter more, as its bytes have 6 bits each.
func TestPayloadsCompress(t *testing.T) {
	const size = 20_000
	m := &Making{Rand: random.New(1, "test", 0)}
	for _, ratio := range []float64{0, 1, 2, 4} {
		p := Payload{Constant{int64(size)}, ratio}
		want := size / max(ratio, 1)
		value, _ := p.Value(m).([]byte)
		if got := deflated(t, value); len(value) != size || math.Abs(float64(got)-want) > 0.03*size {
			t.Errorf("ratio %v: %d bytes become %d, want %v", ratio, len(value), got, want)
		}
		text, _ := Text{p}.Value(m).(string)
		if got := deflated(t, []byte(text)); len(text) != size || math.Abs(float64(got)-0.75*want) > 0.03*size {
			t.Errorf("ratio %v: a text of %d bytes becomes %d, want %v", ratio, len(text), got, 0.75*want)
		}
	}
	for size := range int64(20) {
		for _, ratio := range []float64{1, 3, 100} {
			if got := (Payload{Constant{size}, ratio}).fill(m); len(got) != int(size) {
				t.Errorf("%d bytes, want %d", len(got), size)
			}
		}
	}
}

// Half of the sizes are below the median, and bounds hold.
func TestLognormal(t *testing.T) {
	m := &Making{Rand: random.New(1, "test", 0)}
	g := Lognormal{Mu: math.Log(300), Sigma: 1, Low: 50, High: 5000}
	var all []int64
	for range 10_001 {
		all = append(all, g.Value(m).(int64))
	}
	slices.Sort(all)
	if low, mid, high, p := all[0], all[5000], all[10_000], all[8413]; low != 50 || high != 5000 || mid < 285 || mid > 315 || p < 760 || p > 870 {
		t.Error(fmt.Sprint("least, median, one deviation above, greatest: ", low, mid, p, high, "; want 50, 300, 815, 5000"))
	}
}
