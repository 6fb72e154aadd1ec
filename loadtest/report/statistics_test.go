package report

import (
	"math"
	"math/rand/v2"
	"testing"
)

func around(r *rand.Rand, center, noise float64, n int) []float64 {
	list := make([]float64, n)
	for i := range list {
		list[i] = center * (1 + noise*(2*r.Float64()-1))
	}
	return list
}

func TestCompareRounds(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	base := around(r, 100, 0.05, 6)
	tests := []struct {
		name  string
		other []float64
		times float64
		clear bool
	}{
		{"twice as much", around(r, 200, 0.05, 6), 2, true},
		{"half", around(r, 50, 0.05, 6), 0.5, true},
		{"the same", around(r, 100, 0.05, 6), 1, false},
		{"2 % more, told from chance and of no use", []float64{102, 102, 102, 102, 102, 102}, 1.02, false},
		{"too few rounds", around(r, 300, 0.01, 3), 3, false},
		{"much noise", []float64{50, 400, 90, 110, 80, 130}, 1, false},
	}
	for _, tt := range tests {
		got := compareRounds(tt.other, base)
		if got.clear() != tt.clear {
			t.Errorf("%s: clear is %v, want %v: %+v", tt.name, got.clear(), tt.clear, got)
		}
		if tt.clear && (math.Abs(got.Times/tt.times-1) > 0.1 || got.Low > got.Times || got.High < got.Times) {
			t.Errorf("%s: %+v, want about %v times", tt.name, got, tt.times)
		}
	}
	if got := compareRounds(nil, base); got.clear() || got.P != 1 {
		t.Errorf("no rounds: %+v", got)
	}
}

// Of two results that are the same a difference is claimed in few runs only.
func TestNoDifferenceIsSeldomClaimed(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	claimed := 0
	const runs = 200
	for range runs {
		if compareRounds(around(r, 100, 0.2, 6), around(r, 100, 0.2, 6)).clear() {
			claimed++
		}
	}
	if claimed > runs*8/100 {
		t.Errorf("claimed in %d of %d runs", claimed, runs)
	}
}

func TestHolm(t *testing.T) {
	list := []*Ratio{{P: 0.01}, {P: 0.04}, {P: 0.03}}
	holm(list)
	for i, want := range []float64{0.03, 0.06, 0.06} {
		if math.Abs(list[i].Adjusted-want) > 1e-12 {
			t.Errorf("p %v adjusted to %v, want %v", list[i].P, list[i].Adjusted, want)
		}
	}
}

func TestMedian(t *testing.T) {
	if m := median([]float64{3, 1, 2}); m != 2 {
		t.Errorf("median of 3, 1, 2 is %v", m)
	}
	if m := median([]float64{4, 1, 2, 3}); m != 2.5 {
		t.Errorf("median of 4, 1, 2, 3 is %v", m)
	}
}
