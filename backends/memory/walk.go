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
	v, err := s.view(t)
	if err != nil {
		return driver.Chunk{}, err
	}
	low, err := v.after(mark)
	if err != nil {
		return driver.Chunk{}, err
	}
	var chunk driver.Chunk
	r := v.rows.from(low)
	for ; r != nil && len(chunk.Rows) < backend.ChunkRows; r = v.rows.from(low) {
		var out driver.Row
		v.load(&out, r.driverKey(), r, nil)
		chunk.Rows = append(chunk.Rows, out)
		low = r.key + "\x00"
	}
	if r != nil {
		chunk.Mark = backend.Mark(v.name, strings.TrimSuffix(low, "\x00"))
	}
	return chunk, nil
}

// after returns the least key that comes after mark.
func (v *view) after(mark string) (string, error) {
	if mark == "" {
		return "", nil
	}
	key, ok := backend.ParseMark(v.name, mark)
	if !ok {
		return "", who.OtherMark(v.name)
	}
	return key + "\x00", nil
}
