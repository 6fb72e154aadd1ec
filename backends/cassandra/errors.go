package cassandra

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/apache/cassandra-gocql-driver/v2"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/driver/address"
	"github.com/polystore/polystore/repo/driver/frame"
)

// who is what the errors of this package begin with.
const who = frame.Name("cassandra")

// codeOf returns the code of an error that the server answered, -1 of any other.
func codeOf(err error) int {
	if e, ok := errors.AsType[gocql.RequestError](err); ok {
		return e.Code()
	}
	return -1
}

// failed says what an error means when nothing can have been done. It returns nil
// for nil.
func (c *conn) failed(ctx context.Context, doing string, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, driver.ErrTimeout) {
		return err
	}
	if codeOf(err) < 0 {
		cause := frame.Over(ctx)
		if cause == nil && isSilence(err) {
			cause = context.DeadlineExceeded // the client's own
		}
		if cause != nil {
			return who.Unreached(doing, c.addr, cause, c.dialer.Why())
		}
		if errors.Is(err, context.Canceled) { // the connection's own context: it closed under a preparation
			err = gocql.ErrConnectionClosed
		}
		if why := c.dialer.Why(); why != nil && unsent(err) {
			err = fmt.Errorf("%w: %w", err, why)
		}
	}
	remedy, kind := kindOf(err)
	return who.Failed(frame.Failure{Doing: doing, Addr: c.addr, Kind: kind, Remedy: remedy}, told(err))
}

// told hides what the server says of an error that it answered.
func told(err error) error {
	if code := codeOf(err); code >= 0 {
		return frame.Told(err, fmt.Sprintf("code 0x%04x", code))
	}
	return err
}

// isSilence reports whether no answer came in the time that the client waits for one.
func isSilence(err error) bool {
	return errors.Is(err, gocql.ErrTimeoutNoResponse) || errors.Is(err, context.DeadlineExceeded)
}

// unfinished says what an error of a conditional write means, nil for nil. The server may refuse one
// for want of servers or time when it has been accepted already, so that only what it
// did not understand, and what was not sent, is known not to be done.
func (c *conn) unfinished(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	switch codeOf(err) {
	case gocql.ErrCodeSyntax, gocql.ErrCodeUnauthorized, gocql.ErrCodeInvalid, gocql.ErrCodeConfig, gocql.ErrCodeCredentials,
		gocql.ErrCodeProtocol, gocql.ErrCodeBootstrapping:
		return c.failed(ctx, "commit", err)
	}
	if errors.Is(err, driver.ErrTimeout) || unsent(err) {
		return c.failed(ctx, "commit", err)
	}
	return who.Unknown(ctx, c.addr, told(err))
}

// unsent reports whether the client had no connection for a statement.
func unsent(err error) bool {
	return errors.Is(err, gocql.ErrNoConnections) || errors.Is(err, gocql.ErrNoStreams) || errors.Is(err, gocql.ErrSessionClosed) ||
		errors.Is(err, gocql.ErrTooManyStmts)
}

// tooManyTombstones is why a server failed to read, as protocol version 5 has it.
const tooManyTombstones = 1

// kindOf returns the sentinel for an error of the client or the server, and what to
// do about it.
func kindOf(err error) (remedy string, kind error) {
	if e, ok := errors.AsType[*gocql.RequestErrReadFailure](err); ok && slices.Contains(slices.Collect(maps.Values(e.ErrorMap)), tooManyTombstones) {
		return "it would pass more tombstones of what was deleted than the server allows: let it compact the table, or raise tombstone_failure_threshold", driver.ErrUnavailable
	}
	if code := codeOf(err); code >= 0 {
		return kindOfCode(code)
	}
	switch {
	case errors.Is(err, gocql.ErrSessionClosed):
		return "", driver.ErrClosed
	case errors.Is(err, gocql.ErrNoStreams):
		return "all requests that a connection can carry are under way: raise the number of connections", driver.ErrThrottled
	case errors.Is(err, gocql.ErrFrameTooBig), errors.Is(err, gocql.ErrTooManyStmts):
		return "", driver.ErrTooLarge
	case errors.Is(err, gocql.ErrUnsupported):
		return "", driver.ErrUnsupported
	}
	if remedy, kind = address.Refused(err, "options cert and key", "the server must speak TLS if tls=true is given, and its certificate must be trusted"); kind != nil {
		return remedy, kind
	}
	return "", driver.ErrUnavailable
}

// kindOfCode returns the sentinel for an answer of the server.
func kindOfCode(code int) (remedy string, kind error) {
	switch code {
	case gocql.ErrCodeCredentials:
		return "give the user and password that the server knows", driver.ErrInvalid
	case gocql.ErrCodeUnauthorized:
		return "grant the user CREATE, ALTER, DROP, SELECT and MODIFY on the keyspace", driver.ErrInvalid
	case gocql.ErrCodeSyntax, gocql.ErrCodeProtocol, gocql.ErrCodeAlreadyExists, gocql.ErrCodeFunctionFailure:
		return "", driver.ErrInternal
	case gocql.ErrCodeInvalid, gocql.ErrCodeConfig:
		return "", driver.ErrInvalid
	case gocql.ErrCodeOverloaded:
		return "", driver.ErrThrottled
	case gocql.ErrCodeUnavailable:
		return "too few servers with a copy are up", driver.ErrUnavailable
	}
	return "", driver.ErrUnavailable
}
