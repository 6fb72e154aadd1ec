package simulate

import (
	"context"
	"fmt"
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

// isLost reports whether a late request cannot arrive any more. A second copy of a
// change without a Rev is held off by the Ring alone; package repo counts on it that
// none comes when four others have written: no protocol below it sends one unasked.
func (w *world) isLost(k *call, now time.Time) bool {
	if k.isTooOld(now) || !k.again {
		return k.isTooOld(now)
	}
	facts := w.history[len(w.history)-1].facts
	return slices.ContainsFunc(k.ops, func(op driver.Op) bool {
		at := slices.Index(w.keys, op.Row.Key)
		free := op.If == driver.Any || op.If == driver.Present
		return op.Table.Name == collection && free && at >= 0 && !slices.Contains(facts[at].ring, k.token)
	})
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

// ask lets a call of a client wait for the scheduler, and returns its answer.
func (w *world) ask(ctx context.Context, c *client, k *call) error {
	if w.pace != nil {
		w.pace()
	}
	k.client, k.answer, k.sent, k.own = c, make(chan error, 1), time.Now(), ctx.Value(ownKey{}) != nil
	w.mu.Lock()
	k.entry = c.current
	crashed, cut := c.crashed, k.sent.Before(c.cutUntil)
	direct := c.number == 0
	if !direct && !crashed && !cut {
		w.waiting = append(w.waiting, k)
	}
	w.mu.Unlock()
	switch {
	case crashed:
		return errCrashed
	case cut:
		return fmt.Errorf("simulate: cut off: %w", driver.ErrUnavailable)
	case direct:
		return w.askAsKeeper(ctx, k)
	}
	select {
	case err := <-k.answer:
		return err
	case <-ctx.Done():
		return w.giveUp(ctx, k)
	}
}

// giveUp ends a call whose context has ended. What was sent is under way.
func (w *world) giveUp(ctx context.Context, k *call) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waiting = without(w.waiting, k)
	w.held = without(w.held, k)
	switch {
	case k.client.crashed:
		return errCrashed // what is under way was seen to
	case k.verb != "commit":
		return fmt.Errorf("simulate: %w: %w", driver.ErrTimeout, ctx.Err())
	}
	w.late = append(w.late, k.copied())
	return fmt.Errorf("simulate: %w: %w", driver.ErrUnknownOutcome, ctx.Err())
}

func without(list []*call, k *call) []*call {
	return slices.DeleteFunc(list, func(o *call) bool { return o == k })
}

// ownKey marks the context of what a client calls.
type ownKey struct{}

// exec does a call, and looks at what it changed.
func (w *world) exec(k *call) error {
	ctx := context.Background()
	if k.verb != "commit" {
		err := k.exec(ctx)
		if err != nil {
			w.fail("", "the store cannot do %s: %v", w.words(k), err)
		}
		return err
	}
	refusal, err := w.mem.Commit(ctx, k.token, k.ops)
	if err != nil {
		w.fail("", "the store cannot do %s: %v", w.words(k), err)
		return fmt.Errorf("simulate: %w: %w", driver.ErrInternal, err)
	}
	k.refusal = refusal
	if refusal == nil {
		w.mu.Lock()
		w.commits++
		w.mu.Unlock()
		w.look(k)
	}
	return nil
}
