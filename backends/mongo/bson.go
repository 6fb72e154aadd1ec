package mongo

import (
	"encoding/binary"
	"math"
	"sort"
	"strconv"
	"unicode/utf8"
	"unsafe"

	"github.com/polystore/polystore/repo/driver"
)

// The types of BSON that this package writes or meets in answers.
const (
	typeDouble    = 0x01
	typeString    = 0x02
	typeDocument  = 0x03
	typeArray     = 0x04
	typeBinary    = 0x05
	typeObjectID  = 0x07
	typeBool      = 0x08
	typeDate      = 0x09
	typeNull      = 0x0A
	typeInt32     = 0x10
	typeTimestamp = 0x11
	typeInt64     = 0x12
	typeDecimal   = 0x13
	typeMinKey    = 0xFF
)

// A writer appends elements of BSON. What is opened must be closed.
type writer []byte

func (w *writer) head(kind byte, name string) {
	*w = append(append(append(*w, kind), name...), 0)
}

// begin begins a document that is no element.
func (w *writer) begin() int {
	*w = append(*w, 0, 0, 0, 0)
	return len(*w) - 4
}

// open begins an element that is a document or an array.
func (w *writer) open(kind byte, name string) int {
	w.head(kind, name)
	return w.begin()
}

// close ends what began at a place.
func (w *writer) close(at int) {
	*w = append(*w, 0)
	binary.LittleEndian.PutUint32((*w)[at:], uint32(len(*w)-at))
}

func (w *writer) text(name, s string) {
	w.head(typeString, name)
	*w = binary.LittleEndian.AppendUint32(*w, uint32(len(s)+1))
	*w = append(append(*w, s...), 0)
}

func (w *writer) bytes(name, s string) {
	w.head(typeBinary, name)
	*w = binary.LittleEndian.AppendUint32(*w, uint32(len(s)))
	*w = append(append(*w, 0), s...)
}

func (w *writer) token(name string, t *driver.Token) {
	w.head(typeBinary, name)
	*w = binary.LittleEndian.AppendUint32(*w, uint32(len(t)))
	*w = append(append(*w, 0), t[:]...)
}

func (w *writer) bool(name string, b bool) {
	w.head(typeBool, name)
	if b {
		*w = append(*w, 1)
		return
	}
	*w = append(*w, 0)
}

func (w *writer) word(kind byte, name string, n uint64) {
	w.head(kind, name)
	*w = binary.LittleEndian.AppendUint64(*w, n)
}

func (w *writer) int32(name string, n int32) {
	w.head(typeInt32, name)
	*w = binary.LittleEndian.AppendUint32(*w, uint32(n))
}

func (w *writer) int64(name string, n int64) { w.word(typeInt64, name, uint64(n)) }

func (w *writer) date(name string, ms int64) { w.word(typeDate, name, uint64(ms)) }

// value appends a value that is not absent; an absent one within a list is null.
func (w *writer) value(name string, v driver.Value) {
	switch v.Kind() {
	case driver.Bool:
		w.bool(name, v.Bool())
	case driver.Int:
		w.int64(name, v.Int())
	case driver.Float:
		w.word(typeDouble, name, math.Float64bits(v.Float()))
	case driver.String:
		w.text(name, v.Str())
	case driver.Bytes:
		w.bytes(name, v.Str())
	case driver.Time:
		w.date(name, v.Int())
	case driver.List:
		at := w.open(typeArray, name)
		for i, e := range v.List() {
			w.value(strconv.Itoa(i), e)
		}
		w.close(at)
	case driver.Map:
		at := w.open(typeDocument, name)
		for pairs := v.List(); len(pairs) > 1; pairs = pairs[2:] {
			w.value(pairs[0].Str(), pairs[1])
		}
		w.close(at)
	default:
		w.head(typeNull, name)
	}
}

// An element is one of a document. Its data is as BSON has it, without the length of
// a text or of bytes, and without the NUL of a text.
type element struct {
	kind byte
	name string
	data string
}

// elements reads those of a document, whose length and last NUL are part of it. Bad
// says that it is no BSON, or has a type that is not among those above, which odd names.
type elements struct {
	rest string
	bad  bool
	odd  string
}

// textOf returns the bytes of an answer as text, of which rows are made. Nobody
// changes them any more: the client reads each answer into memory of its own.
func textOf(raw []byte) string { return unsafe.String(unsafe.SliceData(raw), len(raw)) }

func elementsOf(document string) elements {
	n := len(document)
	if n < 5 || int(size(document)) != n || document[n-1] != 0 {
		return elements{bad: true}
	}
	return elements{rest: document[4 : n-1]}
}

// size reads the number that a text begins with.
func size(s string) uint32 {
	return uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16 | uint32(s[3])<<24
}

