package mongo

import (
	"context"
	"slices"

	mongobson "go.mongodb.org/mongo-driver/v2/bson"
	mongodriver "go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/polystore/polystore/backends/mongo/internal/bson"
	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/driver/frame"
)

// run sends a command once and returns the answer. The client sends no command that
// is given to it as a document a second time, whatever its retryWrites and retryReads
// are, unless the server answered that it was too busy to begin; and adds no concern
// and no read preference of its own.
func (s *store) run(ctx context.Context, db string, cmd []byte) (string, error) {
	sent := driver.TallyOf(ctx).Begin(ctx, 1)
	raw, err := s.client.Database(db).RunCommand(ctx, mongobson.Raw(cmd)).Raw()
	sent.End(1, 1, err)
	if err == nil {
		s.undoWaiting()
	}
	return bson.TextOf(raw), err
}

// command begins one on a collection.
func command(verb, collection string) bson.Writer {
	w := make(bson.Writer, 0, 512)
	w.Begin()
	w.Text(verb, collection)
	return w
}

// durable ends a command that writes, outside of a transaction.
func durable(w *bson.Writer) {
	at := w.Open(bson.Document, "writeConcern")
	w.Text("w", "majority")
	w.Bool("j", true)
	w.Close(at)
	w.Close(0)
}

// ask sends a command that may be sent again: until a primary answers that knows all that
// was acknowledged.
func (s *store) ask(ctx context.Context, doing, db string, cmd []byte) (string, error) {
	return s.askCurrent(ctx, doing, func() (string, error) { return s.askTwice(ctx, doing, db, cmd) })
}

// askTwice sends a command once more if the connection broke or the server is no longer
// the primary.
func (s *store) askTwice(ctx context.Context, doing, db string, cmd []byte) (string, error) {
	reply, err := s.run(ctx, db, cmd)
	if err != nil && frame.Over(ctx) == nil && !mongodriver.IsTimeout(err) &&
		(hasLabel(err, "NetworkError") || slices.Contains(interrupted[:], codeOf(err))) {
		reply, err = s.run(ctx, db, cmd)
	}
	return reply, s.failed(ctx, doing, err)
}

// A batch is what an answer has of the documents that were asked for.
type batch struct {
	rest bson.Elements // the documents, as elements of an array
	size int           // bytes of all of them
	more bool          // there are others, which the answer had no room for
}

// documents sends a command that answers documents. Those for which the answer has no
// room are to be asked for anew: the server need not keep them.
func (s *store) documents(ctx context.Context, doing string, cmd []byte) (batch, error) {
	reply, err := s.ask(ctx, doing, s.db, cmd)
	if err != nil {
		return batch{}, err
	}
	b, cursor, namespace := readBatch(reply)
	if b.rest.Bad {
		return b, who.Corrupt("%s: %s: the answer cannot be read", doing, s.addr)
	}
	if b.more = cursor != 0; b.more {
		s.forget(ctx, namespace, cursor)
	}
	return b, nil
}

func readBatch(reply string) (b batch, cursor int64, namespace string) {
	b.rest.Bad = true
	in := bson.ElementsOf(reply)
	for e, ok := in.Next(); ok; e, ok = in.Next() {
		if e.Name != "cursor" || e.Kind != bson.Document {
			continue
		}
		of := bson.ElementsOf(e.Data)
		for e, ok := of.Next(); ok; e, ok = of.Next() {
			switch e.Name {
			case "firstBatch":
				b.rest, b.size = bson.ElementsOf(e.Data), len(e.Data)
			case "id":
				cursor, _ = e.Number()
			case "ns":
				namespace = e.Data
			}
		}
		b.rest.Bad = b.rest.Bad || of.Bad
	}
	return b, cursor, namespace
}

// forget tells the server that nobody reads on. Without it the cursor goes by itself,
// ten minutes later.
func (s *store) forget(ctx context.Context, namespace string, cursor int64) {
	w := command("killCursors", namespace[min(len(namespace), len(s.db)+1):])
	at := w.Open(bson.Array, "cursors")
	w.Int64("0", cursor)
	w.Close(at)
	w.Close(0)
	_, _ = s.run(ctx, s.db, w)
}
