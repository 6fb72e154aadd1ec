package mongo

import (
	"context"
	"slices"

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
	t, cols := v.native.table, v.native.all()
	if slices.ContainsFunc(cols, func(f keyField) bool { return f.elem }) {
		return driver.Chunk{}, who.Unsupported("walk %s: the server does not list elements", t.Name)
	}
	after, err := v.afterEntry(from, len(cols))
	if err != nil {
		return driver.Chunk{}, err
	}
	rest := run{cols: cols, branches: after.branches(cols, 0, "$gt", "$lt"), mixed: true}
	w := command("find", v.collection)
	rest.filter(&w, "filter")
	directions(&w, "sort", cols, false)
	w.Text("hint", t.Name)
	w.Int64("limit", mostEntries)
	w.Int32("batchSize", mostEntries+1)
	w.Open("projection")
	for _, f := range cols {
		w.Int32(f.name, 1)
	}
	b, err := conn.documents(ctx, "walk "+t.Name, conn.acknowledged(&w))
	if err != nil {
		return driver.Chunk{}, v.lostIndex(err)
	}
	return wk.readEntries(&b)
}

// afterEntry returns the place behind the entry that a mark names, the zero one at the beginning.
func (v *view) afterEntry(from string, columns int) (place, error) {
	t := v.native.table
	text, ok := frame.ParseMark(t.Name, from)
	if ok && text == "" {
		return place{}, nil
	}
	vals, rest, err := driver.ParseParts(nil, text, slices.Concat(t.Partition, t.Sort))
	if !v.native.unique {
		vals = append(vals, driver.StringValue(rest))
	}
	if !ok || err != nil || len(vals) != columns {
		return place{}, who.OtherMark(t.Name)
	}
	return place{vals: vals, over: true}, nil
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
