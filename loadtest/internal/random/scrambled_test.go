package random

import (
	"slices"
	"testing"
)

// Numbers are scattered as YCSB scatters its keys.
func TestHash(t *testing.T) {
	for n, want := range []int64{6284781860667377211, 8517097267634966620, 1820151046732198393} {
		if got := Hash(int64(n)); got != want {
			t.Errorf("Hash(%d) is %d, want %d", n, got, want)
		}
	}
}

// The skew is that of YCSB, which is far flatter than that of the true zipf distribution: 79 % for the fifth of a
// thousand that is drawn most.
func TestScrambled(t *testing.T) {
	const n, draws = 1000, 200_000
	r, hits := New(1, "test", 0), make([]int, n)
	for range draws {
		hits[Scrambled(r, n)]++
	}
	first := topShare(hits, 1, draws)
	if fifth := topShare(hits, n/5, draws); first < 0.037 || first > 0.041 || fifth < 0.38 || fifth > 0.41 {
		t.Errorf("the favourite has %.4f, a fifth %.4f, want 0.0388 and 0.391", first, fifth)
	}
}

// topShare returns which share of the draws the most frequent ones have.
func topShare(hits []int, n, draws int) float64 {
	sorted := slices.Clone(hits)
	slices.Sort(sorted)
	sum := 0
	for _, h := range sorted[len(sorted)-n:] {
		sum += h
	}
	return float64(sum) / float64(draws)
}

// A distribution that grows is, at each size, the zipf distribution of that size.
func TestGrowing(t *testing.T) {
	g := NewGrowing(0.99)
	for _, n := range []int{1, 10, 1000, 10} {
		a, b, z := New(1, "test", 0), New(1, "test", 0), NewZipf(n, 0.99)
		for range 1000 {
			if x, y := g.Draw(a, n), z.Draw(b); x != y {
				t.Fatalf("of %d: %d, want %d", n, x, y)
			}
		}
	}
}

// With each turn other items are the favourites.
func TestFavouritesMove(t *testing.T) {
	const n, draws = 1000, 20_000
	p := NewPicker(n, 0.99, 1, "test")
	seen := map[int]bool{}
	for turn := range 20 {
		r, hits := New(1, "test", 0), make([]int, n)
		for range draws {
			hits[p.Moved(r, turn)]++
		}
		most := slices.Index(hits, slices.Max(hits))
		if seen[most] {
			t.Errorf("item %d is the favourite of two turns", most)
		}
		seen[most] = true
		if share := topShare(hits, 1, draws); share < 0.12 || share > 0.14 {
			t.Errorf("turn %d: the favourite has %.3f, want 0.129", turn, share)
		}
	}
}
