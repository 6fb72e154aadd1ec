package oracle

import (
	"testing"

	"github.com/polystore/polystore/loadtest/internal/workload"
)

// What a read may find lies between the last write that was acknowledged before it and the last that was issued before
// its end.
func TestRegister(t *testing.T) {
	r := newRegister("loaded")
	r.set("a", 10, 20)
	r.set("b", 15, 30)    // beside a
	r.set("c", 40, 50)    // behind both
	r.set("d", 60, never) // nobody knows whether it was done
	for _, tt := range []struct {
		v          string
		begin, end int64
		want       bool
	}{
		{"loaded", 0, 5, true}, {"a", 0, 5, false}, {"loaded", 12, 14, true}, {"a", 12, 14, true},
		{"loaded", 25, 26, false}, {"a", 35, 36, true}, {"b", 35, 36, true}, {"c", 35, 36, false},
		{"b", 45, 46, true}, {"b", 55, 56, false}, {"c", 55, 56, true}, {"c", 70, 71, true}, {"d", 70, 71, true}, {"d", 55, 59, false},
	} {
		if got := r.allows(tt.v, tt.begin, tt.end); got != tt.want {
			t.Errorf("%s from %d to %d: %v", tt.v, tt.begin, tt.end, got)
		}
	}
	r.settle(100)
	if r.allows("a", 110, 111) || !r.allows("c", 110, 111) || !r.allows("d", 110, 111) {
		t.Errorf("settled: %v", r.sets)
	}
}

// What a list that was pushed to has during a read is not one value, also when all is settled.
func TestListIsNotOneValue(t *testing.T) {
	r := newRegister([]any{"a"})
	r.push(&workload.Push{Cap: 1}, "b", 10, 20)
	for range 2 {
		if v, ok := r.only(30, 31); ok {
			t.Errorf("it is %v all the time", v)
		}
		r.settle(25)
	}
}

// Only what no write touches during a read is one value.
func TestOnlyOneValue(t *testing.T) {
	r := newRegister(true)
	r.set(false, 10, 20)
	for _, tt := range []struct {
		begin, end int64
		v          any
		ok         bool
	}{{1, 9, true, true}, {5, 15, nil, false}, {15, 25, nil, false}, {25, 30, false, true}} {
		if v, ok := r.only(tt.begin, tt.end); v != tt.v || ok != tt.ok {
			t.Errorf("from %d to %d: %v, %v", tt.begin, tt.end, v, ok)
		}
	}
	r.set(true, 40, never)
	if _, ok := r.only(50, 60); ok {
		t.Error("a write of unknown outcome leaves one value")
	}
	forgotten := newRegister(unknown{})
	if _, ok := forgotten.only(1, 2); ok {
		t.Error("what was forgotten is one value")
	}
}

func TestRegisterOfACounter(t *testing.T) {
	r := newRegister(int64(5))
	r.add(1, 10, 20)
	r.add(2, 15, 30)
	r.add(-4, 25, never)
	for range 2 {
		for n, want := range map[int64]bool{3: false, 4: true, 6: true, 8: true, 9: false} {
			if r.allows(n, 40, 41) != want {
				t.Errorf("%d: %v", n, !want)
			}
		}
		r.settle(35)
	}
	r.set(int64(0), 50, 60)
	if !r.allows(int64(77), 70, 71) {
		t.Error("of what is set and added to nothing is known")
	}
}

func TestRegisterOfAList(t *testing.T) {
	r := newRegister([]any{"x"})
	r.push(&workload.Push{Cap: 2}, "a", 10, 20)
	for range 2 {
		if !r.allows([]any{"x", "a"}, 30, 31) || r.allows([]any{"x"}, 30, 31) || r.allows(nil, 30, 31) {
			t.Error("what was acknowledged is there")
		}
		r.settle(25)
	}
	r.push(&workload.Push{Cap: 2, Front: true}, "b", 40, 50)
	if !r.allows([]any{"c"}, 60, 61) {
		t.Error("of what is pushed to on both sides nothing is known")
	}
}
