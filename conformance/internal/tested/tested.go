package tested

import (
	"fmt"

	"github.com/polystore/polystore/repo/driver"
)

// A Store is the store under test.
type Store struct {
	Store     driver.Store
	Facts     driver.Facts
	FreshName func() string // returns a name for a collection that nothing else has
}

// ChangesPartition says why a store cannot change several rows of one partition
// in one commit, and so keeps no index tables.
func ChangesPartition(f driver.Facts) string {
	if f.Scope < driver.ScopePartition {
		return fmt.Sprintf("a commit of %s changes one %s", f.Name, f.Scope)
	}
	return ""
}

// KeepsNative reports whether the store keeps indexes by itself unless it is asked
// otherwise.
func KeepsNative(f driver.Facts) bool {
	return f.Native.Has && len(f.NativeLocal) == 0 && (f.PrefersNative || f.Scope == driver.ScopeRecord)
}

// KeepsLocalNative says why a store does not keep indexes by itself that find by equality near
// the records, and no others.
func KeepsLocalNative(f driver.Facts) string {
	switch {
	case !f.Native.Has:
		return f.Native.Reason
	case len(f.NativeLocal) == 0:
		return f.Name + " keeps indexes of every form by itself"
	}
	return ""
}

// KeepsLocal says why a store cannot keep indexes in the partitions of their records.
func KeepsLocal(f driver.Facts) string {
	if KeepsNative(f) {
		return ""
	}
	return ChangesPartition(f)
}

// KeepsRemote says why a store cannot keep index rows in other partitions than their
// records.
func KeepsRemote(f driver.Facts) string {
	if f.Scope == driver.ScopePartition && !f.Remote.Has && !KeepsNative(f) {
		return fmt.Sprintf("an index of %s lies in the partition of its records: %s", f.Name, f.Remote.Reason)
	}
	return KeepsLocal(f)
}

// Reach returns how far from their records the rows of an index may lie: in the whole
// store, in their partition, or nowhere.
func Reach(f driver.Facts) driver.Scope {
	if KeepsRemote(f) == "" && f.Scope > driver.ScopeRecord {
		return driver.ScopeStore
	}
	return f.Scope
}

// ChangesStore says why a store cannot change rows of several partitions in one
// commit.
func ChangesStore(f driver.Facts) string {
	if f.Scope < driver.ScopeStore {
		return fmt.Sprintf("a commit of %s changes one %s", f.Name, f.Scope)
	}
	return ""
}

// Alone says why other processes may have the store open.
func Alone(f driver.Facts) string {
	if !f.OneProcess {
		return "other processes may write to " + f.Name
	}
	return ""
}

// Others says why no other process can.
func Others(f driver.Facts) string {
	if f.OneProcess {
		return "no other process writes to " + f.Name
	}
	return ""
}

// Both says what the first of two needs says, or else the second.
func Both(a, b func(driver.Facts) string) func(driver.Facts) string {
	return func(f driver.Facts) string {
		if why := a(f); why != "" {
			return why
		}
		return b(f)
	}
}

// HasNative says why a store keeps no index by itself.
func HasNative(f driver.Facts) string {
	if !f.Native.Has {
		return f.Native.Reason
	}
	return ""
}

// HasEveryNative says which native indexes a store cannot keep that has some.
func HasEveryNative(f driver.Facts) string {
	if len(f.NativeLocal) > 0 {
		return "a native index of " + f.Name + " is local and finds by equality, in the order of the records: " + f.Native.Reason
	}
	return HasNative(f)
}

// SurvivesProcess says why what a store acknowledges may be gone with its process.
func SurvivesProcess(f driver.Facts) string {
	if f.Durability >= driver.Delayed { // what is delayed is not lost by Close
		return ""
	}
	why := "what " + f.Name + " acknowledges need not outlive its process"
	if f.Setting != "" && f.Setting != "none" {
		why += ": " + f.Setting
	}
	return why
}

// LeavesTables reports whether the tables of a store are there when a process has died that
// had it open.
func LeavesTables(f driver.Facts) bool { return !f.OneProcess || SurvivesProcess(f) == "" }
