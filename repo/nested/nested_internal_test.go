package nested

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/polystore/polystore/repo"
)

// Different values, numbers and fields have different terms.
func FuzzTerm(f *testing.F) {
	f.Add("a", 0, "", "a", 1, "")
	f.Add("a", 0, "1=x", "a", 1, "x")
	f.Add("a", 1, "2=x", "a", 12, "x")
	f.Add("a", 0, "#x", "a", 0, "x")
	f.Add("a", 0, "\xff", "a", 0, "\xfe")
	f.Add("skill", 0, "=b", "skill", 0, "b")
	f.Fuzz(func(t *testing.T, field1 string, number1 int, value1, field2 string, number2 int, value2 string) {
		if !fieldName.MatchString(field1) || !fieldName.MatchString(field2) || number1 < 0 || number2 < 0 {
			return
		}
		same := field1 == field2 && number1 == number2 && value1 == value2
		term1, term2 := termOf(field1, number1, value1), termOf(field2, number2, value2)
		if (term1 == term2) != same {
			t.Errorf("%q and %q", term1, term2)
		}
	})
}

// A key is what its text says, and no other text says it.
func FuzzOwner(f *testing.F) {
	sh := &shape{keys: []keyField{{mark: textMark}, {mark: integerMark}, {mark: boolMark}, {mark: textMark}}}
	for _, owner := range []string{"sa/i5/btrue/sb", "sa~1b/i-5/bfalse/s~0", "s/i05/bx/s", "s~/i/b/s", "s/i9223372036854775808/btrue/s", "", "////"} {
		f.Add(owner)
	}
	f.Fuzz(func(t *testing.T, owner string) {
		key, ok := sh.keyOf(owner)
		if !ok {
			return
		}
		b := "false"
		if key[2].(bool) {
			b = "true"
		}
		n := repo.Key{key[1]}.String()
		if again := "s" + partEscaper.Replace(key[0].(string)) + "/i" + n + "/b" + b + "/s" + partEscaper.Replace(key[3].(string)); again != owner {
			t.Errorf("%q became %q", owner, again)
		}
	})
}

// Positions survive encoding, and rubbish is never taken for positions without end.
func FuzzPlaces(f *testing.F) {
	f.Add([]byte{placesFollow, 0, 0, 0, 1, 2, 0, 3})
	f.Add([]byte{placesFollow, 0, 0, 0, 1, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1})
	f.Add([]byte{placesFollow, 0})
	f.Add([]byte{placesLeftOut})
	f.Fuzz(func(t *testing.T, b []byte) {
		at, _ := decodePlaces(b)
		n := 0
		for _, list := range at {
			if n += len(list); !slices.IsSorted(list) || n > len(b) {
				t.Errorf("%v", at)
			}
		}
	})
}

func TestPlaces(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	leftOut := 0
	for range 2000 {
		terms, at := []string{}, map[string][]int{}
		for i := range rng.IntN(20) {
			term := termOf("f", 0, string(rune('a'+i)))
			terms = append(terms, term)
			for p := rng.IntN(300); len(at[term]) == 0 || rng.IntN(40) > 0; p += 1 + rng.IntN(300) {
				at[term] = append(at[term], p)
			}
		}
		got, ok := decodePlaces(encodePlaces(terms, at))
		if !ok {
			leftOut++
			continue
		}
		for _, term := range terms {
			if !slices.Equal(got[hashOf(term)], at[term]) {
				t.Fatalf("%s: got %v, want %v", term, got[hashOf(term)], at[term])
			}
		}
	}
	if leftOut == 0 || leftOut == 2000 {
		t.Errorf("%d of 2000 were left out", leftOut)
	}
	// Two terms with one hash: the row does not tell, so the record decides.
	b := encodePlaces([]string{"a=x"}, map[string][]int{"a=x": {1}})
	if _, ok := decodePlaces(append(b, b[1:]...)); ok {
		t.Error("two terms of one hash are told")
	}
}

// within is what it says, by looking at all choices.
func TestWithin(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 5000 {
		lists := make([][]int, 1+rng.IntN(3))
		for i := range lists {
			for range rng.IntN(4) {
				lists[i] = append(lists[i], rng.IntN(12))
			}
			slices.Sort(lists[i])
		}
		distance := rng.IntN(4)
		if got := within(lists, distance); got != naively(lists, distance, nil) {
			t.Fatalf("%v within %d: %v", lists, distance, got)
		}
	}
}

func naively(lists [][]int, distance int, chosen []int) bool {
	if len(lists) == 0 {
		return slices.Max(chosen)-slices.Min(chosen) <= distance
	}
	return slices.ContainsFunc(lists[0], func(at int) bool {
		return naively(lists[1:], distance, append(slices.Clip(chosen), at))
	})
}
