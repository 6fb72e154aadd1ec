package failure

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/polystore/polystore/repo/driver"
)

// The special kinds, of which package repo says what they mean.
var (
	ErrNoIndex    = errors.New("no index")
	ErrCursor     = errors.New("bad cursor")
	ErrContention = errors.New("contention")
)

// A special is an error of a special kind.
type special struct {
	text          string
	kind, general error
}

func (e *special) Error() string { return e.text + ": " + e.general.Error() }

func (e *special) Unwrap() []error { return []error{e.kind, e.general} }

// NoIndex returns an error of ErrNoIndex.
func NoIndex(format string, args ...any) error {
	return &special{fmt.Sprintf(format, args...), ErrNoIndex, driver.ErrInvalid}
}

// errLater is the kind of what will be otherwise later.
var errLater = errors.New("not yet")

// NotReady returns an error of ErrNoIndex for an index that is being built.
func NotReady(format string, args ...any) error {
	return &special{fmt.Sprintf(format, args...), errors.Join(ErrNoIndex, errLater), driver.ErrInvalid}
}

// BadCursor returns an error of ErrCursor; what says what is wrong with the cursor.
func BadCursor(what string) error {
	return &special{"cursor " + what + "; begin again without one", ErrCursor, driver.ErrInvalid}
}

// Contention returns an error of ErrContention.
func Contention(format string, args ...any) error {
	return &special{fmt.Sprintf(format, args...), ErrContention, driver.ErrConflict}
}

// IsRetryable reports whether the same call may succeed later, and has written nothing.
func IsRetryable(err error) bool {
	for _, kind := range []error{ErrContention, errLater, driver.ErrUnavailable, driver.ErrThrottled, driver.ErrTimeout} {
		if errors.Is(err, kind) {
			return !errors.Is(err, driver.ErrUnknownOutcome)
		}
	}
	return false
}

// Invalid returns an ErrInvalid.
func Invalid(format string, args ...any) error {
	return driver.Errorf(format+": %w", append(args[:len(args):len(args)], driver.ErrInvalid)...)
}

// A Keyed error belongs to one record.
type Keyed struct {
	In  string // its collection; "" is that of the operation
	Key driver.Key
	Err error
}

func (e *Keyed) Error() string { return e.Err.Error() }

func (e *Keyed) Unwrap() error { return e.Err }

// A Numbered error is that of a write of a group.
type Numbered struct {
	Verb   string
	Number int
	Err    error
}

func (e *Numbered) Error() string {
	return fmt.Sprintf("%s, write %d of the group: %v", e.Verb, e.Number, e.Err)
}

func (e *Numbered) Unwrap() error { return e.Err }

// Alone returns the error without the number.
func (e *Numbered) Alone() error { return e.Err }

// OfKey makes err the error of the record under a key.
func OfKey(key driver.Key, err error) error { return &Keyed{"", key, err} }

// OfRecord is OfKey in an operation on several collections, of which one is named.
func OfRecord(in string, key driver.Key, err error) error { return &Keyed{in, key, err} }

// OfKeyOnce is OfKey, unless err is the error of a record already.
func OfKeyOnce(key driver.Key, err error) error {
	var k *Keyed
	if errors.As(err, &k) {
		return err
	}
	return OfKey(key, err)
}

// Because returns what a store said of a refusal, as the end of a sentence.
func Because(why string) string {
	if why == "" {
		return ""
	}
	return " (" + why + ")"
}

// NoContext returns an error if a context is nil.
func NoContext(ctx context.Context) error {
	if ctx == nil {
		return ErrNoContext
	}
	return nil
}

// Arguments that are nil where the API wants some are the caller's mistake, and no panic.
var (
	ErrNoContext = Invalid("the context is nil; want context.Background() at the least")
	ErrNoStore   = Invalid("the store is nil, or was not made by NewStore")
	ErrNoBackend = Invalid("the backend given to NewStore is nil")
	ErrNotOpened = Invalid("the Repo or View is nil or zero; make a Repo with Open, and a View with ViewOf")
)

// Corrupt returns err, or ErrCorrupt if it is nil.
func Corrupt(err error) error {
	if err == nil {
		return driver.ErrCorrupt
	}
	return err
}

// Short returns text for an error: a hostile caller's may be of any length.
func Short(text string) string {
	const most = 2 << 10
	if len(text) <= most {
		return text
	}
	return fmt.Sprintf("%s… (%d bytes)", strings.ToValidUTF8(text[:most], ""), len(text))
}

// Name returns the name of a field, or a path, for an error: as it is, or cut and quoted where it is long, or has what would
// spoil the text.
func Name(name string) string {
	if len(name) <= 128 && strconv.Quote(name) == `"`+name+`"` {
		return name
	}
	return fmt.Sprintf("%.64q", name)
}

// GivenUp returns what is to be said of a write if what had to be done before got no
// answer: its commit was never sent, so that it did not happen and never will.
func GivenUp(ctx context.Context, what string, err error) error {
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

// Redact returns err with a text without keys and values.
func Redact(err error) error { return &redacted{driver.Redact(err), err} }
