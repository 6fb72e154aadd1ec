package commit

import (
	"sync"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/record"
)

// A writeBuffer is the memory of a write of one record, and is reused. Nothing
// that it holds may outlive the operation.
type writeBuffer struct {
	Writes [1]Write
	Next   record.Record  // for write.next
	parts  []driver.Value // of a key that a caller gave
}

var writeBuffers = sync.Pool{New: func() any { return new(writeBuffer) }}

// NewWriteBuffer returns a buffer for the writes of one call. Release it afterwards.
func NewWriteBuffer() *writeBuffer { return writeBuffers.Get().(*writeBuffer) }

// OfKey returns a write of a verb on the record under a key.
func (b *writeBuffer) OfKey(c *Writer, verb Verb, key []any) (*Write, error) {
	w := &b.Writes[0]
	dk, vals, err := c.KeyIn(b.parts, key)
	if err == nil {
		b.parts = vals
		w.By, w.Verb, w.Key, w.KeyVals = c, verb, dk, vals
	}
	return w, err
}

// Release gives b back, without what it refers to.
func (b *writeBuffer) Release() {
	old, next, parts := b.Writes[0].Old.Vals, b.Next.Vals, b.parts
	clear(old)
	clear(next)
	clear(parts)
	*b = writeBuffer{Next: record.Record{Vals: next[:0]}, parts: parts[:0]}
	b.Writes[0].Old.Vals = old[:0]
	writeBuffers.Put(b)
}
