package mongo

import (
	"context"
	"iter"

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
	frame.Chunk
	store *store
	v     *view
}

// rows reads the rows after a mark.
func (wk *walk) rows(ctx context.Context, from string) (driver.Chunk, error) {
	conn, v := wk.store.conn, wk.v
	after, ok := frame.ParseMark(v.Name, from) // an _id, which may be none of a key
	if !ok || after == "" && from != "" {
		return driver.Chunk{}, who.OtherMark(v.Name)
	}
	w := command("find", v.collection)
	filter := w.Open("filter", "_id")
	w.Text("$gt", after)
	w.Close(filter)
	directions(&w, "sort", byID, false)
	w.Int64("limit", frame.ChunkRows)
	w.Int32("batchSize", frame.ChunkRows+1)
	b, err := conn.documents(ctx, "walk "+v.Name, conn.acknowledged(&w))
	if err != nil {
		return driver.Chunk{}, err
	}
	last, r := "", wk.store.newReader(v, nil)
	for e, ok := b.rest.Next(); ok; e, ok = b.rest.Next() {
		var row driver.Row
		last = idIn(e.Data)
		if err := wk.Take(&row, r.row(ctx, e.Data, &row)); err != nil {
			return driver.Chunk{}, err
		}
	}
	if wk.Len() == frame.ChunkRows || wk.Len() > 0 && b.more {
		wk.Mark = frame.Mark(v.Name, last)
	}
	return wk.Chunk.Chunk, wk.Unread.Err()
}
