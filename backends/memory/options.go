package memory

import "github.com/polystore/polystore/repo/driver"

// Options changes what a store says of itself, so that code for other stores
// can be tried on this one. The zero Options are good.
type Options struct {
	// Unit is the largest commit that the store accepts; nil is UnitStore.
	Unit *driver.Unit

	// Uncertain makes Facts say that outcomes can be unknown, although here
	// they never are.
	Uncertain bool

	// Native makes indexes native whose kind is left open.
	Native bool

	// NativeNear makes Facts say so; see driver.Facts. The store does not hold anybody to it.
	NativeNear []driver.Kind
}
