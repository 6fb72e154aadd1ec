package driver_test

import (
	"fmt"
	"testing"

	"github.com/polystore/polystore/repo/driver"
)

// A value without a name, which a stranger's backend may have, is text and no panic.
func TestNamesOfUnknownValues(t *testing.T) {
	tests := map[string]fmt.Stringer{
		"kind(99)": driver.Kind(99), "scope(99)": driver.Scope(99), "durability(99)": driver.Durability(99),
		"class(99)": driver.Class(99), "verb(99)": driver.Verb(99), "condition(99)": driver.Cond(99),
		"map": driver.Map, "store": driver.ScopeStore, "node": driver.Node, "claims": driver.Claims, "fence": driver.Fence, "at rev": driver.AtRev,
	}
	for want, v := range tests {
		if v.String() != want {
			t.Errorf("%T: %q, want %q", v, v, want)
		}
	}
}
