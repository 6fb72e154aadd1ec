package tree

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// Places that are inserted anywhere are in the order of their list.
func TestPlacesAnywhere(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var list []string
	for range 20_000 {
		i := rng.IntN(len(list) + 1)
		after, before := "", ""
		if i > 0 {
			after = list[i-1]
		}
		if i < len(list) {
			before = list[i]
		}
		p := between(after, before)
		if !isPlace(p) || p <= after || before != "" && p >= before {
			t.Fatalf("between %q and %q: %q", after, before, p)
		}
		list = slices.Insert(list, i, p)
	}
}

// Places at an end stay short, and those in one gap grow by a byte for about six of them.
func TestPlacesGrow(t *testing.T) {
	last, first, low, bytes := "", "", between("", ""), 0
	high := between(low, "")
	for range 100_000 {
		last, first = between(last, ""), between("", first)
		bytes += len(last)
	}
	for range 600 {
		low = between(low, high)
	}
	if len(last) > 5 || len(first) > 5 || bytes/100_000 > 4 || len(low) > 130 || len(low) < 60 {
		t.Errorf("%q and %q after 100,000, %d bytes in all, %d bytes after 600 in one gap", last, first, bytes, len(low))
	}
}

// The whole parts at their ends.
func TestPlacesAtTheEnds(t *testing.T) {
	for _, tt := range []struct{ after, before, want string }{
		{"", "", "a0"},
		{"a0", "", "a1"},
		{"az", "", "b00"},
		{"bzz", "", "c000"},
		{"", "a0", "Zz"},
		{"", "Z0", "Yzz"},
		{"Zz", "", "a0"},
		{"Yzz", "", "Z0"},
		{"a0", "a1", "a0V"},
		{"a0", "a0V", "a0F"},
		{"a0", "a01", "a00V"},
		{"", "a0V", "a0"},
		{"z" + strings.Repeat("z", 26), "", "z" + strings.Repeat("z", 26) + "V"},
		{"", "A" + strings.Repeat("0", 26), ""},
		{"a1", "a0", ""},
		{"a1", "a1", ""},
		{"a", "", ""},
		{"a0 ", "", ""},
		{"a00", "", ""},
		{"5", "", ""},
	} {
		if got := between(tt.after, tt.before); got != tt.want {
			t.Errorf("between %q and %q: %q, want %q", tt.after, tt.before, got, tt.want)
		}
	}
}
