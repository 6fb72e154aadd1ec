package commit

import (
	"errors"
	"fmt"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/change"
	"github.com/polystore/polystore/repo/internal/failure"
	"github.com/polystore/polystore/repo/internal/turn"
)

// A Write is one record to be changed by a caller, and what the caller expects.
type Write struct {
	change.Change
	By      *Writer // of the record's collection
	Verb    Verb
	Absent  bool                 // of a check: the record must not be there
	Expect  driver.Token         // the version that the record must have; zero is any
	Exists  bool                 // the record must be there, whatever the verb
	Derive  func(w *Write) error // sets next from old; nil when next is set already
	keep    bool                 // what T says nothing of stays: next is to get it from old
	careful bool                 // of a patch: whether it can be done depends on what is there
	asked   []driver.Edit        // of a patch; edits says what they come to
	work    []worked             // of a patch: what goes by what is there
	Open    bool                 // of a patch: its outcome may stay unknown, so that it need not be read for that
	refused *driver.Table        // whose condition did not hold, after a refusal
	why     string               // what the store said with the last refusal, beyond the condition
	lacks   bool                 // the refusal means that a claim is gone which the record has
	unread  bool                 // what is there is to be read

	turn turn.Turn // among those who write the record

	stranger bool // the refusal is that of a unique native index which the schema lacks
}

// Careful makes a patch read the whole record first, so that Next is the whole record afterwards.
func (w *Write) Careful() { w.careful = true }

// isGone reports whether w deletes what is not there.
func (w *Write) isGone() bool { return w.Verb == DoDelete && w.Known && !w.Old.Row }

// isNew reports whether the record of w must not be there.
func (w *Write) isNew() bool { return w.Verb == DoInsert || w.Absent }

// failed returns err as that of the record of w.
func (w *Write) failed(err error) error { return failure.OfRecord(w.By.Name, w.Key, err) }

// failedOnce is failed, unless err is the error of a record already.
func (w *Write) failedOnce(err error) error {
	if k, ok := errors.AsType[*failure.Keyed](err); ok {
		if k.In == "" {
			k.In = w.By.Name
		}
		return err
	}
	return w.failed(err)
}

// A Verb says what a write does with what is there.
type Verb uint8

// expected checks what is there, which is known, against the verb and version.
func (w *Write) expected() error {
	switch {
	case w.isNew() && w.Old.Live && w.why != "":
		return fmt.Errorf("%s: %w", w.why, driver.ErrExists)
	case w.isNew() && w.Old.Live:
		return driver.ErrExists
	case w.Absent:
		return nil
	case w.Old.Live:
		if !w.Expect.IsZero() && w.Expect != w.Old.Version {
			return fmt.Errorf("the record has another version than %s%s: %w", w.Expect, failure.Because(w.why), driver.ErrConflict)
		}
		return nil
	case w.Exists:
		return driver.ErrNotFound
	case w.Verb == DoDelete && !w.Expect.IsZero():
		return fmt.Errorf("the record with version %s is not there: %w", w.Expect, driver.ErrConflict)
	case w.Verb == DoReplace, w.Verb == DoUpdate, w.Verb == doPatch, w.Verb == DoCheck, w.Verb == DoPut && !w.Expect.IsZero():
		return driver.ErrNotFound
	}
	return nil
}

// blindCond returns the condition of a write that was not preceded by a read.
func blindCond(w *Write) (driver.Cond, driver.Token) {
	switch {
	case w.isNew():
		return driver.Absent, driver.Token{}
	case !w.Expect.IsZero():
		return driver.AtRev, w.Expect
	case w.Exists, w.Verb == DoReplace, w.Verb == doPatch, w.Verb == DoCheck:
		return driver.Present, driver.Token{}
	}
	return driver.Any, driver.Token{}
}

// keep leaves in a record that is there what T says nothing of. One that is dead or has
// expired leaves nothing to the next.
func (c *Writer) keep(w *Write) error {
	old, next := &w.Old, w.Next
	if !c.Extra || next.Keeps {
		next.Extra = nil
		if old.Live {
			next.Extra = old.Extra
		}
	}
	if !c.Extra && old.Live {
		c.KeepHidden(next.Vals, old.Vals)
	}
	if !c.Expires {
		next.Expires = 0
		if old.Live {
			next.Expires = old.Expires
		}
	}
	return c.CheckSize(next, w.Key)
}

// keeps reports whether a record may have what T says nothing of: fields that only another
// program declares, or an expiry.
func (c *Writer) keeps() bool { return !c.Extra || !c.Expires || c.Shape.KeepsSome() }

// The verbs.
const (
	DoInsert Verb = iota
	DoReplace
	DoPut
	DoUpdate
	doPatch
	DoDelete
	DoCheck // the record is looked at, and not written
)
