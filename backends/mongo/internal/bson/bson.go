package bson

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
	Double    = 0x01
	String    = 0x02
	Document  = 0x03
	Array     = 0x04
	Binary    = 0x05
	ObjectID  = 0x07
	Bool      = 0x08
	Date      = 0x09
	Null      = 0x0A
	Int32     = 0x10
	Timestamp = 0x11
	Int64     = 0x12
	Decimal   = 0x13
	MinKey    = 0xFF
)

// A Writer appends elements to a document, or to the one in it that was opened last and is not closed.
type Writer struct {
	b    []byte
	open int // where that one begins: instead of its length it has, so far, where the one around it begins
}

// NewWriter returns a writer of a document with room for some bytes.
func NewWriter(room int) Writer { return Writer{b: make([]byte, 4, room)} }

// Len returns how many bytes there are so far.
func (w *Writer) Len() int { return len(w.b) }

// Head begins an element, whose data follows.
func (w *Writer) Head(kind byte, name string) {
	w.b = append(append(append(w.b, kind), name...), 0)
}

// Open begins a document, and others that lie one in the other. It returns where the first begins, for Close.
func (w *Writer) Open(names ...string) int { return w.nest(Document, names) }

// OpenList is Open, and the last of them is an array.
func (w *Writer) OpenList(names ...string) int { return w.nest(Array, names) }

func (w *Writer) nest(last byte, names []string) int {
	b, at, first := w.b, w.open, 0
	for i, name := range names {
		kind := last
		if i < len(names)-1 {
			kind = Document
		}
		b = append(append(append(b, kind), name...), 0)
		b = binary.LittleEndian.AppendUint32(b, uint32(at))
		if at = len(b) - 4; i == 0 {
			first = at
		}
	}
	w.b, w.open = b, at
	return first
}

// Close ends the document that begins at a place, and all that is open in it.
func (w *Writer) Close(at int) {
	b, open := w.b, w.open
	for open >= at {
		around := int(binary.LittleEndian.Uint32(b[open:]))
		b = append(b, 0)
		binary.LittleEndian.PutUint32(b[open:], uint32(len(b)-open))
		open = around
	}
	w.b, w.open = b, open
}

// CloseAll ends all documents but the outermost.
func (w *Writer) CloseAll() { w.Close(1) }

// End ends all documents, and returns the outermost.
func (w *Writer) End() []byte {
	w.CloseAll()
	w.b = append(w.b, 0)
	binary.LittleEndian.PutUint32(w.b, uint32(len(w.b)))
	return w.b
}

// Copy appends the elements of a document.
func (w *Writer) Copy(document string) { w.b = append(w.b, document[4:len(document)-1]...) }

// Text appends a text.
func (w *Writer) Text(name, s string) {
	w.Head(String, name)
	w.b = binary.LittleEndian.AppendUint32(w.b, uint32(len(s)+1))
	w.b = append(append(w.b, s...), 0)
}

func (w *Writer) bytes(name, s string) {
	w.Head(Binary, name)
	w.b = binary.LittleEndian.AppendUint32(w.b, uint32(len(s)))
	w.b = append(append(w.b, 0), s...)
}

// Token appends the bytes of a token.
func (w *Writer) Token(name string, t *driver.Token) { w.bytes(name, string(t[:])) }

// Bool appends a truth.
func (w *Writer) Bool(name string, b bool) {
	w.Head(Bool, name)
	if b {
		w.b = append(w.b, 1)
		return
	}
	w.b = append(w.b, 0)
}

func (w *Writer) word(kind byte, name string, n uint64) {
	w.Head(kind, name)
	w.b = binary.LittleEndian.AppendUint64(w.b, n)
}

// Int32 appends a number.
func (w *Writer) Int32(name string, n int32) {
	w.Head(Int32, name)
	w.b = binary.LittleEndian.AppendUint32(w.b, uint32(n))
}

// Int64 appends a number.
func (w *Writer) Int64(name string, n int64) { w.word(Int64, name, uint64(n)) }

// Date appends the instant ms milliseconds after the Unix epoch.
func (w *Writer) Date(name string, ms int64) { w.word(Date, name, uint64(ms)) }

// Empty appends a document without elements.
func (w *Writer) Empty(name string) { w.Close(w.Open(name)) }

// TextIn appends a document that has one element, a text.
func (w *Writer) TextIn(outer, name, s string) {
	at := w.Open(outer)
	w.Text(name, s)
	w.Close(at)
}

// BoolIn is TextIn for a truth.
func (w *Writer) BoolIn(outer, name string, b bool) {
	at := w.Open(outer)
	w.Bool(name, b)
	w.Close(at)
}

// Value appends a value that is not absent; an absent one within a list is null.
func (w *Writer) Value(name string, v driver.Value) {
	switch v.Kind() {
	case driver.Bool:
		w.Bool(name, v.Bool())
	case driver.Int:
		w.Int64(name, v.Int())
	case driver.Float:
		w.word(Double, name, math.Float64bits(v.Float()))
	case driver.String:
		w.Text(name, v.Str())
	case driver.Bytes:
		w.bytes(name, v.Str())
	case driver.Time:
		w.Date(name, v.Int())
	case driver.List:
		at := w.OpenList(name)
		for i, e := range v.List() {
			w.Value(strconv.Itoa(i), e)
		}
		w.Close(at)
	case driver.Map:
		at := w.Open(name)
		for pairs := v.List(); len(pairs) > 1; pairs = pairs[2:] {
			w.Value(pairs[0].Str(), pairs[1])
		}
		w.Close(at)
	default:
		w.Head(Null, name)
	}
}

