package repo

import (
	"fmt"

	"github.com/polystore/polystore/repo/driver"
)

// A write is one record to be changed by a caller, and what the caller expects.
type write struct {
	change
	verb    verb
	expect  driver.Token         // the version that the record must have; zero is any
	exists  bool                 // the record must be there, whatever the verb
	derive  func(w *write) error // sets next from old; nil when next is set already
	keep    bool                 // what T says nothing of stays: next is to get it from old
	careful bool                 // of a patch: whether it can be done depends on what is there
	asked   []driver.Edit        // of a patch; edits says what they come to
	open    bool                 // of a patch: its outcome may stay unknown, so that it need not be read for that
	refused *driver.Table        // whose condition did not hold, after a refusal
	why     string               // what the store said with the last refusal, beyond the condition
	lacks   bool                 // the refusal means that a claim is gone which the record has
	unread  bool                 // what is there is to be read

	turn turn // among those who write the record

	stranger bool // the refusal is that of a unique native index which the schema lacks
}

// isGone reports whether w deletes what is not there.
func (w *write) isGone() bool { return w.verb == doDelete && w.known && !w.old.row }

// A verb says what a write does with what is there.
type verb uint8

// expected checks what is there, which is known, against the verb and version.
func (w *write) expected() error {
	switch {
	case w.verb == doInsert && w.old.live && w.why != "":
		return fmt.Errorf("%s: %w", w.why, driver.ErrExists)
	case w.verb == doInsert && w.old.live:
		return driver.ErrExists
	case w.old.live:
		if !w.expect.IsZero() && w.expect != w.old.version {
			return fmt.Errorf("the record has another version than %s%s: %w", w.expect, because(w.why), driver.ErrConflict)
		}
		return nil
	case w.exists:
		return driver.ErrNotFound
	case w.verb == doDelete && !w.expect.IsZero():
		return fmt.Errorf("the record with version %s is not there: %w", w.expect, driver.ErrConflict)
	case w.verb == doReplace, w.verb == doUpdate, w.verb == doPatch, w.verb == doPut && !w.expect.IsZero():
		return driver.ErrNotFound
	}
	return nil
}

// blindCond returns the condition of a write that was not preceded by a read.
func blindCond(w *write) (driver.Cond, driver.Token) {
	switch {
	case w.verb == doInsert:
		return driver.Absent, driver.Token{}
	case !w.expect.IsZero():
		return driver.AtRev, w.expect
	case w.exists, w.verb == doReplace, w.verb == doPatch:
		return driver.Present, driver.Token{}
	}
	return driver.Any, driver.Token{}
}

// keep leaves in a record that is there what T says nothing of. One that is dead or has
// expired leaves nothing to the next.
func (c *writer) keep(w *write) error {
	old, next := &w.old, w.next
	if !c.extra {
		next.extra = nil
		if old.live {
			next.extra = old.extra
		}
	}
	if !c.expires {
		next.expires = 0
		if old.live {
			next.expires = old.expires
		}
	}
	return c.checkSize(next, w.key)
}

// keeps reports whether a record may have what T says nothing of: fields that only another
// program declares, or an expiry.
func (c *writer) keeps() bool { return !c.extra || !c.expires }

const (
	doInsert verb = iota
	doReplace
	doPut
	doUpdate
	doPatch
	doDelete
)
