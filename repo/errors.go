package repo

import (
	"strings"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/failure"
)

// The kinds of errors; test for them with errors.Is. See [Error] for the facts.
var (
	ErrNotFound       = driver.ErrNotFound       // there is no such record, or it has expired
	ErrExists         = driver.ErrExists         // the key, or a value of a unique index, is taken
	ErrConflict       = driver.ErrConflict       // the record has another version than expected: read it again
	ErrUnknownOutcome = driver.ErrUnknownOutcome // the write may or may not have been done: see Repo.Resolve
	ErrUnavailable    = driver.ErrUnavailable    // the store cannot be reached or cannot serve; nothing was written
	ErrTimeout        = driver.ErrTimeout        // the context ended before anything was written, unless the error is ErrUnknownOutcome, too
	ErrThrottled      = driver.ErrThrottled      // the store refused for load; nothing was written
	ErrInvalid        = driver.ErrInvalid        // the caller's mistake; the text says which
	ErrUnsupported    = driver.ErrUnsupported    // this store cannot do it; the text says why
	ErrTooLarge       = driver.ErrTooLarge       // a key, record or commit is over its limit
	ErrSchema         = driver.ErrSchema         // the schema contradicts the struct or what is stored
	ErrClosed         = driver.ErrClosed         // the store was closed
	ErrCorrupt        = driver.ErrCorrupt        // what was read cannot have been written by this library
	ErrInternal       = driver.ErrInternal       // a defect of this library
	ErrLocked         = driver.ErrLocked         // another process has the store open
	ErrFull           = driver.ErrFull           // no space is left; nothing was written
)

// Special kinds: an error of a special kind is also of the general kind.
var (
	// ErrNoIndex is an ErrInvalid: no index answers the query. The text names the index to add, or one that is being
	// built; then the error is Retryable.
	ErrNoIndex = failure.ErrNoIndex

	// ErrCursor is an ErrInvalid: the cursor was damaged, was forged, or belongs to another query.
	// Cursors come from outside: begin again without a cursor.
	ErrCursor = failure.ErrCursor

	// ErrContention is an ErrConflict without a stale version: the call gave up after many attempts
	// in which others were faster. The same call may succeed later.
	ErrContention = failure.ErrContention
)

// An Error says which operation failed on what. Every error of a [Repo] is or
// wraps one. Its text holds keys and unique values, which may be personal data;
// [Options.Redact] leaves them out.
type Error struct {
	Op         string // "insert", "find", …
	Collection string // of the record; of a group as a whole the names of all its collections, with + between them
	Key        string // parts joined by '/', cut if very long; "" if the error is about no single record
	Index      string // the unique index whose value is taken, else ""
	Retryable  bool   // nothing was written, and the same call, of a group with a new Group, may succeed later, with a new context
	Outcome    *Outcome
	Err        error
}

// Error returns operation, collection, key and cause.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("repo ")
	b.WriteString(e.Op)
	if e.Collection != "" {
		b.WriteString(" " + e.Collection)
	}
	if e.Key != "" {
		b.WriteString(" " + e.Key)
	}
	if e.Err != nil {
		b.WriteString(": " + e.Err.Error())
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }
