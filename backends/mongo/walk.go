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
	wk := walk{store: s, v: v}
	if v.native != nil {
		return wk.entries(ctx, from)
	}
	return wk.rows(ctx, from)
}

// A walk is a chunk of one, as far as it was read.
type walk struct {
	store  *store
	v      *view
	chunk  driver.Chunk
	unread driver.Unread
	n      int // rows of both
}

// take adds a row to the chunk or, if it could not be read because of bad, to the others.
func (wk *walk) take(row *driver.Row, bad error) {
	if wk.n++; bad != nil {
		wk.unread = append(wk.unread, bad)
	} else {
		wk.chunk.Rows = append(wk.chunk.Rows, *row)
	}
}

// rows reads the rows after a mark.
func (wk *walk) rows(ctx context.Context, from string) (driver.Chunk, error) {
	conn, v := wk.store.conn, wk.v
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
	conn.acknowledged(&w)
	b, err := conn.documents(ctx, "walk "+v.Name, w)
	if err != nil {
		return driver.Chunk{}, err
	}
	last, r := "", wk.store.newReader(v, nil)
	for e, ok := b.rest.Next(); ok; e, ok = b.rest.Next() {
		var row driver.Row
		last = idIn(e.Data)
		err := r.row(ctx, e.Data, &row)
		if err != nil && !errors.Is(err, driver.ErrCorrupt) {
			return driver.Chunk{}, err
		}
		wk.take(&row, err)
	}
	if wk.n == frame.ChunkRows || wk.n > 0 && b.more {
		wk.chunk.Mark = frame.Mark(v.Name, last)
	}
	return wk.chunk, wk.unread.Err()
}

// parseMark returns the _id after which a walk goes on. It may be one that is no key.
func (v *view) parseMark(text string) (after string, ok bool) {
	after, ok = frame.ParseMark(v.Name, text)
	return after, ok && (after != "" || text == "")
}
