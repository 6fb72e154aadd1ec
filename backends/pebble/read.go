package pebble

import (
	"context"
	"errors"
	"sync"
	"unsafe"

	pebbledb "github.com/cockroachdb/pebble/v2"

	"github.com/polystore/polystore/repo/driver"
)

// copyWhole is up to which length a row is copied as a whole, with one
// allocation, although a mask asks for a part of it only.
const copyWhole = 4 << 10

// A getter is what a Get needs beside the results.
type getter struct {
	reader reader
	key    []byte
}

var getters = sync.Pool{New: func() any { return new(getter) }}

// ctxEvery is how many rows are read between two looks at the context.
const ctxEvery = 64

// Get reads the rows under keys into rows.
func (s *store) Get(ctx context.Context, v *view, keys []driver.Key, mask []int, rows []driver.Row) error {
	g := getters.Get().(*getter)
	defer getters.Put(g)
	g.reader.init(v, mask)
	for i := range keys {
		if i%ctxEvery == ctxEvery-1 {
			if err := who.Over(ctx); err != nil {
				return err
			}
		}
		if err := s.get(g, &keys[i], &rows[i]); err != nil {
			return err
		}
	}
	return nil
}

func (s *store) get(g *getter, key *driver.Key, row *driver.Row) error {
	row.Reset()
	row.Key.Partition, row.Key.Sort = key.Partition, key.Sort
	g.key = appendKey(g.key[:0], g.reader.prefix, key.Partition, key.Sort)
	hash := s.locks.hash(g.key)
	stripe := s.locks.of(hash)
	changes := stripe.changes.Load() // before the row, see there
	stored, closer, err := s.db.Get(g.key)
	if err == nil {
		err = g.reader.readBytes(row, stored)
		closer.Close()
	} else if errors.Is(err, pebbledb.ErrNotFound) {
		err = nil
	}
	if err != nil {
		return s.failed("get a row of "+g.reader.name, err)
	}
	row.Hint = hint(changes, hash, row.Rev)
	stripe.saw(row.Hint)
	return nil
}

// appendKey appends the key of a row to dst.
func appendKey(dst, prefix []byte, partition, sort string) []byte {
	dst = append(dst, prefix...)
	dst = append(dst, partition...)
	return append(dst, sort...)
}

// readBytes reads a row from bytes that will change.
func (r *reader) readBytes(out *driver.Row, stored []byte) error {
	head, body := cut(stored)
	if r.byPiece(stored) {
		return r.read(out, head, inPlace(body), true)
	}
	return r.read(out, head, string(body), false)
}

// byPiece reports whether the fields of a row are copied one by one.
func (r *reader) byPiece(stored []byte) bool {
	return r.mask && (r.left == 0 || len(stored) > copyWhole)
}

// inPlace returns b as a string that changes with it.
func inPlace(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