func (r *elements) next() (e element, ok bool) {
	if r.rest == "" || r.bad {
		return e, false
	}
	end := 1
	for end < len(r.rest) && r.rest[end] != 0 {
		end++
	}
	if end == len(r.rest) {
		r.bad = true
		return e, false
	}
	e.kind, e.name = r.rest[0], r.rest[1:end]
	r.rest = r.rest[end+1:]
	e.data, ok = r.take(e.kind)
	if !ok {
		r.bad, r.odd = true, e.name
	}
	return e, ok
}

// take cuts the data of an element from what is left.
func (r *elements) take(kind byte) (data string, ok bool) {
	skip, n := 0, 0
	switch kind {
	case typeNull:
	case typeBool:
		n = 1
	case typeInt32:
		n = 4
	case typeDouble, typeDate, typeTimestamp, typeInt64:
		n = 8
	case typeObjectID:
		n = 12
	case typeDecimal:
		n = 16
	case typeString, typeDocument, typeArray, typeBinary:
		if len(r.rest) < 5 || size(r.rest) > math.MaxInt32 {
			return "", false
		}
		n = int(size(r.rest))
		switch kind {
		case typeString:
			skip = 4
		case typeBinary:
			skip, n = 4, n+1 // with its subtype
		}
	default:
		return "", false
	}
	if n > len(r.rest)-skip {
		return "", false
	}
	data, r.rest = r.rest[skip:skip+n], r.rest[skip+n:]
	if kind == typeString {
		if n == 0 || data[n-1] != 0 {
			return "", false
		}
		data = data[:n-1]
	}
	return data, true
}

// word returns the eight bytes of a number or date.
func (e *element) word() uint64 { return uint64(size(e.data)) | uint64(size(e.data[4:]))<<32 }

// number returns the value of a whole number, whatever its type.
func (e *element) number() (int64, bool) {
	switch e.kind {
	case typeInt32:
		return int64(int32(size(e.data))), true
	case typeInt64:
		return int64(e.word()), true
	case typeDouble:
		f := math.Float64frombits(e.word())
		return int64(f), f == math.Trunc(f) && math.Abs(f) < 1<<53
	}
	return 0, false
}

// raw returns the bytes of a binary of the general subtype.
func (e *element) raw() (string, bool) {
	if e.kind != typeBinary || e.data[0] != 0 {
		return "", false
	}
	return e.data[1:], true
}

// value returns the value of an element, and whether this package can have written
// it.
func (e *element) value() (driver.Value, bool) {
	switch e.kind {
	case typeNull:
		return driver.Value{}, true
	case typeBool:
		return driver.BoolValue(e.data[0] == 1), e.data[0] <= 1
	case typeInt64:
		return driver.IntValue(int64(e.word())), true
	case typeDate:
		return driver.TimeValue(int64(e.word())), true
	case typeDouble:
		f := math.Float64frombits(e.word())
		return driver.FloatValue(f), f == f
	case typeString:
		return driver.StringValue(e.data), utf8.ValidString(e.data)
	case typeBinary:
		s, ok := e.raw()
		return driver.BytesValue(s), ok
	case typeArray:
		return e.list()
	case typeDocument:
		return e.pairs()
	}
	return driver.Value{}, false
}

func (e *element) list() (driver.Value, bool) {
	var list []driver.Value
	in := elementsOf(e.data)
	for elem, ok := in.next(); ok; elem, ok = in.next() {
		v, ok := elem.value()
		if !ok {
			return driver.Value{}, false
		}
		list = append(list, v)
	}
	return driver.ListValue(list), !in.bad
}

func (e *element) pairs() (driver.Value, bool) {
	var pairs []driver.Value
	in := elementsOf(e.data)
	for elem, ok := in.next(); ok; elem, ok = in.next() {
		v, ok := elem.value()
		if !ok || !utf8.ValidString(elem.name) {
			return driver.Value{}, false
		}
		if !v.IsNone() {
			pairs = append(pairs, driver.StringValue(elem.name), v)
		}
	}
	return driver.MapValue(pairs), inOrder(pairs) && !in.bad
}

// inOrder brings pairs into the order of their keys, which another program may have
// mixed up, and reports whether each key is there once.
func inOrder(pairs []driver.Value) bool {
	for i := 2; i < len(pairs); i += 2 {
		if pairs[i].Str() < pairs[i-2].Str() {
			sort.Sort(byKey(pairs))
			i = 0 // from the start
		} else if pairs[i].Str() == pairs[i-2].Str() {
			return false
		}
	}
	return true
}

// byKey sorts the pairs of a map.
type byKey []driver.Value

func (p byKey) Len() int           { return len(p) / 2 }
func (p byKey) Less(i, j int) bool { return p[2*i].Str() < p[2*j].Str() }
func (p byKey) Swap(i, j int) {
	p[2*i], p[2*j] = p[2*j], p[2*i]
	p[2*i+1], p[2*j+1] = p[2*j+1], p[2*i+1]
}
