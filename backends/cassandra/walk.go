package cassandra

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"iter"
	"slices"
	"strings"

	"github.com/polystore/polystore/internal/backend"
	"github.com/polystore/polystore/repo/driver"
)

// Walk yields all rows of a table in the order of the tokens of their partitions, each
// chunk as it is when its turn comes. A mark names the last row of its chunk, so that it is
// good in other programs and after restarts of servers, and when that row is gone. Where a
// chunk ends between two partitions with the same token, of which there is one in a table of
// some billions, the second is passed over.
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
	return s.walk(ctx, v, from)
}

// walk reads what is left of the partition of a mark or, when that is nothing, of those
// after it.
func (s *Store) walk(ctx context.Context, v *view, from string) (chunk driver.Chunk, err error) {
	m, ok := v.parseMark(from)
	if !ok {
		return chunk, errMark(v)
	}
	where, args, err := v.after(m)
	if err != nil {
		return chunk, errMark(v)
	}
	if m.within {
		text := "SELECT " + v.walkedColumns() + " FROM " + v.table + " WHERE " + v.where + ` AND "_sort" > ? AND "_sort" < ? LIMIT ?`
		rest := append(slices.Clip(args), v.head+m.sort, driver.After(v.head), backend.ChunkRows)
		if chunk.Rows, err = s.walked(ctx, v, text, rest); err != nil {
			return driver.Chunk{}, err
		}
		if n := len(chunk.Rows); n > 0 {
			chunk.Mark = v.mark(place{chunk.Rows[n-1].Key.Partition, chunk.Rows[n-1].Key.Sort, n == backend.ChunkRows})
			return chunk, nil
		}
	}
	text := "SELECT " + v.walkedColumns() + " FROM " + v.table + " WHERE " + where + `"_sort" >= ? AND "_sort" < ? LIMIT ? ALLOW FILTERING`
	if chunk.Rows, err = s.walked(ctx, v, text, append(args, v.head, driver.After(v.head), backend.ChunkRows)); err != nil {
		return driver.Chunk{}, err
	}
	if n := len(chunk.Rows); n == backend.ChunkRows {
		chunk.Mark = v.mark(place{chunk.Rows[n-1].Key.Partition, chunk.Rows[n-1].Key.Sort, true})
	}
	return chunk, nil
}

// walkedColumns returns what a walk reads: of plain rows, too, when they were written.
func (v *view) walkedColumns() string {
	if !v.plain {
		return "*"
	}
	var b strings.Builder
	b.WriteString(quoted(sortColumn) + `, WRITETIME("_rev") AS ` + quoted(writtenColumn))
	for _, p := range v.parts {
		b.WriteString(", " + quoted(p.Name))
	}
	for _, name := range v.columns.Load().names {
		b.WriteString(", " + quoted(name))
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
	return tokenOf(v.parts) + " > token(" + strings.Repeat("?, ", len(v.parts)-1) + "?) AND ", args, err
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
func (s *Store) walked(ctx context.Context, v *view, text string, args []any) ([]driver.Row, error) {
	answer, err := s.ask(ctx, "walk "+v.name, s.query(s.level, text, args...).PageSize(backend.ChunkRows))
	if err != nil {
		return nil, err
	}
	var rows []driver.Row
	r := s.newReader(v, nil, answer, "")
	for r.next() {
		var row driver.Row
		partition, ok := r.partition()
		if !ok {
			return nil, r.bad(v.parts[0].Name)
		}
		if err := r.keyed(ctx, &row, partition); err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, s.failed(ctx, "walk "+v.name, answer.Close())
}

func errMark(v *view) error {
	return who.OtherMark(v.name)
}

// A place is where a walk goes on: behind a row, or behind its partition. The first walk
// begins at none.
type place struct {
	partition, sort string
	within          bool // there may be more rows in the partition
}

// mark returns a place as text. A key has no U+0000.
func (v *view) mark(m place) string {
	text := []byte(v.name + "\x00" + m.partition)
	if m.within {
		text = append(text, "\x00"+m.sort...)
	}
	return base64.RawURLEncoding.EncodeToString(binary.BigEndian.AppendUint32(text, crc32.ChecksumIEEE(text)))
}

// parseMark returns the place with which a walk goes on.
func (v *view) parseMark(text string) (m place, ok bool) {
	if text == "" {
		return m, true
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(raw) < 4 {
		return m, false
	}
	body, sum := raw[:len(raw)-4], binary.BigEndian.Uint32(raw[len(raw)-4:])
	name, rest, ok := strings.Cut(string(body), "\x00")
	m.partition, m.sort, m.within = strings.Cut(rest, "\x00")
	return m, ok && name == v.name && m.partition != "" && crc32.ChecksumIEEE(body) == sum
}
