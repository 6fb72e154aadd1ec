package mongo

import (
	"context"
	"errors"
	"iter"

	"github.com/polystore/polystore/backends/mongo/internal/bson"
	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/driver/frame"
)

// Walk yields all rows of a table in the order of their keys, each chunk as it is when
// its turn comes. A mark is good for ever. Documents whose _id is no text are another
// program's, and are passed over.
func (s *store) Walk(ctx context.Context, t *driver.Table, from string) iter.Seq2[driver.Chunk, error] {
	return s.frame.Chunks(ctx, t, from, s.chunk)
}

// chunk reads the rows after a mark.
func (s *store) chunk(ctx context.Context, v *view, from string) (driver.Chunk, error) {
	if v.native != nil {
		return s.chunkNative(ctx, v, from)
	}
	after, ok := v.parseMark(from)
	if !ok {
		return driver.Chunk{}, who.OtherMark(v.Name)
	}
	w := command("find", v.collection)
	filter := w.Open(bson.Document, "filter")
	w.TextIn("_id", "$gt", after)
	w.Close(filter)
	w.Int32In("sort", "_id", 1)
	w.Int64("limit", frame.ChunkRows)
	w.Int32("batchSize", frame.ChunkRows+1)
	s.acknowledged(&w)
	b, err := s.documents(ctx, "walk "+v.Name, w)
	if err != nil {
		return driver.Chunk{}, err
	}
	return s.readChunk(ctx, v, &b)
}

func (s *store) readChunk(ctx context.Context, v *view, b *batch) (chunk driver.Chunk, err error) {
	sh := v.Shape(nil)
	n, last := 0, ""
	var unread driver.Unread
	for e, ok := b.rest.Next(); ok; e, ok = b.rest.Next() {
		n, last = n+1, idIn(e.Data)
		var row driver.Row
		switch err := s.readRow(ctx, v, &sh, e.Data, &row); {
		case errors.Is(err, driver.ErrCorrupt):
			unread = append(unread, err)
		case err != nil:
			return driver.Chunk{}, err
		default:
			chunk.Rows = append(chunk.Rows, row)
		}
	}
	if n == frame.ChunkRows || n > 0 && b.more {
		chunk.Mark = frame.Mark(v.Name, last)
	}
	return chunk, unread.Err()
}

// parseMark returns the _id after which a walk goes on. It may be one that is no key.
func (v *view) parseMark(text string) (after string, ok bool) {
	after, ok = frame.ParseMark(v.Name, text)
	return after, ok && (after != "" || text == "")
}
