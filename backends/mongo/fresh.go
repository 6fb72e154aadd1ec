package mongo

import (
	"context"
	"fmt"
	"time"

	"github.com/polystore/polystore/backends/mongo/internal/bson"
	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/driver/frame"
)

// A primary that was elected a moment ago has all that was acknowledged before, but it
// does not know of all of it that a majority has it, and shows to readers what it knows.
// It knows all as soon as a majority has a write of its own, with which it begins. So who
// reads asks the server for its term, which an election raises, and for that of the last
// write that a majority has; and reads again unless it was known before that the two are
// the same.

// acknowledged ends a command that reads what cannot be lost any more, and all that is open in it. It asks for the
// terms, too.
func (c *conn) acknowledged(w *bson.Writer) []byte { return c.concerned(w, "majority") }

// concerned is acknowledged with a read concern, "snapshot" to read at one instant.
func (c *conn) concerned(w *bson.Writer, level string) []byte {
	w.CloseAll()
	w.TextIn("readConcern", "level", level)
	if c.set {
		w.Int32("$replData", 1)
	}
	return w.End()
}

// current reports whether an answer was given by the primary of a term, 0 of none, and
// takes notice if the server is one that knows all by now.
func (c *conn) current(reply string, term int64) bool {
	now, committed, ok := termsOf(reply)
	if !ok {
		return true // nobody asked
	}
	for known := c.term.Load(); committed == now && known < now; known = c.term.Load() {
		if c.term.CompareAndSwap(known, now) {
			break
		}
	}
	return now == term
}

// termsOf returns the term of the server that answered, and that of the last write that
// a majority has.
func termsOf(reply string) (term, committed int64, ok bool) {
	data := bson.Find(reply, "$replData")
	last := bson.Find(data.Data, "lastOpCommitted")
	now, at := bson.Find(data.Data, "term"), bson.Find(last.Data, "t")
	if now.Kind != bson.Int64 || at.Kind != bson.Int64 {
		return 0, 0, false
	}
	return int64(now.Word()), int64(at.Word()), true
}

// ask sends a command that may be sent again: until a primary answers that knows all that was acknowledged.
func (c *conn) ask(ctx context.Context, doing, db string, cmd []byte) (string, error) {
	begun := time.Now()
	for attempt := 0; ; attempt++ {
		term := c.term.Load()
		reply, err := c.askTwice(ctx, doing, db, cmd)
		if err != nil || c.current(reply, term) {
			return reply, err
		}
		if time.Since(begun) > frame.Patience {
			return "", fmt.Errorf("mongo: %s: %s: since it was elected, no majority of the servers has had a write of the primary, so what it shows may be old: %w",
				doing, c.addr, driver.ErrUnavailable)
		}
		if err := who.Sleep(ctx, time.Duration(min(attempt, 20))*time.Millisecond); err != nil {
			return "", err
		}
	}
}
