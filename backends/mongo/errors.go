package mongo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	mongodriver "go.mongodb.org/mongo-driver/v2/mongo"
	topdriver "go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/topology"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/driver/address"
	"github.com/polystore/polystore/repo/driver/frame"
)

// who is what the errors of this package begin with.
const who = frame.Name("mongo")

// The codes of answers that this package knows.
const (
	codeBadValue          = 2
	codeUnauthorized      = 13
	codeTypeMismatch      = 14
	codeTooDeep           = 15
	codeWrongPassword     = 18
	codeIllegalOperation  = 20
	codeNoNamespace       = 26
	codeNoIndex           = 27
	codeNoPath            = 28
	codeNoCursor          = 43
	codeNamespaceExists   = 48
	codeTimeLimit         = 50
	codeNoSuchCommand     = 59
	codeCannotIndex       = 67
	codeInvalidOptions    = 72
	codeBadNamespace      = 73
	codeIndexConflict     = 85
	codeIndexKeyConflict  = 86
	codeShuttingDown      = 91
	codeWriteConflict     = 112
	codeInvalidDocument   = 121
	codeOnView            = 166
	codeSteppedDown       = 189
	codeNotImplemented    = 238
	codeSnapshotTooOld    = 239
	codeNoSnapshot        = 246
	codeNoTransaction     = 251
	codeTransactionLarge  = 257
	codeExceeded          = 262
	codeNotInTransaction  = 263
	codeBuildAborted      = 276
	codeNoMemory          = 292
	codeTransactionCache  = 388
	codeRateLimit         = 462
	codeAtlas             = 8000
	codeTooManyIndexes    = 10098
	codeNotPrimary        = 10107
	codeTooLarge          = 10334
	codeDuplicateKey      = 11000
	codeInterruptedAtEnd  = 11600
	codeInterrupted       = 11601
	codeInterruptedByRole = 11602
	codeNotPrimaryNoOK    = 13435
	codeNotPrimaryOrOther = 13436
	codeNoDisk            = 14031
	codeGroupMemory       = 16945
	codeKeyTooLong        = 17280
	codeGrownTooLarge     = 17419
	codeReplacedTooLarge  = 17420
	codeNoArray           = 28664
	codeLookupMemory      = 40099
)

// definite are the codes of an answer to a statement which say that nothing of it was
// done. With any other a write may have been done before it was interrupted.
var definite = [...]int{
	codeBadValue, codeUnauthorized, codeTypeMismatch, codeTooDeep, codeWrongPassword, codeIllegalOperation, codeNoNamespace,
	codeNoSuchCommand, codeBadNamespace, codeWriteConflict, codeInvalidDocument, codeOnView, codeNotImplemented,
	codeNoTransaction, codeTransactionLarge, codeNotInTransaction, codeTransactionCache, codeRateLimit, codeAtlas,
	codeNotPrimary, codeTooLarge, codeDuplicateKey, codeNotPrimaryNoOK, codeNotPrimaryOrOther, codeNoDisk, codeKeyTooLong,
	codeGrownTooLarge, codeReplacedTooLarge, codeNoPath, codeNoArray,
}

// interrupted are the codes of a server that stops serving, or stopped a command.
var interrupted = [...]int{codeShuttingDown, codeSteppedDown, codeNotPrimary, codeNotPrimaryNoOK, codeNotPrimaryOrOther, codeInterruptedAtEnd,
	codeInterrupted, codeInterruptedByRole, codeExceeded}

// codeOf returns the code of an error that the server answered, 0 of any other.
func codeOf(err error) int {
	if e, ok := errors.AsType[mongodriver.WriteException](err); ok {
		if len(e.WriteErrors) > 0 {
			return e.WriteErrors[0].Code
		}
		return 0
	}
	if e, ok := errors.AsType[mongodriver.CommandError](err); ok {
		return int(e.Code)
	}
	return 0
}

// is reports whether an error is of a type, or wraps one.
func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

func hasLabel(err error, label string) bool {
	e, ok := errors.AsType[mongodriver.LabeledError](err)
	return ok && e.HasErrorLabel(label)
}

// halfDone returns what the server says of a write that it did, but could not make
// as durable as it was told to.
func halfDone(err error) *mongodriver.WriteConcernError {
	if e, ok := errors.AsType[mongodriver.WriteException](err); ok && len(e.WriteErrors) == 0 {
		return e.WriteConcernError
	}
	return nil
}

