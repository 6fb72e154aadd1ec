package frame

import (
	"fmt"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/polystore/polystore/repo/driver"
)

// views are what a store knows of the tables that programs have defined or attached.
// The zero views are empty. Reading takes no lock and may go on during a change.
type views[V any] struct {
	all atomic.Pointer[map[*driver.Table]*V]
}

// of returns what is known of t, or nil.
func (v *views[V]) of(t *driver.Table) *V {
	if all := v.all.Load(); all != nil {
		return (*all)[t]
	}
	return nil
}

// each calls do for each table and what is known of it.
func (v *views[V]) each(do func(*driver.Table, *V)) {
	if all := v.all.Load(); all != nil {
		for t, known := range *all {
			do(t, known)
		}
	}
}

// set makes known what of returns of each table. It may be called at the same time as any other.
func (v *views[V]) set(tables []*driver.Table, of func(*driver.Table) *V) {
	v.change(func(all map[*driver.Table]*V) {
		for _, t := range tables {
			all[t] = of(t)
		}
	})
}

// forget removes what is known of the tables, by their names. It may be called at the same time as
// any other.
func (v *views[V]) forget(tables []*driver.Table) {
	v.change(func(all map[*driver.Table]*V) {
		maps.DeleteFunc(all, func(known *driver.Table, _ *V) bool {
			return slices.ContainsFunc(tables, func(t *driver.Table) bool { return t.Name == known.Name })
		})
	})
}

func (v *views[V]) change(change func(map[*driver.Table]*V)) {
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

// unknown is the error of a call with a table of which nothing is known.
func unknown(t *driver.Table) error {
	if t == nil {
		return fmt.Errorf("a call without a table: %w", driver.ErrInvalid)
	}
	return fmt.Errorf("table %s is not known; define or attach it first: %w", t.Name, driver.ErrInvalid)
}
