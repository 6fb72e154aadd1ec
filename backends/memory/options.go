package memory

import "github.com/polystore/polystore/repo/driver"

// Options changes what a store says of itself, so that code for other stores
// can be tried on this one. The zero Options are good.
type Options struct {
	// Scope is the largest commit that the store accepts; nil is ScopeStore.
	Scope *driver.Scope

	// Uncertain makes Facts say that outcomes can be unknown, although here
	// they never are.
	Uncertain bool

	// Native makes indexes native whose kind is left open.
	Native bool

	// NativeLocal makes Facts say so; see driver.Facts. The store does not hold anybody to it.
	NativeLocal []driver.Kind
}
