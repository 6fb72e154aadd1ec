package mongo

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	mongobson "go.mongodb.org/mongo-driver/v2/bson"
	mongodriver "go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/polystore/polystore/backends/mongo/internal/bson"
	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/driver/address"
	"github.com/polystore/polystore/repo/driver/frame"
)

// A conn sends commands to the server and counts them, and says what their errors mean.
type conn struct {
	client *mongodriver.Client
	own    bool            // the client is disconnected with the store
	dialer *address.Dialer // of the client, nil if Open did not make it
	addr   string          // for people, without anything secret
	db     string
	direct bool // the client stays with one server
	set    bool // the server is one of a replica set

	undoer undoer
	term   atomic.Int64 // the latest in which the primary is known to know all that was acknowledged
}

func newConn(client *mongodriver.Client) *conn {
	return &conn{client: client, addr: "the server", undoer: undoer{client: client}}
}

// close undoes what is left behind, and disconnects the client if Open made it.
func (c *conn) close() error {
	c.undoer.undoLast()
	if !c.own {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), choreTime)
	defer cancel()
	if err := c.client.Disconnect(ctx); err != nil {
		return fmt.Errorf("mongo: close: %s: %w: %w", c.addr, driver.ErrUnavailable, err)
	}
	return nil
}

// flapping is how long connections may break one after the other before a command that finds none fails.
const flapping = 10 * time.Second

// run sends a command once and returns the answer. The client sends no command that
// is given to it as a document a second time, whatever its retryWrites and retryReads
// are, unless the server answered that it was too busy to begin; and adds no concern
// and no read preference of its own. One that found no connection, since the client
// gave up all of them at once, never left: it is sent again, for some seconds at most.
func (c *conn) run(ctx context.Context, db string, cmd []byte) (string, error) {
	for begun := time.Now(); ; {
		sent := driver.TallyOf(ctx).Begin(ctx, 1)
		raw, err := c.client.Database(db).RunCommand(ctx, mongobson.Raw(cmd)).Raw()
		sent.End(1, 1, err)
		if err == nil {
			c.undoer.undoWaiting()
		}
		if !poolCleared(err) || time.Since(begun) > flapping || frame.Sleep(ctx, 10*time.Millisecond) != nil {
			return bson.TextOf(raw), err
		}
	}
}

// command begins one on a collection.
func command(verb, collection string) bson.Writer {
	w := bson.NewWriter(512)
	w.Text(verb, collection)
	return w
}

// order begins one that is about no collection.
func order(verb string) bson.Writer {
	w := bson.NewWriter(512)
	w.Int32(verb, 1)
	return w
}

// durable ends a command that writes, outside of a transaction, and all that is open in it.
func durable(w *bson.Writer) []byte {
	w.CloseAll()
	w.Open("writeConcern")
	w.Text("w", "majority")
	w.Bool("j", true)
	return w.End()
}

// write sends a statement that writes and returns how many rows it met.
func (c *conn) write(ctx context.Context, cmd []byte) (n int, err error) {
	reply, err := c.run(ctx, c.db, cmd)
	met, _ := bson.Find(reply, "n").Number()
	return int(met), err
}

// askTwice sends a command once more if the connection broke or the server is no longer
// the primary.
func (c *conn) askTwice(ctx context.Context, doing, db string, cmd []byte) (string, error) {
	reply, err := c.run(ctx, db, cmd)
	if err != nil && frame.Over(ctx) == nil && !mongodriver.IsTimeout(err) &&
		(hasLabel(err, "NetworkError") || slices.Contains(interrupted[:], codeOf(err))) {
		reply, err = c.run(ctx, db, cmd)
	}
	return reply, c.failed(ctx, doing, err)
}

// alter sends a command that may be done already, which the server says with a code.
// One that waits for another program, which does the same, is sent again.
func (c *conn) alter(ctx context.Context, doing string, w *bson.Writer, done int) error {
	err := c.insist(ctx, durable(w), codeWriteConflict, 5*time.Millisecond)
	if codeOf(err) == done {
		return nil
	}
	return c.failed(ctx, doing, err)
}

// insist sends a command again as long as the server answers it with a code, ten times at most, with pauses that
// grow.
func (c *conn) insist(ctx context.Context, cmd []byte, again int, pause time.Duration) error {
	for attempt := 1; ; attempt++ {
		_, err := c.run(ctx, c.db, cmd)
		if codeOf(err) != again || attempt > 10 {
			return err
		}
		if err := who.Sleep(ctx, time.Duration(attempt)*pause); err != nil {
			return err
		}
	}
}

// A batch is what an answer has of the documents that were asked for.
type batch struct {
	rest bson.Elements // the documents, as elements of an array
	size int           // bytes of all of them
	more bool          // there are others, which the answer had no room for

	cursor    int64  // of those others
	namespace string // of the cursor
}

// documents sends a command that answers documents. Those for which the answer has no
// room are to be asked for anew: the server need not keep them.
func (c *conn) documents(ctx context.Context, doing string, cmd []byte) (batch, error) {
	b, err := c.batch(ctx, doing, cmd)
	if b.more {
		c.forget(ctx, &b)
	}
	return b, err
}

// batch is documents of which the server keeps the others.
func (c *conn) batch(ctx context.Context, doing string, cmd []byte) (b batch, err error) {
	reply, err := c.ask(ctx, doing, c.db, cmd)
	if err != nil {
		return b, err
	}
	in := bson.ElementsOf(bson.Find(reply, "cursor").Data)
	for e, ok := in.Next(); ok; e, ok = in.Next() {
		switch e.Name {
		case "firstBatch", "nextBatch":
			b.rest, b.size = bson.ElementsOf(e.Data), len(e.Data)
		case "id":
			b.cursor, _ = e.Number()
		case "ns":
			b.namespace = e.Data
		}
	}
	if b.size == 0 || b.rest.Bad || in.Bad {
		return batch{}, who.Corrupt("%s: %s: the answer cannot be read", doing, c.addr)
	}
	b.more = b.cursor != 0
	return b, nil
}

// collection returns the collection of the cursor.
func (b *batch) collection(db string) string { return b.namespace[min(len(b.namespace), len(db)+1):] }

// forget tells the server that nobody reads on. Without it the cursor goes by itself,
// ten minutes later.
func (c *conn) forget(ctx context.Context, b *batch) {
	w := command("killCursors", b.collection(c.db))
	w.OpenList("cursors")
	w.Int64("0", b.cursor)
	_, _ = c.run(ctx, c.db, w.End())
}
