package cassandra

import (
	"context"
	"errors"
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
	return s.frame.Chunks(ctx, t, from, s.walk)
}

// walk reads what is left of the partition of a mark or, when that is nothing, of those
// after it.
func (s *store) walk(ctx context.Context, v *view, from string) (driver.Chunk, error) {
	if v.native != nil {
		return driver.Chunk{}, who.Unsupported("walk %s: the server does not list an index of its own", v.native.table.Name)
	}
	m, ok := v.parseMark(v.Name, from)
	if !ok {
		return driver.Chunk{}, who.OtherMark(v.Name)
	}
	where, args, err := v.after(m)
	if err != nil {
		return driver.Chunk{}, who.OtherMark(v.Name)
	}
	if m.within {
		text := "SELECT " + v.walkedColumns() + " FROM " + v.table + " WHERE " + v.where + ` AND "_sort" > ? AND "_sort" < ? LIMIT ?`
		rest := append(slices.Clip(args), v.head+m.sort, driver.After(v.head), frame.ChunkRows)
		p, err := s.walked(ctx, v, text, rest)
		if err != nil {
			return driver.Chunk{}, err
		}
		if p.n > 0 {
			p.last.within = p.n == frame.ChunkRows
			return driver.Chunk{Rows: p.rows, Mark: v.mark(v.Name, p.last)}, p.unread.Err()
		}
	}
	text := "SELECT " + v.walkedColumns() + " FROM " + v.table + " WHERE " + where + `"_sort" >= ? AND "_sort" < ? LIMIT ? ALLOW FILTERING`
	p, err := s.walked(ctx, v, text, append(args, v.head, driver.After(v.head), frame.ChunkRows))
	switch {
	case err != nil:
		return driver.Chunk{}, err
	case p.n < frame.ChunkRows:
		return driver.Chunk{Rows: p.rows}, p.unread.Err()
	case p.last.partition == "":
		return driver.Chunk{}, p.unread[0] // there is no name for where the walk would go on
	}
	p.last.within = true
	return driver.Chunk{Rows: p.rows, Mark: v.mark(v.Name, p.last)}, p.unread.Err()
}

// A page is what one statement of a walk has read.
type page struct {
	rows   []driver.Row
	unread driver.Unread
	n      int   // of both
	last   place // of the last of them in a partition that has a name
}

// walkedColumns returns what a walk reads: of plain rows, too, when they were written.
func (v *view) walkedColumns() string {
	if !v.Plain {
		return "*"
	}
	var b strings.Builder
	b.WriteString(quoted(sortColumn) + `, WRITETIME("_rev") AS ` + quoted(writtenColumn))
	for _, p := range v.Partition {
		b.WriteString(", " + quoted(p.Name))
	}
	for _, name := range v.columns.Load().names {
		b.WriteString(", " + quoted(v.column(name)))
	}
	return b.String()
}

// after returns the condition of a walk behind the partition of a mark, and what to bind
// for it.
func (v *view) after(m place) (string, []any, error) {
	if m.partition == "" {
		return "", nil, nil
	}
	args, err := v.partition(nil, m.partition)
	return tokenOf(v.Partition) + " > token(" + strings.Repeat("?, ", len(v.Partition)-1) + "?) AND ", args, err
}

// tokenOf returns the token of partition columns as statements have it.
func tokenOf(parts []driver.Column) string {
	names := make([]string, len(parts))
	for i, p := range parts {
		names[i] = quoted(p.Name)
	}
	return "token(" + strings.Join(names, ", ") + ")"
}

// walked reads the rows that a statement asks for, with their keys.
func (s *store) walked(ctx context.Context, v *view, text string, args []any) (p page, err error) {
	answer, err := s.ask(ctx, "walk "+v.Name, s.query(s.level, text, args...).PageSize(frame.ChunkRows))
	if err != nil {
		return p, err
	}
	r := s.newReader(v, nil, answer, "")
	for ; r.next(); p.n++ {
		partition, ok := r.partition()
		if !ok {
			p.unread = append(p.unread, r.bad(v.Partition[0].Name))
			continue
		}
		p.last = place{partition: partition, sort: strings.TrimPrefix(r.sortText(), v.head)}
		var row driver.Row
		switch err := r.keyed(ctx, &row, partition); {
		case errors.Is(err, driver.ErrCorrupt):
			p.unread = append(p.unread, err)
		case err != nil:
			return p, err
		case !row.Rev.IsZero(): // else it is what is left of one
			p.rows = append(p.rows, row)
		}
	}
	return p, s.failed(ctx, "walk "+v.Name, answer.Close())
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

// parseMark returns the place with which a walk goes on.
func (v *view) parseMark(name, text string) (m place, ok bool) {
	at, ok := frame.ParseMark(name, text)
	m.partition, m.sort, m.within = strings.Cut(at, "\x00")
	return m, ok && (text == "" || m.partition != "")
}
