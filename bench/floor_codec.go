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

// readRecord fills p from a stored record. Its texts are slices of one copy.
func readRecord(p *post, stored []byte) error {
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
	text := string(stored[16+n:])
	for _, s := range [...]*string{&p.ID, &p.Author, &p.Category, &p.Title, &p.Body} {
		var ok bool
		if *s, text, ok = cutText(text); !ok {
			return errRecord
		}
	}
	return nil
}

// cutText takes a text and its length from the beginning of s.
func cutText(s string) (text, rest string, ok bool) {
	var n uint64
	for i := 0; i < len(s) && i < 4; i++ {
		n |= uint64(s[i]&0x7f) << (7 * i)
		if s[i] < 0x80 {
			s = s[i+1:]
			if n > uint64(len(s)) {
				return "", "", false
			}
			return s[:n], s[n:], true
		}
	}
	return "", "", false
}
