package driver

import "errors"

// What can go wrong. A backend wraps one of them, and the store's own error,
// with fmt.Errorf("%w: %w", …); package repo adds operation, collection and key.
var (
	ErrNotFound       = errors.New("not found")                 // there is no such record
	ErrExists         = errors.New("already exists")            // the key or a unique value is taken
	ErrConflict       = errors.New("conflict")                  // the record has another version than expected
	ErrUnknownOutcome = errors.New("unknown outcome")           // the write may or may not have been done
	ErrUnavailable    = errors.New("store unavailable")         // not sent, or refused by a store that cannot serve now
	ErrTimeout        = errors.New("timeout")                   // the context ended; nothing was written
	ErrThrottled      = errors.New("store overloaded")          // refused for load; try again later
	ErrInvalid        = errors.New("invalid")                   // the caller's mistake: a value, a query, an option
	ErrUnsupported    = errors.New("not supported")             // this store cannot do it
	ErrTooLarge       = errors.New("too large")                 // a key, a record or a commit over its limit
	ErrSchema         = errors.New("schema does not fit")       // what is stored was declared otherwise
	ErrClosed         = errors.New("store is closed")           // used after Close
	ErrCorrupt        = errors.New("stored data is corrupt")    // what was read cannot have been written by this library
	ErrInternal       = errors.New("internal error")            // a defect of the library or the backend
	ErrLocked         = errors.New("store is in use elsewhere") // another process has the store open
	ErrFull           = errors.New("no space left")             // nothing was written
)
