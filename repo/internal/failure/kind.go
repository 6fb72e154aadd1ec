package failure

import (
	"context"
	"errors"

	"github.com/polystore/polystore/repo/driver"
)

// kinds have a word for every kind of error. Where an error is of several the first counts: an
// outcome that is unknown is that above all, and a special kind goes before its general one.
var kinds = []struct {
	err  error
	word string
}{
	{driver.ErrUnknownOutcome, "unknown_outcome"},
	{ErrContention, "contention"},
	{ErrNoIndex, "no_index"},
	{ErrCursor, "bad_cursor"},
	{context.Canceled, "canceled"},
	{driver.ErrTimeout, "timeout"},
	{driver.ErrNotFound, "not_found"},
	{driver.ErrExists, "exists"},
	{driver.ErrConflict, "conflict"},
	{driver.ErrUnavailable, "unavailable"},
	{driver.ErrThrottled, "throttled"},
	{driver.ErrInvalid, "invalid"},
	{driver.ErrUnsupported, "unsupported"},
	{driver.ErrTooLarge, "too_large"},
	{driver.ErrSchema, "schema"},
	{driver.ErrClosed, "closed"},
	{driver.ErrCorrupt, "corrupt"},
	{driver.ErrInternal, "internal"},
	{driver.ErrLocked, "locked"},
	{driver.ErrFull, "full"},
	{context.DeadlineExceeded, "timeout"},
}

// Kind returns the word of an error's kind, "_OTHER" for one that is of none.
func Kind(err error) string {
	for _, k := range kinds {
		if errors.Is(err, k.err) {
			return k.word
		}
	}
	return "_OTHER"
}
