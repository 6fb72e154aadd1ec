package main

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/polystore/polystore/repo"
)

// The keys of the floor:
//
//	p id                                  the record
//	a author 0 created-newest-first id    a row of the index by author
//	c category 0 created-newest-first id  a row of the index by category
//
// A row is empty, or the record again in a floor that covers. A record is its
// version and its time, 8 bytes each, its views, and its texts with their lengths.
const (
	recordKey   = 'p'
	authorKey   = 'a'
	categoryKey = 'c'
)

func appendRecordKey(dst []byte, id string) []byte {
	return append(append(dst, recordKey), id...)
}

// appendRun appends what all rows of an index begin with that have one value.
func appendRun(dst []byte, index byte, value string) []byte {
	return append(append(append(dst, index), value...), 0)
}

// in returns the value of p in an index.
func (p *post) in(index byte) string {
	if index == authorKey {
		return p.Author
	}
	return p.Category
}

func appendRowKey(dst []byte, index byte, p *post) []byte {
	dst = appendRun(dst, index, p.in(index))
	dst = binary.BigEndian.AppendUint64(dst, newestFirst(p.Created))
	return append(dst, p.ID...)
}

func newestFirst(t time.Time) uint64 { return ^(uint64(t.UnixMilli()) ^ 1<<63) }

func appendRecord(dst []byte, p *post) []byte {
	dst = append(dst, p.Version[:8]...)
	dst = binary.LittleEndian.AppendUint64(dst, uint64(p.Created.UnixMilli()))
	dst = binary.AppendVarint(dst, p.Views)
	for _, s := range [...]string{p.ID, p.Author, p.Category, p.Title, p.Body} {
		dst = binary.AppendUvarint(dst, uint64(len(s)))
		dst = append(dst, s...)
	}
	return dst
}

var errRecord = fmt.Errorf("a record that the floor has not written: %w", repo.ErrCorrupt)

// readRecord fills p from a stored record. Its texts are cut from one copy, or
// copied one by one.
func readRecord(p *post, stored []byte, oneCopy bool) error {
	if len(stored) < 16 {
		return errRecord
	}
	copy(p.Version[:8], stored)
	p.Created = time.UnixMilli(int64(binary.LittleEndian.Uint64(stored[8:]))).UTC()
	views, n := binary.Varint(stored[16:])
	if n <= 0 {
		return errRecord
	}
	p.Views = views
	rest, whole := stored[16+n:], ""
	if oneCopy {
		whole = string(rest)
	}
	from, to := 0, 0
	for _, s := range [...]*string{&p.ID, &p.Author, &p.Category, &p.Title, &p.Body} {
		size, n := binary.Uvarint(rest[to:])
		if n <= 0 || size > uint64(len(rest)-to-n) {
			return errRecord
		}
		from = to + n
		to = from + int(size)
		if oneCopy {
			*s = whole[from:to]
		} else {
			*s = string(rest[from:to])
		}
	}
	return nil
}
