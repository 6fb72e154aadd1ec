package everystore

import (
	"slices"
	"sync"
	"testing"

	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/sequence"
)

// Four programs take 40 numbers each of one sequence, two of them in blocks: no number comes twice, and each program
// gets them in order.
func TestSequence(t *testing.T) {
	run(t, func(t *testing.T, store *repo.Store) {
		var lists [4][]int64
		var all sync.WaitGroup
		for i := range lists {
			c, err := sequence.Open(t.Context(), store, "numbers")
			if err != nil {
				t.Fatal(err)
			}
			s, err := c.Sequence("invoices", &sequence.Options{Block: 1 + i%2*9})
			if err != nil {
				t.Fatal(err)
			}
			all.Go(func() {
				for len(lists[i]) < 40 {
					n, err := s.Next(t.Context())
					if err != nil {
						t.Error(err)
						return
					}
					lists[i] = append(lists[i], n)
				}
			})
		}
		all.Wait()
		for _, list := range lists {
			if !slices.IsSorted(list) {
				t.Errorf("a program got %v", list)
			}
		}
		taken := slices.Sorted(slices.Values(slices.Concat(lists[:]...)))
		if len(slices.Compact(taken)) != 160 || taken[0] != 1 {
			t.Errorf("the numbers are %v", taken)
		}
	})
}
