package pebble

import (
	"encoding/binary"
	"math"
	"strings"
	"unsafe"

	"github.com/polystore/polystore/repo/driver"
)

// A tag is the kind of a stored value. It has four bits.
const (
	tagNone   = 0 // of an element of a list or a map
	tagFalse  = 1
	tagInt    = 2
	tagFloat  = 3
	tagString = 4
	tagBytes  = 5
	tagTime   = 6
	tagList   = 7
	tagMap    = 8
	tagTrue   = 9
)

func tagOf(v *driver.Value) byte {
	switch k := v.Kind(); {
	case k == driver.Bool && v.Bool():
		return tagTrue
	default:
		return byte(k) // the other tags are the kinds themselves
	}
}

// appendPayload appends what follows the tag of v:
//
//	none, bool   nothing
//	int, time    zigzag varint
//	float        8 bytes
//	string,bytes length, then the bytes
//	list, map    length of the rest, number of elements, then a tag and a payload for each
func appendPayload(dst []byte, v *driver.Value) []byte {
	switch v.Kind() {
	case driver.Int, driver.Time:
		return binary.AppendVarint(dst, v.Int())
	case driver.Float:
		return binary.LittleEndian.AppendUint64(dst, math.Float64bits(v.Float()))
	case driver.String, driver.Bytes:
		return appendText(dst, v.Str())
	case driver.List, driver.Map:
		return appendElements(dst, v.List())
	}
	return dst
}

func appendText(dst []byte, s string) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(s)))
	return append(dst, s...)
}

func appendElements(dst []byte, list []driver.Value) []byte {
	from := len(dst)
	dst = binary.AppendUvarint(dst, uint64(len(list)))
	for i := range list {
		dst = append(dst, tagOf(&list[i]))
		dst = appendPayload(dst, &list[i])
	}
	var length [binary.MaxVarintLen64]byte
	n := binary.PutUvarint(length[:], uint64(len(dst)-from))
	dst = append(dst, length[:n]...) // only to grow
	copy(dst[from+n:], dst[from:])
	copy(dst[from:], length[:n])
	return dst
}

// A text is stored bytes that are being read. The strings that it yields are
// parts of it. Reading beyond its end sets bad and yields zeros.
type text struct {
	rest  string
	depth int  // of the lists and maps that it lies in
	own   bool // rest is shared: strings that are handed out must be copies
	bad   bool
}

// maxDepth is how deep a value may be nested. A row that was damaged must not exhaust the
// stack, which ends the process.
const maxDepth = 10_000

func (t *text) byte() byte {
	if t.rest == "" {
		t.bad = true
		return 0
	}
	b := t.rest[0]
	t.rest = t.rest[1:]
	return b
}

// take returns the next n bytes. They are not copies.
func (t *text) take(n uint64) string {
	if n > uint64(len(t.rest)) {
		t.bad, t.rest = true, ""
		return ""
	}
	s := t.rest[:n]
	t.rest = t.rest[n:]
	return s
}

func (t *text) uvarint() uint64 {
	s := t.rest
	if len(s) > 0 && s[0] < 0x80 { // most are short
		t.rest = s[1:]
		return uint64(s[0])
	}
	if len(s) > 1 && s[1] < 0x80 {
		t.rest = s[2:]
		return uint64(s[0]&0x7f) | uint64(s[1])<<7
	}
	return t.longUvarint()
}

func (t *text) longUvarint() uint64 {
	n, length := binary.Uvarint(unsafe.Slice(unsafe.StringData(t.rest), len(t.rest)))
	if length <= 0 {
		t.bad, t.rest = true, ""
		return 0
	}
	t.rest = t.rest[length:]
	return n
}

func (t *text) varint() int64 {
	n := t.uvarint()
	return int64(n>>1) ^ -int64(n&1)
}

func (t *text) uint64() uint64 {
	var b [8]byte
	copy(b[:], t.take(8))
	return binary.LittleEndian.Uint64(b[:])
}

// string reads a length and so many bytes, for the caller to keep.
func (t *text) string() string {
	s := t.take(t.uvarint())
	if t.own {
		return strings.Clone(s)
	}
	return s
}

// value reads the payload of a tag.
func (t *text) value(tag byte) driver.Value {
	switch tag {
	case tagNone:
		return driver.Value{}
	case tagFalse, tagTrue:
		return driver.BoolValue(tag == tagTrue)
	case tagInt:
		return driver.IntValue(t.varint())
	case tagTime:
		return driver.TimeValue(t.varint())
	case tagFloat:
		return driver.FloatValue(math.Float64frombits(t.uint64()))
	case tagString:
		return driver.StringValue(t.string())
	case tagBytes:
		return driver.BytesValue(t.string())
	case tagList:
		return driver.ListValue(t.elements())
	case tagMap:
		return driver.MapValue(t.elements())
	}
	t.bad = true
	return driver.Value{}
}

func (t *text) elements() []driver.Value {
	inner := text{rest: t.string(), depth: t.depth + 1}
	n := inner.uvarint()
	if n > uint64(len(inner.rest)) || inner.depth > maxDepth { // each takes a byte at least
		t.bad = true
		return nil
	}
	list := make([]driver.Value, n)
	for i := range list {
		list[i] = inner.value(inner.byte())
	}
	t.bad = t.bad || inner.bad || inner.rest != ""
	return list
}

// skip passes over the payload of a tag.
func (t *text) skip(tag byte) {
	switch tag {
	case tagNone, tagFalse, tagTrue:
	case tagInt, tagTime:
		t.uvarint()
	case tagFloat:
		t.take(8)
	case tagString, tagBytes, tagList, tagMap:
		t.take(t.uvarint())
	default:
		t.bad = true
	}
}
