package memory

import (
	"context"
	"iter"
	"strings"

	"github.com/polystore/polystore/internal/backend"
	"github.com/polystore/polystore/repo/driver"
)

// Walk yields all rows of a table in the order of their keys. A mark has
// the key of the last row.
func (s *Store) Walk(ctx context.Context, t *driver.Table, mark string) iter.Seq2[driver.Chunk, error] {
	return backend.Walk(mark, func(mark string) (driver.Chunk, error) { return s.chunk(ctx, t, mark) })
}

func (s *Store) chunk(ctx context.Context, t *driver.Table, mark string) (driver.Chunk, error) {
	if err := s.read(ctx); err != nil {
		return driver.Chunk{}, err
	}
	defer s.mu.RUnlock()
	rows, v, err := s.ranged(&driver.Span{Table: t})
	if err != nil {
		return driver.Chunk{}, err
	}
	low, err := after(t.Name, mark)
	if err != nil {
		return driver.Chunk{}, err
	}
	var chunk driver.Chunk
	r := rows.from(low)
	for ; r != nil && len(chunk.Rows) < backend.ChunkRows; r = rows.from(low) {
		var out driver.Row
		if r.of == nil {
			v.load(&out, r.driverKey(), r, nil)
		} else if err := r.loadEntry(&out, t); err != nil {
			return driver.Chunk{}, err
		}
		chunk.Rows = append(chunk.Rows, out)
		low = r.key + "\x00"
	}
	if r != nil {
		chunk.Mark = backend.Mark(t.Name, strings.TrimSuffix(low, "\x00"))
	}
	return chunk, nil
}

// loadEntry sets out to an entry of a native table.
func (r *row) loadEntry(out *driver.Row, t *driver.Table) error {
	out.Key, out.Rev = r.of.driverKey(), r.of.rev
	key := r.driverKey()
	vals, _, err := driver.ParseParts(nil, key.Partition, t.Partition)
	if err == nil {
		out.Fields, _, err = driver.ParseParts(vals, key.Sort, t.Sort)
	}
	return who.Wrap(err)
}

// after returns the least key that comes after a mark of a table.
func after(table, mark string) (string, error) {
	if mark == "" {
		return "", nil
	}
	key, ok := backend.ParseMark(table, mark)
	if !ok {
		return "", who.OtherMark(table)
	}
	return key + "\x00", nil
}
