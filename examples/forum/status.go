package main

import (
	"errors"
	"net/http"

	"github.com/polystore/polystore/repo"
)

// statuses says what is answered for each kind of error. The first that fits counts, so special
// kinds stand before general ones.
var statuses = []struct {
	kind   error
	status int
}{
	{repo.ErrUnknownOutcome, http.StatusGatewayTimeout},
	{repo.ErrContention, http.StatusServiceUnavailable},
	{repo.ErrCursor, http.StatusBadRequest},
	{repo.ErrNoIndex, http.StatusInternalServerError},
	{repo.ErrNotFound, http.StatusNotFound},
	{repo.ErrExists, http.StatusConflict},
	{repo.ErrConflict, http.StatusPreconditionFailed},
	{repo.ErrTooLarge, http.StatusRequestEntityTooLarge},
	{repo.ErrInvalid, http.StatusBadRequest},
	{repo.ErrUnavailable, http.StatusServiceUnavailable},
	{repo.ErrThrottled, http.StatusServiceUnavailable},
	{repo.ErrTimeout, http.StatusServiceUnavailable},
	{repo.ErrClosed, http.StatusServiceUnavailable},
	{repo.ErrLocked, http.StatusServiceUnavailable},
	{repo.ErrFull, http.StatusInsufficientStorage},
	{repo.ErrUnsupported, http.StatusNotImplemented},
	{repo.ErrSchema, http.StatusInternalServerError},
	{repo.ErrCorrupt, http.StatusInternalServerError},
	{repo.ErrInternal, http.StatusInternalServerError},
	{errNoVersion, http.StatusPreconditionRequired},
	{errNotDone, http.StatusServiceUnavailable},
}

// statusOf returns the status of an error, and whether the same request may succeed later.
func statusOf(err error) (status int, again bool) {
	status = http.StatusInternalServerError
	for _, s := range statuses {
		if errors.Is(err, s.kind) {
			status = s.status
			break
		}
	}
	e, ok := errors.AsType[*repo.Error](err)
	return status, ok && e.Retryable || errors.Is(err, errNotDone)
}
