package cassandra

import (
	"context"
	"iter"
	"slices"
	"strings"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/driver/frame"
)

// Walk yields all rows of a table in the order of the tokens of their partitions, each
// chunk as it is when its turn comes. A mark names the last row of its chunk, so that it is
// good in other programs and after restarts of servers, and when that row is gone. Where a
// chunk ends between two partitions with the same token, of which there is one in a table of
// some billions, the second is passed over.
func (s *store) Walk(ctx context.Context, t *driver.Table, from string) iter.Seq2[driver.Chunk, error] {
	return s.frame.Chunks(ctx, t, from, s.chunk)
}

// chunk reads what is left of the partition of a mark or, when that is nothing, of those
// after it.
func (s *store) chunk(ctx context.Context, v *view, from string) (driver.Chunk, error) {
	if v.native != nil {
		return driver.Chunk{}, who.Unsupported("walk %s: the server does not list an index of its own", v.native.table.Name)
	}
	m, where, args, err := v.after(v.Name, from)
	if err != nil {
		return driver.Chunk{}, err
	}
	w := walk{store: s, v: v}
	text := "SELECT " + v.walkedColumns() + " FROM " + v.table + " WHERE "
	if m.within {
		rest := append(slices.Clip(args), v.head+m.sort, driver.After(v.head), frame.ChunkRows)
		if err := w.read(ctx, text+v.where+` AND "_sort" > ? AND "_sort" < ? LIMIT ?`, rest); err != nil {
			return driver.Chunk{}, err
		}
		if w.n > 0 {
			return w.goesOn(w.n == frame.ChunkRows)
		}
	}
	err = w.read(ctx, text+where+`"_sort" >= ? AND "_sort" < ? LIMIT ? ALLOW FILTERING`, append(args, v.head, driver.After(v.head), frame.ChunkRows))
	switch {
	case err != nil:
		return driver.Chunk{}, err
	case w.n < frame.ChunkRows:
		return w.Chunk.Chunk, w.Unread.Err()
	case w.last.partition == "":
		return driver.Chunk{}, w.Unread[0] // there is no name for where the walk would go on
	}
	return w.goesOn(true)
}

// A walk is a chunk of one, as far as it was read.
type walk struct {
	frame.Chunk
	store *store
	v     *view
	n     int   // rows, and what is left of some
	last  place // of the last of them in a partition that has a name
}

// goesOn returns a chunk after which there are others, maybe of its last partition.
func (w *walk) goesOn(within bool) (driver.Chunk, error) {
	w.last.within = within
	w.Mark = w.v.mark(w.v.Name, w.last)
	return w.Chunk.Chunk, w.Unread.Err()
}

// walkedColumns returns what a walk reads: of plain rows, too, when they were written.
func (v *view) walkedColumns() string {
	if !v.Unconditional {
		return "*"
	}
	columns := append([]string{quoted(sortColumn), writtenAt}, quotedNames(v.Partition)...)
	return strings.Join(append(columns, v.quotedColumns(v.columns.Load().names)...), ", ")
}

// read reads the rows that a statement asks for, with their keys.
func (w *walk) read(ctx context.Context, text string, args []any) error {
	conn, v, doing := w.store.conn, w.v, "walk "+w.v.Name
	answer, err := conn.ask(ctx, doing, conn.query(conn.level, text, args...).PageSize(frame.ChunkRows))
	if err != nil {
		return err
	}
	r := w.store.newReader(v, nil, answer, "")
	for ; r.next(); w.n++ {
		partition, ok := r.partition()
		if !ok {
			w.Unread = append(w.Unread, r.bad(v.Partition[0].Name))
			continue
		}
		w.last = place{partition: partition, sort: strings.TrimPrefix(r.sortText(), v.head)}
		var row driver.Row
		err := r.keyed(ctx, &row, partition)
		if err == nil && row.Rev.IsZero() {
			continue // it is what is left of one
		}
		if err := w.Take(&row, err); err != nil {
			return err
		}
	}
	return conn.failed(ctx, doing, answer.Close())
}

// A place is where a walk goes on: behind a row, or behind its partition. The first walk
// begins at none.
type place struct {
	partition, sort string
	within          bool // there may be more rows in the partition
}

// mark returns a place as text, for who gives the name. A key has no U+0000.
func (v *view) mark(name string, m place) string {
	text := m.partition
	if m.within {
		text += "\x00" + m.sort
	}
	return frame.Mark(name, text)
}

// after returns the place of a mark, the condition of what lies behind its partition, and what to bind for that.
func (v *view) after(name, mark string) (m place, where string, args []any, err error) {
	at, ok := frame.ParseMark(name, mark)
	if m.partition, m.sort, m.within = strings.Cut(at, "\x00"); m.partition != "" {
		where = "token(" + strings.Join(quotedNames(v.Partition), ", ") + ") > token(" + strings.Repeat("?, ", len(v.Partition)-1) + "?) AND "
		args, err = v.partition(nil, m.partition)
	}
	if !ok || err != nil || mark != "" && m.partition == "" {
		return m, "", nil, who.OtherMark(v.Name)
	}
	return m, where, args, nil
}
