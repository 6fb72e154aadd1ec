package repo

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/polystore/polystore/repo/driver"
)

// The special kinds, of which package repo says what they mean.
var (
	kindNoIndex    = errors.New("no index")
	kindCursor     = errors.New("bad cursor")
	kindContention = errors.New("contention")
)

// A special is an error of a special kind.
type special struct {
	text          string
	kind, general error
}

func (e *special) Error() string { return e.text + ": " + e.general.Error() }

func (e *special) Unwrap() []error { return []error{e.kind, e.general} }

func noIndex(format string, args ...any) error {
	return &special{fmt.Sprintf(format, args...), kindNoIndex, driver.ErrInvalid}
}

func badCursor(what string) error {
	return &special{"cursor " + what + "; begin again without one", kindCursor, driver.ErrInvalid}
}

func contention(format string, args ...any) error {
	return &special{fmt.Sprintf(format, args...), kindContention, driver.ErrConflict}
}

// isRetryable reports whether the same call may succeed later, and has written nothing.
func isRetryable(err error) bool {
	for _, kind := range []error{kindContention, driver.ErrUnavailable, driver.ErrThrottled, driver.ErrTimeout} {
		if errors.Is(err, kind) {
			return !errors.Is(err, driver.ErrUnknownOutcome)
		}
	}
	return false
}

func invalid(format string, args ...any) error {
	return driver.Errorf(format+": %w", append(args[:len(args):len(args)], driver.ErrInvalid)...)
}

// A keyed error belongs to one record.
type keyed struct {
	key driver.Key
	err error
}

func (e *keyed) Error() string { return e.err.Error() }

func (e *keyed) Unwrap() error { return e.err }

func ofKey(key driver.Key, err error) error { return &keyed{key, err} }

func ofKeyOnce(key driver.Key, err error) error {
	var k *keyed
	if errors.As(err, &k) {
		return err
	}
	return ofKey(key, err)
}

// because returns what a store said of a refusal, as the end of a sentence.
func because(why string) string {
	if why == "" {
		return ""
	}
	return " (" + why + ")"
}

func noContext(ctx context.Context) error {
	if ctx == nil {
		return errNoContext
	}
	return nil
}

// Arguments that are nil where the API wants some are the caller's mistake, and no panic.
var (
	errNoContext = invalid("the context is nil; want context.Background() at the least")
	errNoStore   = invalid("the store is nil")
	errNoBackend = invalid("the backend given to NewStore is nil")
)

func corrupt(err error) error {
	if err == nil {
		return driver.ErrCorrupt
	}
	return err
}

// short returns text for an error: a hostile caller's may be of any length.
func short(text string) string {
	const most = 2 << 10
	if len(text) <= most {
		return text
	}
	return fmt.Sprintf("%s… (%d bytes)", strings.ToValidUTF8(text[:most], ""), len(text))
}

// givenUp returns what is to be said of a write if what had to be done before got no
// answer: its commit was never sent, so that it did not happen and never will.
func givenUp(ctx context.Context, what string, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("before the commit: %w: %w", driver.ErrTimeout, ctx.Err())
	}
	told := driver.Hide(errors.New(err.Error()), driver.Redact(err)) // what the error is does not hold for the write
	return fmt.Errorf("before the commit: the store does not answer for %s, and nothing was written: %w: %w", what, driver.ErrUnavailable, told)
}

// A redacted error has a text without keys and values. What it is, errors.Is and errors.As tell;
// it is not unwrapped, since the texts of what it wraps are not redacted.
type redacted struct {
	text string
	err  error
}

func (e *redacted) Error() string        { return e.text }
func (e *redacted) Is(target error) bool { return errors.Is(e.err, target) }
func (e *redacted) As(target any) bool   { return errors.As(e.err, target) }

// redact returns err with a text without keys and values.
func redact(err error) error { return &redacted{driver.Redact(err), err} }
