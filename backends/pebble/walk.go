package pebble

import (
	"context"
	"iter"
	"slices"

	pebbledb "github.com/cockroachdb/pebble/v2"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/driver/frame"
)

// A chunk of a walk has at most so many rows, and hardly more bytes.
const (
	chunkRows  = frame.ChunkRows
	chunkBytes = 1 << 20
)

// Walk yields all rows of a table in the order of their keys, each chunk as it is
// when its turn comes. A mark has the key of the last row.
func (s *store) Walk(ctx context.Context, t *driver.Table, mark string) iter.Seq2[driver.Chunk, error] {
	return s.frame.Chunks(ctx, t, mark, s.chunk)
}

func (s *store) chunk(_ context.Context, v *view, mark string) (driver.Chunk, error) {
	low, err := v.after(mark)
	if err != nil {
		return driver.Chunk{}, err
	}
	it, err := s.db.NewIter(&pebbledb.IterOptions{LowerBound: low, UpperBound: v.end})
	if err != nil {
		return driver.Chunk{}, s.failed("walk "+v.name, err)
	}
	defer it.Close()
	chunk, err := v.readChunk(it)
	return chunk, s.failed("walk "+v.name, err)
}

func (v *view) readChunk(it *pebbledb.Iterator) (driver.Chunk, error) {
	var chunk driver.Chunk
	var r reader
	r.init(v, nil)
	size := 0
	last := ""
	var unread driver.Unread
	for it.First(); it.Valid(); it.Next() {
		if len(chunk.Rows)+len(unread) == chunkRows || size > chunkBytes {
			chunk.Mark = frame.Mark(v.name, last)
			break
		}
		stored, err := it.ValueAndErr()
		if err != nil {
			return chunk, err
		}
		size += len(stored)
		last = string(it.Key()[len(v.prefix):])
		partition, sort, ok := driver.CutParts(last, v.partition)
		if !ok {
			unread = append(unread, driver.Errorf("the row %.200q: %w", driver.Private(last), errKey))
			continue
		}
		row := driver.Row{Key: driver.Key{Partition: partition, Sort: sort}}
		if err := r.readBytes(&row, stored); err != nil {
			unread = append(unread, driver.Errorf("the row %.200q: %w", driver.Private(last), err))
			continue
		}
		chunk.Rows = append(chunk.Rows, row)
	}
	if err := it.Error(); err != nil {
		return chunk, err
	}
	return chunk, unread.Err()
}

// after returns the least key that comes after mark, which may hold one that is no key.
func (v *view) after(mark string) ([]byte, error) {
	if mark == "" {
		return v.prefix, nil
	}
	key, ok := frame.ParseMark(v.name, mark)
	if !ok {
		return nil, who.OtherMark(v.name)
	}
	return append(slices.Concat(v.prefix, []byte(key)), 0), nil
}
