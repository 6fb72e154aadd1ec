package finding

import (
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/polystore/polystore/repo/driver"
)

// A Mismatch is what a rule finds where the contract is not kept.
type Mismatch struct{ Want, Got string }

// Wanted returns a Mismatch.
func Wanted(want, got string) *Mismatch { return &Mismatch{want, got} }

func (m *Mismatch) Error() string { return "want " + m.Want + "; got " + m.Got }

// ErrNotSupported marks a rule that a store's facts rule out.
type ErrNotSupported struct{ Reason string }

func (e *ErrNotSupported) Error() string { return "not supported: " + e.Reason }

// Caught calls a check, or what a goroutine of one does. The methods of rule.Env end it
// with a *Mismatch, like a test that is ended by Fatal; any other panic is the
// store's.
func Caught(call func() error) (err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case *Mismatch:
			err = p
		case *ErrNotSupported:
			err = p
		default:
			err = &Mismatch{"no panic", fmt.Sprintf("panic: %v\n%s", p, debug.Stack())}
		}
	}()
	return call()
}

// AsMismatch returns err as the deviation that a rule found.
func AsMismatch(err error) *Mismatch {
	if m, ok := errors.AsType[*Mismatch](err); ok {
		return m
	}
	return &Mismatch{"no error", err.Error()}
}

// Sentinels are the errors of which a store wraps one.
func Sentinels() []error {
	return []error{driver.ErrNotFound, driver.ErrExists, driver.ErrConflict, driver.ErrUnknownOutcome, driver.ErrUnavailable,
		driver.ErrTimeout, driver.ErrThrottled, driver.ErrInvalid, driver.ErrUnsupported, driver.ErrTooLarge, driver.ErrSchema,
		driver.ErrClosed, driver.ErrCorrupt, driver.ErrInternal, driver.ErrLocked, driver.ErrFull}
}

// IsSentinel reports whether err wraps one of them.
func IsSentinel(err error) bool {
	for _, s := range Sentinels() {
		if errors.Is(err, s) {
			return true
		}
	}
	return false
}
