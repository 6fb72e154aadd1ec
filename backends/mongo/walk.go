package mongo

import (
	"context"
	"encoding/base64"
	"iter"
	"strings"

	"github.com/polystore/polystore/repo/driver"
)

// chunkRows is how many rows a chunk of a walk has at most.
const chunkRows = 256

// Walk yields all rows of a table in the order of their keys, each chunk as it is when
// its turn comes. A mark is good for ever. Documents whose _id is no text are another
// program's, and are passed over.
func (s *Store) Walk(ctx context.Context, t *driver.Table, from string) iter.Seq2[driver.Chunk, error] {
	return func(yield func(driver.Chunk, error) bool) {
		for more := true; more; {
			chunk, err := s.chunk(ctx, t, from)
			if err != nil {
				yield(driver.Chunk{}, err)
				return
			}
			from = chunk.Mark
			more = from != ""
			if len(chunk.Rows) > 0 && !yield(chunk, nil) {
				return
			}
		}
	}
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
	after, ok := v.parseMark(from)
	if !ok {
		return driver.Chunk{}, invalid("walk %s: the mark is not one of this table", v.name)
	}
	w := command("find", v.collection)
	filter := w.open(typeDocument, "filter")
	id := w.open(typeDocument, "_id")
	w.text("$gt", after)
	w.close(id)
	w.close(filter)
	sort := w.open(typeDocument, "sort")
	w.int32("_id", 1)
	w.close(sort)
	w.int64("limit", chunkRows)
	w.int32("batchSize", chunkRows+1)
	w.acknowledged()
	b, err := s.documents(ctx, "walk "+v.name, w)
	if err != nil {
		return driver.Chunk{}, err
	}
	return s.readChunk(ctx, v, &b)
}

func (s *Store) readChunk(ctx context.Context, v *view, b *batch) (chunk driver.Chunk, err error) {
	sh := v.shape(nil)
	for e, ok := b.rest.next(); ok; e, ok = b.rest.next() {
		var row driver.Row
		if err := s.readRow(ctx, v, &sh, e.data, &row); err != nil {
			return driver.Chunk{}, err
		}
		chunk.Rows = append(chunk.Rows, row)
	}
	if n := len(chunk.Rows); n == chunkRows || n > 0 && b.more {
		chunk.Mark = v.mark(&chunk.Rows[n-1].Key)
	}
	return chunk, nil
}

// mark returns that of a walk that goes on after a key.
func (v *view) mark(k *driver.Key) string {
	return base64.RawURLEncoding.EncodeToString([]byte(v.name + "/" + idOf(k)))
}

// parseMark returns the _id after which a walk goes on.
func (v *view) parseMark(text string) (after string, ok bool) {
	if text == "" {
		return "", true
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil {
		return "", false
	}
	name, after, ok := strings.Cut(string(raw), "/")
	if !ok || name != v.name {
		return "", false
	}
	_, ok = v.keyOf(after)
	return after, ok
}
