package mongo

import (
	"context"
	"slices"
	"strconv"

	"github.com/polystore/polystore/backends/mongo/internal/bson"
	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/driver/frame"
)

// mostEntries is how many entries of a native index a chunk has at most. They are small.
const mostEntries = 2 * frame.ChunkRows

// entries reads the entries of a native index after a mark, in their order. Where the
// index has the _id the server answers from it alone, without a look at a document. Of a list
// it would answer one element of each document.
func (wk *walk) entries(ctx context.Context, from string) (driver.Chunk, error) {
	conn, v := wk.store.conn, wk.v
	t, cols := v.native.table, v.native.fields()
	if slices.ContainsFunc(cols, func(f keyField) bool { return f.elem }) {
		return driver.Chunk{}, who.Unsupported("walk %s: the server does not list elements", t.Name)
	}
	if !v.native.unique {
		cols = append(cols, byID...)
	}
	after, err := v.afterEntry(from, len(cols))
	if err != nil {
		return driver.Chunk{}, err
	}
	w := command("find", v.collection)
	beyond(&w, cols, after)
	sort := w.Open(bson.Document, "sort")
	for _, f := range cols {
		w.Int32(f.name, f.direction())
	}
	w.Close(sort)
	w.Text("hint", t.Name)
	w.Int64("limit", mostEntries)
	w.Int32("batchSize", mostEntries+1)
	projection := w.Open(bson.Document, "projection")
	w.Int32("_id", 1)
	for _, f := range v.native.fields() {
		w.Int32(f.name, 1)
	}
	w.Close(projection)
	conn.acknowledged(&w)
	b, err := conn.documents(ctx, "walk "+t.Name, w)
	if err != nil {
		return driver.Chunk{}, v.lostIndex(err)
	}
	return wk.readEntries(&b)
}

// beyond appends the condition of the documents whose values come after some in the order of
// columns, or of all. Each column is named, as an index wants it that is partial.
func beyond(w *bson.Writer, cols []keyField, after []driver.Value) {
	filter := w.Open(bson.Document, "filter")
	if after == nil {
		anything(w, cols)
		w.Close(filter)
		return
	}
	or := w.Open(bson.Array, "$or")
	for i, f := range cols {
		one := w.Open(bson.Document, strconv.Itoa(i))
		for j := range i {
			w.Value(cols[j].name, after[j])
		}
		op := "$gt"
		if f.desc {
			op = "$lt"
		}
		of := w.Open(bson.Document, f.name)
		w.Value(op, after[i])
		w.Close(of)
		anything(w, cols[i+1:])
		w.Close(one)
	}
	w.Close(or)
	w.Close(filter)
}

// anything appends conditions that any value meets.
func anything(w *bson.Writer, cols []keyField) {
	for _, f := range cols {
		of := w.Open(bson.Document, f.name)
		w.Head(bson.MinKey, "$gte")
		w.Close(of)
	}
}

// afterEntry returns the values of the entry that a mark names, nil at the beginning.
func (v *view) afterEntry(from string, columns int) ([]driver.Value, error) {
	t := v.native.table
	text, ok := frame.ParseMark(t.Name, from)
	if ok && text == "" {
		return nil, nil
	}
	vals, rest, err := driver.ParseParts(nil, text, slices.Concat(t.Partition, t.Sort))
	if !v.native.unique {
		vals = append(vals, driver.StringValue(rest))
	}
	if !ok || err != nil || len(vals) != columns {
		return nil, who.OtherMark(t.Name)
	}
	return vals, nil
}

// readEntries reads the documents of an answer as entries. Documents of other programs among them
// are unread, and a chunk of these alone ends the walk: none of them is a place from which it
// could go on.
func (wk *walk) readEntries(b *batch) (driver.Chunk, error) {
	v, t, id := wk.v, wk.v.native.table, ""
	for e, ok := b.rest.Next(); ok; e, ok = b.rest.Next() {
		var row driver.Row
		err := v.readEntry(e.Data, &row)
		if err == nil {
			id = idIn(e.Data)
		}
		if err := wk.Take(&row, err); err != nil {
			return driver.Chunk{}, err
		}
	}
	if wk.Len() < mostEntries && (wk.Len() == 0 || !b.more) {
		return wk.Chunk.Chunk, wk.Unread.Err()
	}
	if len(wk.Rows) == 0 {
		return driver.Chunk{}, wk.Unread[0]
	}
	text, err := driver.AppendParts(nil, slices.Concat(t.Partition, t.Sort), wk.Rows[len(wk.Rows)-1].Fields)
	if err != nil {
		return driver.Chunk{}, v.badRow(id, "_id")
	}
	if !v.native.unique {
		text = append(text, id...)
	}
	wk.Mark = frame.Mark(t.Name, string(text))
	return wk.Chunk.Chunk, wk.Unread.Err()
}

// readEntry reads a document as an entry.
func (v *view) readEntry(data string, row *driver.Row) error {
	cols, id := v.native.fields(), idIn(data)
	row.Rev, row.Fields = someToken, make([]driver.Value, len(cols))
	for i, f := range cols {
		if row.Fields[i] = fieldIn(data, f.name); row.Fields[i].Kind() != f.kind {
			return v.badRow(id, f.name)
		}
	}
	ok := false
	if row.Key, ok = v.keyOf(id); !ok {
		return v.badRow(id, "_id")
	}
	return nil
}
