package repo

import (
	"fmt"

	"github.com/polystore/polystore/repo/driver"
)

// A verb says what a write does with what is there.
type verb uint8

const (
	doInsert verb = iota
	doReplace
	doPut
	doUpdate
	doPatch
	doDelete
)

// expected checks what is there, which is known, against the verb and version.
func (w *write) expected() error {
	switch {
	case w.verb == doInsert && w.old.live && w.why != "":
		return fmt.Errorf("%s: %w", w.why, ErrExists)
	case w.verb == doInsert && w.old.live:
		return ErrExists
	case w.old.live:
		if !w.expect.IsZero() && w.expect != w.old.version {
			return fmt.Errorf("the record has another version than %s%s: %w", w.expect, because(w.why), ErrConflict)
		}
		return nil
	case w.exists:
		return ErrNotFound
	case w.verb == doDelete && !w.expect.IsZero():
		return fmt.Errorf("the record with version %s is not there: %w", w.expect, ErrConflict)
	case w.verb == doReplace, w.verb == doUpdate, w.verb == doPatch, w.verb == doPut && !w.expect.IsZero():
		return ErrNotFound
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
