package scan

import (
	"slices"
	"sync"

	"github.com/polystore/polystore/repo/driver"
)

// A readBuffer holds rows that are read by key, and is reused.
type readBuffer struct {
	Keys  []driver.Key
	parts []driver.Value // of a single key
	Rows  []driver.Row
	vals  []driver.Value
	found []found // which rows of an index name them
}

var readBuffers = sync.Pool{New: func() any { return new(readBuffer) }}

// NewReadBuffer returns a buffer for the reading of n records by key. Release it afterwards.
func NewReadBuffer(n int) *readBuffer {
	b := readBuffers.Get().(*readBuffer)
	b.prepare(n)
	return b
}

// prepare makes room for n rows, of which the keys are to be added.
func (b *readBuffer) prepare(n int) {
	b.wipe(n)
	b.Rows = slices.Grow(b.Rows[:0], n)[:n]
	b.Keys = b.Keys[:0]
}

// wipe removes the strings of the rows but the first n.
func (b *readBuffer) wipe(n int) {
	for i := n; i < len(b.Rows); i++ {
		r := &b.Rows[i]
		clear(r.Fields[:cap(r.Fields)])
		clear(r.Extra[:cap(r.Extra)])
		r.Reset()
	}
}

// oneKey makes the key of parts the only one to read. Their values stay in b.parts.
func (b *readBuffer) oneKey(c *Reader, parts []any) (err error) {
	var key driver.Key
	if key, b.parts, err = c.KeyIn(b.parts, parts); err == nil {
		b.Keys = append(b.Keys, key)
	}
	return err
}

// Release gives b back, without the strings that it refers to.
func (b *readBuffer) Release() {
	if cap(b.Rows) > 1024 {
		return
	}
	b.wipe(0)
	b.Rows = b.Rows[:0]
	clear(b.vals[:cap(b.vals)])
	clear(b.Keys[:cap(b.Keys)])
	clear(b.parts[:cap(b.parts)])
	clear(b.found[:cap(b.found)])
	readBuffers.Put(b)
}
