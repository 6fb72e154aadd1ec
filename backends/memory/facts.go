package memory

import (
	"slices"

	"github.com/polystore/polystore/repo/driver"
)

// factsOf says what a store is: as durable as the process.
func factsOf(o *Options) driver.Facts {
	scope := driver.ScopeStore
	if o.Scope != nil {
		scope = *o.Scope
	}
	return driver.Facts{
		MaxOps:        10000,
		Name:          "memory",
		Detail:        "in the memory of this process",
		Scope:         scope,
		Durability:    driver.Memory,
		Setting:       "none",
		OneProcess:    true,
		Uncertain:     o.Uncertain,
		Remote:        driver.Ability{Has: true, Reason: "by commits of their own, where the commit scope is a partition"},
		Native:        driver.Ability{Has: true, Reason: "beside the records, and changed with them"},
		Counts:        driver.Ability{Has: true, Reason: "by walking the rows of the span"},
		PrefersNative: o.Native,
		NativeOrder:   []driver.Kind{driver.Bool, driver.Int, driver.Float, driver.String, driver.Bytes, driver.Time},
		NativeLocal:   slices.Clone(o.NativeLocal),
		Sizes:         driver.Ability{Has: true, Reason: "texts, bytes and numbers of keys and values, without the overhead of Go"},
	}
}
