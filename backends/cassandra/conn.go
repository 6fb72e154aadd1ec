package cassandra

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/apache/cassandra-gocql-driver/v2"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/driver/address"
	"github.com/polystore/polystore/repo/driver/frame"
)

// A conn sends statements to the servers and counts them, and says what their errors mean.
type conn struct {
	session  *gocql.Session
	dialer   *address.Dialer // of the session, nil if Open did not make it
	own      bool            // the session is closed with the store
	addr     string          // for people, without anything secret
	keyspace string
	dc       string

	replication string // the CQL by which the keyspace is made, "" if it must be there

	level  gocql.Consistency // of writes, and of reads
	serial gocql.Consistency // of conditions, and of reads before them
}

// close closes the session if Open made it.
func (c *conn) close() error {
	if !c.own {
		return nil
	}
	closed := make(chan struct{})
	go func() {
		c.session.Close()
		close(closed)
	}()
	select {
	case <-closed:
		return nil
	case <-time.After(farewell):
		return fmt.Errorf("cassandra: close: %s: the client is still trying to reach a server: %w", c.addr, driver.ErrUnavailable)
	}
}

// farewell is how long Close waits for the client, which can wait for ever for an answer
// to the heartbeat of its control connection.
const farewell = 5 * time.Second

// once is what a statement is sent with that must not be sent again.
var once = &gocql.NonSpeculativeExecution{}

// query returns a statement that says for itself where it is sent and how often.
func (c *conn) query(level gocql.Consistency, text string, args ...any) *gocql.Query {
	return c.session.Query(text, args...).SetKeyspace(c.keyspace).Consistency(level).SerialConsistency(c.serial).
		Idempotent(false).RetryPolicy(nil).SetSpeculativeExecutionPolicy(once).DefaultTimestamp(false)
}

// batch returns an empty batch that does so.
func (c *conn) batch(typ gocql.BatchType) *gocql.Batch {
	return c.session.Batch(typ).SetKeyspace(c.keyspace).Consistency(c.level).
		RetryPolicy(nil).SpeculativeExecutionPolicy(once).DefaultTimestamp(false)
}

// reconnection is how long a call waits for a connection: the client makes new ones
// by itself, once a second.
const reconnection = 3 * time.Second

// A sendable is a statement, or a batch of some.
type sendable interface {
	IterContext(ctx context.Context) *gocql.Iter
}

// run sends until there is a connection. What has no connection was not sent.
func run(ctx context.Context, q sendable) (*gocql.Iter, error) {
	begun, t := time.Now(), driver.TallyOf(ctx)
	for {
		sent := t.Begin(ctx, 1)
		iter := q.IterContext(ctx)
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
		if !unsent || time.Since(begun) > reconnection || frame.Sleep(ctx, 25*time.Millisecond) != nil {
			return iter, err
		}
	}
}

// ask sends a statement that reads, again as long as connections break: those of a
// server that went are noticed one by one.
func (c *conn) ask(ctx context.Context, doing string, q *gocql.Query) (*gocql.Iter, error) {
	for begun := time.Now(); ; {
		iter, err := run(ctx, q)
		if err == nil || frame.Over(ctx) != nil || !isBroken(err) || time.Since(begun) > reconnection ||
			frame.Sleep(ctx, 25*time.Millisecond) != nil {
			return iter, c.failed(ctx, doing, err)
		}
	}
}

// read is ask for a statement with parameters.
func (c *conn) read(ctx context.Context, doing string, level gocql.Consistency, text string, args ...any) (*gocql.Iter, error) {
	return c.ask(ctx, doing, c.query(level, text, args...).PageState(nil))
}

// each asks for rows, and calls do when it has read the columns of one into dest.
func (c *conn) each(ctx context.Context, doing string, q *gocql.Query, do func(), dest ...any) error {
	iter, err := c.ask(ctx, doing, q)
	if err != nil {
		return err
	}
	for iter.Scan(dest...) {
		do()
	}
	return c.failed(ctx, doing, iter.Close())
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