// An Element is one of a document. Its data is as BSON has it, without the length of
// a text or of bytes, and without the NUL of a text.
type Element struct {
	Kind byte
	Name string
	Data string
}

// Elements reads those of a document, whose length and last NUL are part of it. Bad
// says that it is no BSON, or has a type that is not among those above, which odd names.
type Elements struct {
	rest string
	Bad  bool
	Odd  string
}

// TextOf returns the bytes of an answer as text, of which rows are made. Nobody
// changes them any more: the client reads each answer into memory of its own.
func TextOf(raw []byte) string { return unsafe.String(unsafe.SliceData(raw), len(raw)) }

// ElementsOf returns the elements of a document.
func ElementsOf(document string) Elements {
	n := len(document)
	if n < 5 || int(size(document)) != n || document[n-1] != 0 {
		return Elements{Bad: true}
	}
	return Elements{rest: document[4 : n-1]}
}

// size reads the number that a text begins with.
func size(s string) uint32 {
	return uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16 | uint32(s[3])<<24
}

// Next returns the next element, if there is one.
func (r *Elements) Next() (e Element, ok bool) {
	if r.rest == "" || r.Bad {
		return e, false
	}
	end := 1
	for end < len(r.rest) && r.rest[end] != 0 {
		end++
	}
	if end == len(r.rest) {
		r.Bad = true
		return e, false
	}
	e.Kind, e.Name = r.rest[0], r.rest[1:end]
	r.rest = r.rest[end+1:]
	e.Data, ok = r.take(e.Kind)
	if !ok {
		r.Bad, r.Odd = true, e.Name
	}
	return e, ok
}

// Find returns the element of a document that has a name, a zero one if none has.
func Find(document, name string) Element {
	in := ElementsOf(document)
	for e, ok := in.Next(); ok; e, ok = in.Next() {
		if e.Name == name {
			return e
		}
	}
	return Element{}
}

// take cuts the data of an element from what is left.
func (r *Elements) take(kind byte) (data string, ok bool) {
	skip, n := 0, 0
	switch kind {
	case Null:
	case Bool:
		n = 1
	case Int32:
		n = 4
	case Double, Date, Timestamp, Int64:
		n = 8
	case ObjectID:
		n = 12
	case Decimal:
		n = 16
	case String, Document, Array, Binary:
		if len(r.rest) < 5 || size(r.rest) > math.MaxInt32 {
			return "", false
		}
		n = int(size(r.rest))
		switch kind {
		case String:
			skip = 4
		case Binary:
			skip, n = 4, n+1 // with its subtype
		}
	default:
		return "", false
	}
	if n > len(r.rest)-skip {
		return "", false
	}
	data, r.rest = r.rest[skip:skip+n], r.rest[skip+n:]
	if kind == String {
		if n == 0 || data[n-1] != 0 {
			return "", false
		}
		data = data[:n-1]
	}
	return data, true
}

// Word returns the eight bytes of a number or date.
func (e Element) Word() uint64 { return uint64(size(e.Data)) | uint64(size(e.Data[4:]))<<32 }

// Number returns the value of a whole number, whatever its type.
func (e Element) Number() (int64, bool) {
	switch e.Kind {
	case Int32:
		return int64(int32(size(e.Data))), true
	case Int64:
		return int64(e.Word()), true
	case Double:
		f := math.Float64frombits(e.Word())
		return int64(f), f == math.Trunc(f) && math.Abs(f) < 1<<53
	}
	return 0, false
}

// Raw returns the bytes of a binary of the general subtype.
func (e Element) Raw() (string, bool) {
	if e.Kind != Binary || e.Data[0] != 0 {
		return "", false
	}
	return e.Data[1:], true
}

// Value returns the value of an element, and whether this package can have written
// it.
func (e Element) Value() (driver.Value, bool) {
	switch e.Kind {
	case Null:
		return driver.Value{}, true
	case Bool:
		return driver.BoolValue(e.Data[0] == 1), e.Data[0] <= 1
	case Int64:
		return driver.IntValue(int64(e.Word())), true
	case Date:
		return driver.TimeValue(int64(e.Word())), true
	case Double:
		f := math.Float64frombits(e.Word())
		return driver.FloatValue(f), f == f
	case String:
		return driver.StringValue(e.Data), utf8.ValidString(e.Data)
	case Binary:
		s, ok := e.Raw()
		return driver.BytesValue(s), ok
	case Array:
		list, ok := e.members()
		return driver.ListValue(list), ok
	case Document:
		pairs, ok := e.members()
		return driver.MapValue(pairs), ok && inOrder(pairs)
	}
	return driver.Value{}, false
}

// members returns the values in an array or, each with its name before it, those in a document that are not
// absent.
func (e Element) members() (list []driver.Value, ok bool) {
	in := ElementsOf(e.Data)
	for elem, more := in.Next(); more; elem, more = in.Next() {
		v, ok := elem.Value()
		switch {
		case !ok || e.Kind == Document && !utf8.ValidString(elem.Name):
			return nil, false
		case e.Kind == Array:
			list = append(list, v)
		case !v.IsNone():
			list = append(list, driver.StringValue(elem.Name), v)
		}
	}
	return list, !in.Bad
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
