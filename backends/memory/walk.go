package memory

import (
	"context"
	"iter"
	"strings"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/driver/frame"
)

// Walk yields all rows of a table in the order of their keys. A mark has
// the key of the last row.
func (s *store) Walk(ctx context.Context, t *driver.Table, mark string) iter.Seq2[driver.Chunk, error] {
	return s.frame.Chunks(ctx, t, mark, func(_ context.Context, v *view, mark string) (driver.Chunk, error) { return s.chunk(v, t, mark) })
}

func (s *store) chunk(v *view, t *driver.Table, mark string) (driver.Chunk, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	low, err := after(t.Name, mark)
	if err != nil {
		return driver.Chunk{}, err
	}
	rows := v.ranged()
	var chunk driver.Chunk
	r := rows.from(low)
	for ; r != nil && len(chunk.Rows) < frame.ChunkRows; r = rows.from(low) {
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
		chunk.Mark = frame.Mark(t.Name, strings.TrimSuffix(low, "\x00"))
	}
	return chunk, nil
}

// loadEntry sets out to an entry of a native table.
func (r *row) loadEntry(out *driver.Row, t *driver.Table) error {
	out.Key, out.Rev = r.of.driverKey(), r.of.rev
	var err error
	out.Fields, err = frame.KeyValues(t, r.driverKey())
	return who.Wrap(err)
}

// after returns the least key that comes after a mark of a table.
func after(table, mark string) (string, error) {
	if mark == "" {
		return "", nil
	}
	key, ok := frame.ParseMark(table, mark)
	if !ok {
		return "", who.OtherMark(table)
	}
	return key + "\x00", nil
}
