package cassandra

import (
	"context"
	"errors"
	"io"
	"net"
	"time"

	"github.com/apache/cassandra-gocql-driver/v2"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/driver/frame"
)

// once is what a statement is sent with that must not be sent again.
var once = &gocql.NonSpeculativeExecution{}

// query returns a statement that says for itself where it is sent and how often.
func (s *store) query(level gocql.Consistency, text string, args ...any) *gocql.Query {
	return s.session.Query(text, args...).SetKeyspace(s.keyspace).Consistency(level).SerialConsistency(s.serial).
		Idempotent(false).RetryPolicy(nil).SetSpeculativeExecutionPolicy(once).DefaultTimestamp(false)
}

// reconnection is how long a call waits for a connection: the client makes new ones
// by itself, once a second.
const reconnection = 3 * time.Second

// run calls send until it has found a connection. What has no connection was not sent.
func run(ctx context.Context, send func() *gocql.Iter) (*gocql.Iter, error) {
	begun, t := time.Now(), driver.TallyOf(ctx)
	for {
		sent := t.Begin(ctx, 1)
		iter := send()
		if iter.NumRows() > 0 {
			sent.End(1, 1, nil)
			return iter, nil
		}
		err := iter.Close()
		unsent := errors.Is(err, gocql.ErrNoConnections)
		n := 1
		if unsent {
			n = 0
		}
		sent.End(n, n, err)
		if !unsent || time.Since(begun) > reconnection {
			return iter, err
		}
		if frame.Sleep(ctx, 25*time.Millisecond) != nil {
			return iter, err
		}
	}
}

// ask sends a statement that reads, again as long as connections break: those of a
// server that went are noticed one by one.
func (s *store) ask(ctx context.Context, doing string, q *gocql.Query) (*gocql.Iter, error) {
	send := func() *gocql.Iter { return q.IterContext(ctx) }
	begun := time.Now()
	for {
		iter, err := run(ctx, send)
		if err == nil || frame.Over(ctx) != nil || !isBroken(err) || time.Since(begun) > reconnection {
			return iter, s.failed(ctx, doing, err)
		}
		if frame.Sleep(ctx, 25*time.Millisecond) != nil {
			return iter, s.failed(ctx, doing, err)
		}
	}
}

// read is ask for a statement with parameters.
func (s *store) read(ctx context.Context, doing string, level gocql.Consistency, text string, args ...any) (*gocql.Iter, error) {
	return s.ask(ctx, doing, s.query(level, text, args...).PageState(nil))
}

// isBroken reports whether a connection ended before it brought an answer. Of one that ended while
// a statement was prepared the client says that a context was cancelled, which was not the caller's.
func isBroken(err error) bool {
	if errors.Is(err, gocql.ErrConnectionClosed) || errors.Is(err, context.Canceled) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) {
		return true
	}
	_, ok := errors.AsType[*net.OpError](err)
	return ok
}
