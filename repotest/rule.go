package repotest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/polystore/polystore/repo/driver"
)

// A Call names the methods of a store that rules speak of.
type Call uint8

// The calls. Each loop over a Range or a Walk is a call of its own. Follow and Group are those of stores that can.
const (
	AnyCall Call = iota
	Define
	Attach
	Drop
	Get
	Range
	Commit
	Walk
	Count
	Size
	Follow
	Group
)

// String returns the name of the method in lower case, or "any call".
func (c Call) String() string {
	return nameOf("call", c, "any call", "define", "attach", "drop", "get", "range", "commit", "walk", "count", "size", "follow", "group")
}

// A Fault is what goes wrong with a call.
type Fault uint8

// The faults. Those that only a Commit can meet say so. After the last four it
// cannot be known whether the commit was done, so a store with rules for them
// says in its Facts that it is Uncertain.
const (
	None        Fault = iota
	Conflict          // Commit is refused because another writer is faster with a record that it expects at a version, as Replace and Update do, and all that a version is given to; what expects none meets no conflict
	Taken             // Commit is refused because another writer is faster with a record that it inserts where none ever was: ErrExists; what inserts none is done
	Timeout           // ErrTimeout; nothing is done
	Unavailable       // ErrUnavailable; nothing is done
	Blocked           // the call waits until Release, Close or the end of its context: then it is ErrTimeout
	LostAnswer        // Commit is done, but answers ErrUnknownOutcome
	LostCall          // Commit is never done, and answers ErrUnknownOutcome
	Late              // Commit answers ErrUnknownOutcome, and is done later: see Rule.After and Release
	Twice             // Commit is sent twice; the second answer is what comes back. It is that of the first only while fewer than four others write the record between: no backend may send a commit again by itself after that
)

// String returns the name of the fault in lower case.
func (f Fault) String() string {
	return nameOf("fault", f, "none", "conflict", "taken", "timeout", "unavailable", "blocked", "lost answer", "lost call", "late", "twice")
}

// nameOf returns the name with index i, or "what(i)" if there is none.
func nameOf[T ~uint8](what string, i T, names ...string) string {
	if int(i) >= len(names) {
		return fmt.Sprintf("%s(%d)", what, i)
	}
	return names[i]
}

// A Rule says which calls go wrong, and how. Without Nth, Every and Share all
// calls do that the first fields name; of these three at most one is set.
//
// Which calls an operation of package repo makes depends on the store: rows of an index may be
// changed in the same commit or in others. So with an Operation or a Collection a Commit counts only
// if it changes records: an insert has one, on every store, of a key that never had a record. Where a
// record was deleted or has expired it may have two, or one that expects what is left at a version.
type Rule struct {
	Name       string // in errors that the rule makes, and in events; "" is its number, from 1
	On         Call   // of which method; AnyCall is all
	Operation  string // only calls for this operation, as errors and events name it: "insert", "find", "commit" for a group; "" is all
	Collection string // only calls on this collection, its indexes included; "" is all
	Table      string // only calls that name this table; "" is all

	Nth   int     // only the nth of them, from 1, since the rules were set
	Every int     // only each so manyth of them
	Share float64 // only so many of them, drawn at random: 0.1 is one in ten

	// Delay makes the call begin later, by up to Jitter more, drawn at random. A
	// call whose context ends meanwhile is ErrTimeout; nothing is done.
	Delay, Jitter time.Duration

	Fault Fault

	// After is, for Late, after how many further calls the commit is done; 0 is
	// at Release only. For Timeout and Unavailable of a Range or a Walk it is how
	// many rows or chunks come before.
	After int
}

// operations are what errors and events of package repo name.
var operations = []string{
	"best", "build", "commit", "count", "count groups", "delete", "delete all", "drop", "drop index", "exists", "find", "find many", "first", "first of groups", "get",
	"get many", "groups", "index states", "insert", "insert all", "keys", "maintain", "one", "open", "page", "patch", "patch all", "patch get", "put", "put all",
	"read partition", "ready", "rebuild", "replace", "resolve", "scan", "schema of", "sizes", "update", "upgrade", "verify", "walk",
}

func (r *Rule) check(uncertain bool) error {
	set := 0
	for _, given := range []bool{r.Nth != 0, r.Every != 0, r.Share != 0} {
		if given {
			set++
		}
	}
	what := ""
	switch {
	case r.On > Group:
		what = "an unknown call"
	case r.Fault > Twice:
		what = "an unknown fault"
	case r.Operation != "" && !slices.Contains(operations, r.Operation):
		what = fmt.Sprintf("the operation %q, which is none; those are %s", r.Operation, strings.Join(operations, ", "))
	case set > 1:
		what = "more than one of Nth, Every and Share"
	case r.Nth < 0 || r.Every < 0 || r.Share < 0 || r.Share > 1 || r.Delay < 0 || r.Jitter < 0 || r.After < 0:
		what = "a number out of range"
	case r.onlyCommit() && r.On != Commit:
		what = fmt.Sprintf("the fault %s, which only Commit can meet, on %s", r.Fault, r.On)
	case r.unknown() && !uncertain:
		what = fmt.Sprintf("the fault %s, but the store did not say that it is uncertain; set Options.Uncertain", r.Fault)
	default:
		return nil
	}
	return fmt.Errorf("repotest: a rule with %s: %w", what, driver.ErrInvalid)
}

func (r *Rule) onlyCommit() bool { return r.Fault == Conflict || r.Fault == Taken || r.unknown() }

func (r *Rule) unknown() bool { return r.Fault >= LostAnswer }

// names says whether a call, for an operation, is one of those that the rule speaks of.
func (r *Rule) names(c Call, operation string, tables []*driver.Table) bool {
	if r.On != AnyCall && r.On != c || r.Operation != "" && r.Operation != operation {
		return false
	}
	if c == Commit && (r.Operation != "" || r.Collection != "") && !slices.ContainsFunc(tables, isRecords) {
		return false
	}
	return r.Table == "" && r.Collection == "" || slices.ContainsFunc(tables, func(t *driver.Table) bool {
		return t != nil && (r.Table == "" || t.Name == r.Table) && (r.Collection == "" || isOf(t, r.Collection))
	})
}

func isRecords(t *driver.Table) bool { return t != nil && t.Class == driver.Records }

// isOf reports whether a table has the records of a collection, or an index of them.
func isOf(t *driver.Table, collection string) bool {
	name, _, _ := strings.Cut(t.Name, ".")
	return name == collection
}
