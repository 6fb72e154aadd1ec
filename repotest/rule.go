package repotest

import (
	"fmt"
	"time"

	"github.com/polystore/polystore/repo/driver"
)

// A Call names the methods of a store that rules speak of.
type Call uint8

// The calls. Each loop over a Range or a Walk is a call of its own.
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
)

// String returns the name of the method in lower case, or "any call".
func (c Call) String() string {
	return [...]string{"any call", "define", "attach", "drop", "get", "range", "commit", "walk", "count", "size"}[c]
}

// A Fault is what goes wrong with a call.
type Fault uint8

// The faults. Those that only a Commit can meet say so. After the last four it
// cannot be known whether the commit was done, so a store with rules for them
// says in its Facts that it is Uncertain.
const (
	None        Fault = iota
	Conflict          // Commit is refused because another writer is faster with its record
	Timeout           // ErrTimeout; nothing is done
	Unavailable       // ErrUnavailable; nothing is done
	Blocked           // the call waits until Release, Close or the end of its context: then it is ErrTimeout
	LostAnswer        // Commit is done, but answers ErrUnknownOutcome
	LostCall          // Commit is never done, and answers ErrUnknownOutcome
	Late              // Commit answers ErrUnknownOutcome, and is done later: see Rule.After and Release
	Twice             // Commit is sent twice; the second answer is what comes back
)

// String returns the name of the fault in lower case.
func (f Fault) String() string {
	return [...]string{"none", "conflict", "timeout", "unavailable", "blocked", "lost answer", "lost call", "late", "twice"}[f]
}

// A Rule says which calls go wrong, and how. Without Nth, Every and Share all
// calls do that On and Table name; of these three at most one is set.
type Rule struct {
	On    Call    // of which method; AnyCall is all
	Table string  // only calls that name this table; "" is all
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

func (r *Rule) check(uncertain bool) error {
	set := 0
	for _, given := range []bool{r.Nth != 0, r.Every != 0, r.Share != 0} {
		if given {
			set++
		}
	}
	what := ""
	switch {
	case r.On > Size:
		what = "an unknown call"
	case r.Fault > Twice:
		what = "an unknown fault"
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

func (r *Rule) onlyCommit() bool { return r.Fault == Conflict || r.unknown() }

func (r *Rule) unknown() bool { return r.Fault >= LostAnswer }

// names says whether a call is one of those that the rule speaks of.
func (r *Rule) names(c Call, tables []string) bool {
	if r.On != AnyCall && r.On != c {
		return false
	}
	if r.Table == "" {
		return true
	}
	for _, t := range tables {
		if t == r.Table {
			return true
		}
	}
	return false
}
