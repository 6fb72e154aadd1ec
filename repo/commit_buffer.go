package repo

import (
	"sync"

	"github.com/polystore/polystore/repo/driver"
)

// A writeBuffer is the memory of a write of one record, and is reused. Nothing
// that it holds may outlive the operation.
type writeBuffer struct {
	writes [1]write
	next   record         // for write.next
	parts  []driver.Value // of a key that a caller gave
}

var writeBuffers = sync.Pool{New: func() any { return new(writeBuffer) }}

func newWriteBuffer() *writeBuffer { return writeBuffers.Get().(*writeBuffer) }

// ofKey returns a write of a verb on the record under a key.
func (b *writeBuffer) ofKey(c *writer, verb verb, key []any) (*write, error) {
	w := &b.writes[0]
	dk, vals, err := c.keyIn(b.parts, key)
	if err == nil {
		b.parts = vals
		w.verb, w.key, w.keyVals = verb, dk, vals
	}
	return w, err
}

// release gives b back, without what it refers to.
func (b *writeBuffer) release() {
	old, next, parts := b.writes[0].old.vals, b.next.vals, b.parts
	clear(old)
	clear(next)
	clear(parts)
	*b = writeBuffer{next: record{vals: next[:0]}, parts: parts[:0]}
	b.writes[0].old.vals = old[:0]
	writeBuffers.Put(b)
}
