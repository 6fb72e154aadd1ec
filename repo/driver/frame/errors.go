package frame

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/polystore/polystore/repo/driver"
)

// A Name is that of a store, with which all its errors begin.
type Name string

// Invalid returns an error that is ErrInvalid.
func (n Name) Invalid(format string, args ...any) error {
	return n.because(driver.ErrInvalid, format, args...)
}

// Schema returns an error that is ErrSchema.
func (n Name) Schema(format string, args ...any) error {
	return n.because(driver.ErrSchema, format, args...)
}

// Unsupported returns an error that is ErrUnsupported.
func (n Name) Unsupported(format string, args ...any) error {
	return n.because(driver.ErrUnsupported, format, args...)
}

// Corrupt returns an error that is ErrCorrupt.
func (n Name) Corrupt(format string, args ...any) error {
	return n.because(driver.ErrCorrupt, format, args...)
}

// TooLarge returns an error that is ErrTooLarge.
func (n Name) TooLarge(format string, args ...any) error {
	return n.because(driver.ErrTooLarge, format, args...)
}

func (n Name) because(kind error, format string, args ...any) error {
	return driver.Errorf(string(n)+": "+format+": %w", append(args[:len(args):len(args)], kind)...)
}

// Wrap returns err with the name before it, nil for nil.
func (n Name) Wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", string(n), err)
}

// Ended returns the error of a call that did nothing because its context was over for
// a cause, nil without one.
func (n Name) Ended(cause error) error {
	if cause == nil {
		return nil
	}
	if errors.Is(cause, driver.ErrInvalid) {
		return n.Wrap(cause)
	}
	return fmt.Errorf("%s: %w: %w", string(n), driver.ErrTimeout, cause)
}

// Over returns the error of a call that did nothing because its context is over, nil if it is not.
func (n Name) Over(ctx context.Context) error { return n.Ended(Over(ctx)) }

// Sleep waits, or returns the error of a call whose context ends meanwhile.
func (n Name) Sleep(ctx context.Context, d time.Duration) error { return n.Ended(Sleep(ctx, d)) }

// Until calls try, with a pause before it is called again, until it is done or has an error, or has been tried for long.
func (n Name) Until(ctx context.Context, long, pause time.Duration, try func() (done bool, err error)) (bool, error) {
	for begun := time.Now(); ; {
		if done, err := try(); done || err != nil || time.Since(begun) > long {
			return done, err
		}
		if err := n.Sleep(ctx, pause); err != nil {
			return false, err
		}
	}
}

// Told returns an error that a server answered with a code. Its text is the server's, who may
// name keys and values in it, so that it is left out where texts are redacted.
func Told(err error, code string) error { return driver.Hide(err, "the server answers "+code) }

// Shown returns the name of a field as an argument of an error. One that nobody declared may be
// personal data, as a key of a map is.
func Shown(field string, declared map[string]int) any {
	if _, ok := declared[field]; ok || strings.HasPrefix(field, "_") {
		return field
	}
	return driver.Private(field)
}

// A Failure is what a store says of an error of its client or its server when nothing
// can have been done.
type Failure struct {
	Doing, Addr string
	Kind        error // a sentinel of package driver
	Remedy      string
}

// Failed returns err as what f says of it.
func (n Name) Failed(f Failure, err error) error {
	if f.Remedy != "" {
		return fmt.Errorf("%s: %s: %s: %w: %w; %s", string(n), f.Doing, f.Addr, f.Kind, err, f.Remedy)
	}
	return fmt.Errorf("%s: %s: %s: %w: %w", string(n), f.Doing, f.Addr, f.Kind, err)
}

// Late returns the error of a call whose time was over for a cause, and that can have
// done nothing: ErrTimeout.
func (n Name) Late(doing, addr string, cause error) error {
	return n.Failed(Failure{Doing: doing, Addr: addr, Kind: driver.ErrTimeout}, cause)
}

// Unreached returns the error of a call whose time was over for a cause, and that can
// have done nothing because no connection could be made, which why says: ErrTimeout and
// ErrUnavailable. Without why it is Late.
func (n Name) Unreached(doing, addr string, cause, why error) error {
	if why == nil {
		return n.Late(doing, addr, cause)
	}
	return n.Late(doing, addr, fmt.Errorf("%w; %w: %w", cause, driver.ErrUnavailable, why))
}

// Unknown returns the error of a commit that may be done: ErrUnknownOutcome, with the
// cause if its context is over.
func (n Name) Unknown(ctx context.Context, addr string, err error) error {
	if cause := Over(ctx); cause != nil {
		return fmt.Errorf("%s: commit: %s: %w: %w: %w", string(n), addr, driver.ErrUnknownOutcome, cause, err)
	}
	return fmt.Errorf("%s: commit: %s: %w: %w", string(n), addr, driver.ErrUnknownOutcome, err)
}

var errNoContext = fmt.Errorf("the context is nil; want context.Background() at the least: %w", driver.ErrInvalid)

// Cause returns the error of a context that has ended, or is nil, which is the caller's mistake.
func Cause(ctx context.Context) error {
	if ctx == nil {
		return errNoContext
	}
	return ctx.Err()
}

// Over is Cause for stores on servers: the deadline of a connection can be noticed before
// the context notices its own.
func Over(ctx context.Context) error {
	if err := Cause(ctx); err != nil {
		return err
	}
	if deadline, ok := ctx.Deadline(); ok && !time.Now().Before(deadline) {
		return context.DeadlineExceeded
	}
	return nil
}

// Sleep waits, or returns why a context is over that ends meanwhile.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return Over(ctx)
	}
}
