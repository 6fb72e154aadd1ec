package measure

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/polystore/polystore/loadtest/internal/operation"
)

// The shares send every operation once, each at its own instant of the whole rate, and each share knows the others'.
func TestDivide(t *testing.T) {
	instant := func(i int) time.Duration { return time.Duration(i) * time.Millisecond }
	for _, of := range []int{1, 2, 3, 7} {
		calls := make([]operation.Call, 100)
		for i := range calls {
			calls[i].Limit = i
		}
		var sent []int
		for n := range of {
			s := &Share{Number: n + 1, Of: of}
			own, due, others := s.divide(calls, instant)
			if len(own)+len(others) != len(calls) || len(due) != len(own) || !slices.IsSorted(due) {
				t.Fatalf("share %d of %d sends %d at %d instants, and others %d of %d", n+1, of, len(own), len(due), len(others), len(calls))
			}
			for i, k := range own {
				if due[i] != instant(k.Limit) {
					t.Errorf("operation %d is due at %v, want %v", k.Limit, due[i], instant(k.Limit))
				}
				sent = append(sent, k.Limit)
			}
		}
		if slices.Sort(sent); len(slices.Compact(sent)) != len(calls) || len(sent) != len(calls) {
			t.Errorf("%d shares send %d operations of %d", of, len(sent), len(calls))
		}
	}
}

// Rounds begin at times that follow from the start alone, and none before the one before it is over.
func TestSlots(t *testing.T) {
	s := &Share{Number: 2, Of: 3, Start: time.Unix(100, 0), Every: 5 * time.Second}
	var got []string
	for number := range 2 {
		for place := range 3 {
			got = append(got, fmt.Sprint(s.slot(number, 3, place).Unix()))
		}
	}
	if want := []string{"100", "105", "110", "115", "120", "125"}; !slices.Equal(got, want) {
		t.Errorf("rounds begin at %v, want %v", got, want)
	}
}
