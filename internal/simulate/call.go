package simulate

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/polystore/polystore/repo/driver"
)

// A call is one that a client makes of its store, on its way there or back.
type call struct {
	client *client
	entry  *entry // in which call of the client it was sent
	verb   string
	table  *driver.Table
	keys   []driver.Key
	part   int  // which of several that are sent at once
	own    bool // of what the client calls, not of what cleans up behind it
	sent   time.Time
	answer chan error // with room for one

	exec func(context.Context) error // of a read

	token   driver.Token // of a commit
	ops     []driver.Op
	refusal *driver.Refusal
	again   bool // it is the copy of one that was done

	err error // the answer, while it is held back
}

// A fate is what becomes of a call, or another thing that may happen.
type fate uint8

const (
	done      fate = iota // and answered
	deliver               // a late message arrives
	release               // a late answer arrives
	rest                  // of the late messages is lost
	refuse                // not done, and the client is told so
	lostReply             // done, and the client is told that nobody knows
	lostCall              // never done, and the client is told that nobody knows
	late                  // the client is told that nobody knows; may be done later
	twice                 // done, and answered; may be done again later
	hold                  // done, and answered later
	crash                 // the client stops before its call is done
	crashDone             // the client stops after its call is done
	crashLate             // the client stops; its call may be done later
	cutDone               // done, but the answer is lost, and all calls of the client fail for a second
	cutLate               // may be done later; all calls of the client fail for a second
	leap                  // much time passes
	wait                  // a little time passes
)

func (f fate) String() string {
	return [...]string{"done", "a late message arrives", "the late answer arrives", "late messages are lost", "refused as unavailable",
		"done, but the answer is lost", "lost", "no answer; it may be done later", "done; it may be done once more later", "done, but the answer comes later",
		"not done, and the client stops for ever", "done, and the client stops for ever", "the client stops for ever; it may be done later",
		"done, but the client is cut off for a second", "it may be done later; the client is cut off for a second", "much time passes", "all wait"}[f]
}

// Fates returns what may happen to calls.
func Fates() []string {
	var list []string
	for f := range leap + 1 {
		list = append(list, f.String())
	}
	return list
}

// isFault reports whether f is one of what goes wrong with a call.
func (f fate) isFault() bool { return f >= refuse && f < leap }

// faultsOf returns what may go wrong with a call.
func (k *call) faults() []fate {
	if k.verb != "commit" {
		return []fate{refuse, hold, crash}
	}
	return []fate{refuse, lostReply, lostCall, late, twice, hold, crash, crashDone, crashLate, cutDone, cutLate}
}

// transport is how long a request that changes a record may be on its way: the
// tombstones last at least so much longer than writers go on.
const transport = 10 * time.Minute

// isTooOld reports whether a request may not arrive any more.
func (k *call) isTooOld(now time.Time) bool {
	return now.Sub(k.sent) > transport && slices.ContainsFunc(k.ops, func(op driver.Op) bool { return op.Table.Class == driver.Records })
}

// copied returns a commit that shares no slices with the client.
func (k *call) copied() *call {
	out := &call{client: k.client, entry: k.entry, verb: k.verb, table: k.table, sent: k.sent, token: k.token}
	out.ops = slices.Clone(k.ops)
	for i := range out.ops {
		op := &out.ops[i]
		op.Edits = slices.Clone(op.Edits)
		op.Row.Fields = slices.Clone(op.Row.Fields)
		op.Row.Extra = slices.Clone(op.Row.Extra)
		op.Row.Ring = slices.Clone(op.Row.Ring)
	}
	return out
}

// hexToken finds tokens in keys. They differ from run to run but for the time, in front, at
// which they were made.
const hexToken = `[0-9a-fA-F]{32}`

var tokenOrTime = regexp.MustCompile(`([0-9a-fA-F]{12})[0-9a-fA-F]{20}`)

// rank returns a text that orders the calls of one client, the same in every run.
func (k *call) rank() string {
	text := fmt.Sprint(k.verb, k.part)
	for _, key := range k.keys {
		text += " " + k.table.Name + " " + key.Partition + key.Sort
	}
	for i := range k.ops {
		op := &k.ops[i]
		text += " " + op.Table.Name + " " + op.Row.Key.Partition + op.Row.Key.Sort + op.Do.String()
	}
	return tokenOrTime.ReplaceAllString(text, "$1")
}

func errUnknown(k *call) error {
	if k.verb != "commit" {
		return fmt.Errorf("simulate: no answer: %w", driver.ErrUnavailable)
	}
	return fmt.Errorf("simulate: no answer: %w", driver.ErrUnknownOutcome)
}
