package random

import (
	"math"
	"testing"
)

func TestZipf(t *testing.T) {
	const n, draws = 1000, 200_000
	r := New(1, "test", 0)
	hits := make([]int, n)
	p := NewPicker(n, 0.99, 1, "test")
	for range draws {
		hits[p.Pick(r)]++
	}
	most, second := 0, 0
	for _, h := range hits {
		if h > most {
			most, second = h, most
		} else if h > second {
			second = h
		}
	}
	// With exponent 0.99 over 1000 items the first has 12.9 % and twice the second's.
	if share := float64(most) / draws; math.Abs(share-0.129) > 0.01 {
		t.Errorf("the favourite has %.3f of the draws, want 0.129", share)
	}
	if ratio := float64(most) / float64(second); math.Abs(ratio-math.Pow(2, 0.99)) > 0.2 {
		t.Errorf("the favourite is drawn %.2f times as often as the second, want 1.99", ratio)
	}
	if hits[0] == most && hits[1] == second {
		t.Error("favourites are the first records of the data")
	}
	uniform := NewPicker(n, 0, 1, "test")
	worst := 0
	clear(hits)
	for range draws {
		i := uniform.Pick(r)
		hits[i]++
		worst = max(worst, hits[i])
	}
	if worst > 2*draws/n {
		t.Errorf("uniform draws hit one item %d times of %d", worst, draws)
	}
}
