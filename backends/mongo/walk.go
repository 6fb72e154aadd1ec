package mongo

import (
	"context"
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
	v, err := s.view(t)
	if err != nil {
		return driver.Chunk{}, err
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
	for e, ok := b.rest.next(); ok; e, ok = b.rest.next() {
		var row driver.Row
		if err := s.readRow(ctx, v, &sh, e.data, &row); err != nil {
			return driver.Chunk{}, err
		}
		chunk.Rows = append(chunk.Rows, row)
	}
	if n := len(chunk.Rows); n == backend.ChunkRows || n > 0 && b.more {
		chunk.Mark = backend.Mark(v.name, idOf(&chunk.Rows[n-1].Key))
	}
	return chunk, nil
}

// parseMark returns the _id after which a walk goes on.
func (v *view) parseMark(text string) (after string, ok bool) {
	after, ok = backend.ParseMark(v.name, text)
	if !ok || after == "" {
		return "", text == ""
	}
	_, ok = v.keyOf(after)
	return after, ok
}
