package pebble

import (
	"runtime/debug"

	"github.com/polystore/polystore/repo/driver"
)

// factsOf says what a store is.
func factsOf(dir string, opts *Options) driver.Facts {
	f := driver.Facts{
		MaxOps:     5000,
		MaxBytes:   8 << 20,
		Name:       "pebble",
		Version:    version(),
		Detail:     "directory " + dir,
		Scope:      driver.ScopeStore,
		Durability: driver.Power,
		Setting:    "sync=true",
		OneProcess: true,
		Native:     driver.Ability{Reason: "Pebble keeps no index by itself"},
		Counts:     driver.Ability{Has: true, Reason: "by walking the keys of the span"},
		Sizes: driver.Ability{Has: true, Reason: "keys and values as they lie in the sorted tables, compressed, after a flush; " +
			"with versions that were not compacted away yet, whole blocks where tables share one, without the log"},
	}
	switch {
	case opts.InMemory:
		f.Detail, f.Durability, f.Setting = "files in memory", driver.Memory, "in memory"
	case opts.NoSync:
		f.Durability, f.Setting = driver.Memory, "sync=false"
	}
	return f
}

// version returns the version of Pebble that the program was built with.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, m := range info.Deps {
		if m.Path == "github.com/cockroachdb/pebble/v2" {
			return m.Version
		}
	}
	return "unknown"
}
