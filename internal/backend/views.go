// Package backend has what the stores of this module share beside package driver.
package backend

import (
	"fmt"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/polystore/polystore/repo/driver"
)

// Views are what a store knows of the tables that programs have defined or attached.
// The zero Views are empty. Reading takes no lock and may go on during a change.
type Views[V any] struct {
	all atomic.Pointer[map[*driver.Table]*V]
}

// Of returns what is known of t, or nil.
func (v *Views[V]) Of(t *driver.Table) *V {
	if all := v.all.Load(); all != nil {
		return (*all)[t]
	}
	return nil
}

// Known returns what views know of t, or ErrInvalid.
func (v *Views[V]) Known(n Name, t *driver.Table) (*V, error) {
	if known := v.Of(t); known != nil {
		return known, nil
	}
	return nil, fmt.Errorf("%s: %w", string(n), Unknown(t))
}

// Checked is Known for a call with a mask.
func (v *Views[V]) Checked(n Name, t *driver.Table, mask []int) (*V, error) {
	known, err := v.Known(n, t)
	if err == nil {
		err = n.Wrap(t.ValidateMask(mask))
	}
	if err != nil {
		return nil, err
	}
	return known, nil
}

// Each calls do for each table and what is known of it.
func (v *Views[V]) Each(do func(*driver.Table, *V)) {
	if all := v.all.Load(); all != nil {
		for t, known := range *all {
			do(t, known)
		}
	}
}

// Set makes known what of returns of each table. It may be called at the same time as any other.
func (v *Views[V]) Set(tables []*driver.Table, of func(*driver.Table) *V) {
	v.change(func(all map[*driver.Table]*V) {
		for _, t := range tables {
			all[t] = of(t)
		}
	})
}

// Forget removes what is known of the tables, by their names. It may be called at the same time as
// any other.
func (v *Views[V]) Forget(tables []*driver.Table) {
	v.change(func(all map[*driver.Table]*V) {
		maps.DeleteFunc(all, func(known *driver.Table, _ *V) bool {
			return slices.ContainsFunc(tables, func(t *driver.Table) bool { return t.Name == known.Name })
		})
	})
}

func (v *Views[V]) change(change func(map[*driver.Table]*V)) {
	for {
		next, all := map[*driver.Table]*V{}, v.all.Load()
		if all != nil {
			maps.Copy(next, *all)
		}
		change(next)
		if v.all.CompareAndSwap(all, &next) {
			return
		}
	}
}

// Unknown is the error of a call with a table of which nothing is known.
func Unknown(t *driver.Table) error {
	if t == nil {
		return fmt.Errorf("a call without a table: %w", driver.ErrInvalid)
	}
	return fmt.Errorf("table %s is not known; define or attach it first: %w", t.Name, driver.ErrInvalid)
}