// unsent reports whether an error came before anything was written to a connection.
func unsent(err error) bool {
	if codeOf(err) != 0 || hasLabel(err, "NetworkError") || halfDone(err) != nil {
		return false
	}
	return is[topology.ServerSelectionError](err) || is[topology.WaitQueueTimeoutError](err) ||
		is[topology.ConnectionError](err) || // while a connection was made: later ones have the label
		is[topology.PoolError](err) || poolCleared(err) ||
		errors.Is(err, mongodriver.ErrClientDisconnected) || errors.Is(err, topdriver.ErrDeadlineWouldBeExceeded) ||
		errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// poolCleared reports whether a command was not sent because another one found a broken
// connection, for which the client gives up all that it has.
func poolCleared(err error) bool {
	var pool topdriver.RetryablePoolError
	return errors.As(err, &pool) && pool.Retryable()
}

// failed says what an error means when nothing can have been done. It returns nil
// for nil.
func (c *conn) failed(ctx context.Context, doing string, err error) error {
	if err == nil {
		return nil
	}
	code := codeOf(err)
	if code == 0 || code == codeTimeLimit {
		cause := frame.Over(ctx)
		if cause == nil && (code == codeTimeLimit || mongodriver.IsTimeout(err) && !is[topology.ServerSelectionError](err)) {
			cause = context.DeadlineExceeded // the client's own, or about to be
		}
		if cause != nil {
			return who.Unreached(doing, c.addr, cause, c.unreached(err))
		}
	}
	remedy, kind := kindOf(err)
	return who.Failed(frame.Failure{Doing: doing, Addr: c.addr, Kind: kind, Remedy: remedy}, told(err))
}

// told hides what the server says of an error that it answered.
func told(err error) error {
	if code := codeOf(err); code != 0 {
		return frame.Told(err, "code "+strconv.Itoa(code))
	}
	if half := halfDone(err); half != nil {
		return frame.Told(err, "code "+strconv.Itoa(half.Code)+" for its write concern")
	}
	return err
}

// beaten is frame.ErrBeaten, by what the server answered.
func beaten(err error) error { return fmt.Errorf("%w: %w", frame.ErrBeaten, told(err)) }

// unreached returns why no server could be connected to, where that is why err came, or
// nil.
func (c *conn) unreached(err error) error {
	if e, ok := errors.AsType[topology.ServerSelectionError](err); ok {
		for _, server := range e.Desc.Servers {
			if server.LastError != nil {
				return server.LastError
			}
		}
	}
	return c.dialer.Why()
}

// unfinished says what an error of a write means.
func (c *conn) unfinished(ctx context.Context, err error) error {
	if unsent(err) || slices.Contains(definite[:], codeOf(err)) {
		return c.failed(ctx, "commit", err)
	}
	return who.Unknown(ctx, c.addr, told(err))
}

// kindOf returns the sentinel for an error of the client or the server, and what to
// do about it.
func kindOf(err error) (remedy string, kind error) {
	if hasLabel(err, "SystemOverloadedError") {
		return "", driver.ErrThrottled
	}
	if code := codeOf(err); code != 0 {
		return kindOfCode(code)
	}
	if is[topology.WaitQueueTimeoutError](err) {
		return "all connections are in use: raise maxPoolSize", driver.ErrThrottled
	}
	switch {
	case errors.Is(err, mongodriver.ErrClientDisconnected):
		return "", driver.ErrClosed
	case errors.Is(err, topdriver.ErrDocumentTooLarge):
		return "", driver.ErrTooLarge
	}
	if remedy, kind = address.Refused(err, "option tlsCertificateKeyFile", "the server must speak TLS if tls=true is given, and its certificate must be trusted"); kind != nil {
		return remedy, kind
	}
	return "", driver.ErrUnavailable
}

// kindOfCode returns the sentinel for an answer of the server.
func kindOfCode(code int) (remedy string, kind error) {
	switch code {
	case codeWrongPassword, codeAtlas:
		return "give the user and password that the server knows, and the authSource that has them", driver.ErrInvalid
	case codeUnauthorized:
		return "give the user the role readWrite on the database", driver.ErrInvalid
	case codeBadNamespace:
		return "take a name that MongoDB allows for a collection, or a prefix", driver.ErrInvalid
	case codeTooDeep:
		return "nest values less deeply", driver.ErrInvalid
	case codeInvalidDocument:
		return "the collection has a validator of another program: remove it, or use another database or prefix", driver.ErrInvalid
	case codeOnView:
		return "the name is that of a view: use another database or prefix", driver.ErrSchema
	case codeIllegalOperation, codeNoSuchCommand, codeNotImplemented, codeNotInTransaction:
		return "", driver.ErrUnsupported
	case codeTooLarge, codeGrownTooLarge, codeReplacedTooLarge, codeKeyTooLong, codeTransactionLarge, codeTransactionCache:
		return "", driver.ErrTooLarge
	case codeNoDisk:
		return "make room on the server's disk", driver.ErrFull
	case codeRateLimit:
		return "", driver.ErrThrottled
	case codeWriteConflict, codeNoTransaction, codeTimeLimit:
		return "", driver.ErrUnavailable
	case codeTypeMismatch, codeBadValue:
		return "", driver.ErrInternal
	}
	if slices.Contains(interrupted[:], code) {
		return "", driver.ErrUnavailable
	}
	return "", driver.ErrInternal
}
