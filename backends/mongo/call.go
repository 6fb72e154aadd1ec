package mongo

import (
	"context"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	mongodriver "go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/polystore/polystore/internal/backend"
	"github.com/polystore/polystore/repo/driver"
)

// run sends a command once and returns the answer. The client sends no command that
// is given to it as a document a second time, whatever its retryWrites and retryReads
// are, unless the server answered that it was too busy to begin; and adds no concern
// and no read preference of its own.
func (s *Store) run(ctx context.Context, db string, cmd []byte) (string, error) {
	sent := driver.TallyOf(ctx).Begin(ctx, 1)
	raw, err := s.client.Database(db).RunCommand(ctx, bson.Raw(cmd)).Raw()
	sent.End(1, 1, err)
	if err == nil {
		s.undoWaiting()
	}
	return textOf(raw), err
}

// command begins one on a collection.
func command(verb, collection string) writer {
	w := make(writer, 0, 512)
	w.begin()
	w.text(verb, collection)
	return w
}

// durable ends a command that writes, outside of a transaction.
func (w *writer) durable() {
	at := w.open(typeDocument, "writeConcern")
	w.text("w", "majority")
	w.bool("j", true)
	w.close(at)
	w.close(0)
}

// ask sends a command that may be sent again: until a primary answers that knows all that
// was acknowledged.
func (s *Store) ask(ctx context.Context, doing, db string, cmd []byte) (string, error) {
	return s.askCurrent(ctx, doing, func() (string, error) { return s.askTwice(ctx, doing, db, cmd) })
}

// askTwice sends a command once more if the connection broke or the server is no longer
// the primary.
func (s *Store) askTwice(ctx context.Context, doing, db string, cmd []byte) (string, error) {
	reply, err := s.run(ctx, db, cmd)
	if err != nil && backend.Over(ctx) == nil && !mongodriver.IsTimeout(err) &&
		(hasLabel(err, "NetworkError") || slices.Contains(interrupted[:], codeOf(err))) {
		reply, err = s.run(ctx, db, cmd)
	}
	return reply, s.failed(ctx, doing, err)
}

// A batch is what an answer has of the documents that were asked for.
type batch struct {
	rest elements // the documents, as elements of an array
	size int      // bytes of all of them
	more bool     // there are others, which the answer had no room for
}

// documents sends a command that answers documents. Those for which the answer has no
// room are to be asked for anew: the server need not keep them.
func (s *Store) documents(ctx context.Context, doing string, cmd []byte) (batch, error) {
	reply, err := s.ask(ctx, doing, s.db, cmd)
	if err != nil {
		return batch{}, err
	}
	b, cursor, namespace := readBatch(reply)
	if b.rest.bad {
		return b, corrupt("%s: %s: the answer cannot be read", doing, s.addr)
	}
	if b.more = cursor != 0; b.more {
		s.forget(ctx, namespace, cursor)
	}
	return b, nil
}

func readBatch(reply string) (b batch, cursor int64, namespace string) {
	b.rest.bad = true
	in := elementsOf(reply)
	for e, ok := in.next(); ok; e, ok = in.next() {
		if e.name != "cursor" || e.kind != typeDocument {
			continue
		}
		of := elementsOf(e.data)
		for e, ok := of.next(); ok; e, ok = of.next() {
			switch e.name {
			case "firstBatch":
				b.rest, b.size = elementsOf(e.data), len(e.data)
			case "id":
				cursor, _ = e.number()
			case "ns":
				namespace = e.data
			}
		}
		b.rest.bad = b.rest.bad || of.bad
	}
	return b, cursor, namespace
}

// forget tells the server that nobody reads on. Without it the cursor goes by itself,
// ten minutes later.
func (s *Store) forget(ctx context.Context, namespace string, cursor int64) {
	w := command("killCursors", namespace[min(len(namespace), len(s.db)+1):])
	at := w.open(typeArray, "cursors")
	w.int64("0", cursor)
	w.close(at)
	w.close(0)
	_, _ = s.run(ctx, s.db, w)
}
