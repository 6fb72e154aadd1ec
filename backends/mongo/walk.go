package mongo

import (
	"context"
	"errors"
	"iter"

	"github.com/polystore/polystore/internal/backend"
	"github.com/polystore/polystore/repo/driver"
)

// Walk yields all rows of a table in the order of their keys, each chunk as it is when
// its turn comes. A mark is good for ever. Documents whose _id is no text are another
// program's, and are passed over.
func (s *Store) Walk(ctx context.Context, t *driver.Table, from string) iter.Seq2[driver.Chunk, error] {
	return backend.Walk(from, func(from string) (driver.Chunk, error) { return s.chunk(ctx, t, from) })
}

// chunk reads the rows after a mark.
func (s *Store) chunk(ctx context.Context, t *driver.Table, from string) (driver.Chunk, error) {
	if err := s.enter(ctx); err != nil {
		return driver.Chunk{}, err
	}
	defer s.leave()
	v, err := s.views.Known(who, t)
	if err != nil {
		return driver.Chunk{}, err
	}
	if v.native != nil {
		return s.chunkNative(ctx, v, from)
	}
	after, ok := v.parseMark(from)
	if !ok {
		return driver.Chunk{}, who.OtherMark(v.name)
	}
	w := command("find", v.collection)
	filter := w.open(typeDocument, "filter")
	id := w.open(typeDocument, "_id")
	w.text("$gt", after)
	w.close(id)
	w.close(filter)
	sort := w.open(typeDocument, "sort")
	w.int32("_id", 1)
	w.close(sort)
	w.int64("limit", backend.ChunkRows)
	w.int32("batchSize", backend.ChunkRows+1)
	s.acknowledged(&w)
	b, err := s.documents(ctx, "walk "+v.name, w)
	if err != nil {
		return driver.Chunk{}, err
	}
	return s.readChunk(ctx, v, &b)
}

func (s *Store) readChunk(ctx context.Context, v *view, b *batch) (chunk driver.Chunk, err error) {
	sh := v.shape(nil)
	n, last := 0, ""
	var unread driver.Unread
	for e, ok := b.rest.next(); ok; e, ok = b.rest.next() {
		n, last = n+1, idIn(e.data)
		var row driver.Row
		switch err := s.readRow(ctx, v, &sh, e.data, &row); {
		case errors.Is(err, driver.ErrCorrupt):
			unread = append(unread, err)
		case err != nil:
			return driver.Chunk{}, err
		default:
			chunk.Rows = append(chunk.Rows, row)
		}
	}
	if n == backend.ChunkRows || n > 0 && b.more {
		chunk.Mark = backend.Mark(v.name, last)
	}
	return chunk, unread.Err()
}

// parseMark returns the _id after which a walk goes on. It may be one that is no key.
func (v *view) parseMark(text string) (after string, ok bool) {
	after, ok = backend.ParseMark(v.name, text)
	return after, ok && (after != "" || text == "")
}
