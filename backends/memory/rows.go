package memory

import (
	"slices"
	"sort"

	"github.com/polystore/polystore/repo/driver"
)

// A row is what is stored under a key. It never changes: a commit stores
// another one.
type row struct {
	key     string // Partition and Sort; no partition text begins another one
	cut     int    // length of Partition
	rev     driver.Token
	ring    []driver.Token
	fields  []driver.Pair // present ones, ascending by name
	expires int64
	dead    bool
	note    string

	of *row // the record, if this is an entry of a native index
}

// rows is the rows of a table in the order of their keys, in blocks so that an
// insert moves few of them.
type rows struct {
	blocks [][]*row // none of them empty
	count  int
}

const blockSize = 512

// find returns the place of the first row whose key is at least key. The block
// is len(r.blocks) if there is none.
func (r *rows) find(key string) (block, at int) {
	block = sort.Search(len(r.blocks), func(i int) bool {
		b := r.blocks[i]
		return b[len(b)-1].key >= key
	})
	if block < len(r.blocks) {
		b := r.blocks[block]
		at = sort.Search(len(b), func(i int) bool { return b[i].key >= key })
	}
	return block, at
}

// from returns the first row whose key is at least key, or nil.
func (r *rows) from(key string) *row {
	block, at := r.find(key)
	if block == len(r.blocks) {
		return nil
	}
	return r.blocks[block][at]
}

// before returns the last row whose key is less than key, or the last of all
// if key is "". It returns nil if there is none.
func (r *rows) before(key string) *row {
	block, at := len(r.blocks), 0
	if key != "" {
		block, at = r.find(key)
	}
	if at > 0 {
		return r.blocks[block][at-1]
	}
	if block > 0 {
		b := r.blocks[block-1]
		return b[len(b)-1]
	}
	return nil
}

// get returns the row under key, or nil.
func (r *rows) get(key string) *row {
	if found := r.from(key); found != nil && found.key == key {
		return found
	}
	return nil
}

// set stores next in the place of the row with the same key, if there is one.
func (r *rows) set(next *row) {
	if len(r.blocks) == 0 {
		r.blocks = [][]*row{{next}}
		r.count = 1
		return
	}
	block, at := r.find(next.key)
	if block == len(r.blocks) {
		block--
		at = len(r.blocks[block])
	}
	b := r.blocks[block]
	if at < len(b) && b[at].key == next.key {
		b[at] = next
		return
	}
	r.count++
	b = slices.Insert(b, at, next)
	r.blocks[block] = b
	if len(b) > blockSize {
		half := len(b) / 2
		r.blocks[block] = slices.Clone(b[:half])
		r.blocks = slices.Insert(r.blocks, block+1, slices.Clone(b[half:]))
	}
}

// remove removes the row under key, if there is one.
func (r *rows) remove(key string) {
	block, at := r.find(key)
	if block == len(r.blocks) || r.blocks[block][at].key != key {
		return
	}
	r.count--
	r.blocks[block] = slices.Delete(r.blocks[block], at, at+1)
	if len(r.blocks[block]) == 0 {
		r.blocks = slices.Delete(r.blocks, block, block+1)
	}
}
