package driver

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"
	"unsafe"
)

// A Kind is the type of a [Value]. The kinds are those that every supported
// store keeps exactly.
type Kind uint8

// The kinds. None is the kind of an absent value.
const (
	None   Kind = iota
	Bool        // true or false
	Int         // 64 bits, signed
	Float       // IEEE 754 binary64 without NaN and without negative zero
	String      // valid UTF-8
	Bytes       // any bytes
	Time        // an instant in whole milliseconds
	List        // values in order, of any kinds
	Map         // text keys without NUL, each once, to values of any kinds
)

// String returns the name that schemas use: "bool", "int", "float", "string",
// "bytes", "time", "list", "map", or "none".
func (k Kind) String() string {
	return nameOf("kind", k, "none", "bool", "int", "float", "string", "bytes", "time", "list", "map")
}

// nameOf returns the name with index i, or "what(i)" if there is none.
func nameOf[T ~uint8](what string, i T, names ...string) string {
	if int(i) >= len(names) {
		return what + "(" + strconv.Itoa(int(i)) + ")"
	}
	return names[i]
}

// A Value is one value of a row. The zero Value is absent: a field that has it
// is not there. An empty list, map or run of bytes is absent too, because one
// of the stores cannot tell the two apart; the empty string is a value.
// Values are immutable and may be shared between goroutines.
//
// A Value is three words, because there are many: num has the number, or the
// length of the text or list that data points to.
type Value struct {
	_    [0]func() // no ==: see Equal
	kind Kind
	num  uint64
	data unsafe.Pointer
}

// BoolValue returns b as a Value.
func BoolValue(b bool) Value {
	if b {
		return Value{kind: Bool, num: 1}
	}
	return Value{kind: Bool}
}

// IntValue returns n as a Value.
func IntValue(n int64) Value { return Value{kind: Int, num: uint64(n)} }

// FloatValue returns f as a Value. Negative zero becomes zero; a caller refuses
// NaN before.
func FloatValue(f float64) Value {
	if f == 0 {
		f = 0 // drops the sign of negative zero
	}
	return Value{kind: Float, num: math.Float64bits(f)}
}

// StringValue returns s as a Value. The caller has checked that s is valid UTF-8.
func StringValue(s string) Value { return textValue(String, s) }

func textValue(kind Kind, s string) Value {
	return Value{kind: kind, num: uint64(len(s)), data: unsafe.Pointer(unsafe.StringData(s))}
}

// BytesValue returns the bytes of s as a Value, absent when there are none.
func BytesValue(s string) Value {
	if s == "" {
		return Value{}
	}
	return textValue(Bytes, s)
}

// TimeValue returns the instant ms milliseconds after the Unix epoch.
func TimeValue(ms int64) Value { return Value{kind: Time, num: uint64(ms)} }

// ListValue returns a list, absent when it is empty. It keeps list.
func ListValue(list []Value) Value {
	if len(list) == 0 {
		return Value{}
	}
	return listValue(List, list)
}

// MapValue returns a map, absent when it is empty. Pairs holds keys and values
// in turn, keys ascending and of kind String. It keeps pairs.
func MapValue(pairs []Value) Value {
	if len(pairs) == 0 {
		return Value{}
	}
	return listValue(Map, pairs)
}

func listValue(kind Kind, list []Value) Value {
	return Value{kind: kind, num: uint64(len(list)), data: unsafe.Pointer(unsafe.SliceData(list))}
}

// Kind returns the kind of v, None when v is absent.
func (v Value) Kind() Kind { return v.kind }

// IsNone reports whether v is absent.
func (v Value) IsNone() bool { return v.kind == None }

// Bool returns the truth of a Bool.
func (v Value) Bool() bool { return v.num != 0 }

// Int returns the number of an Int, or the Unix milliseconds of a Time.
func (v Value) Int() int64 { return int64(v.num) }

// Float returns the number of a Float.
func (v Value) Float() float64 { return math.Float64frombits(v.num) }

// Str returns the text of a String or the bytes of a Bytes.
func (v Value) Str() string {
	if v.kind != String && v.kind != Bytes {
		return ""
	}
	return unsafe.String((*byte)(v.data), int(v.num))
}

// List returns the elements of a List, or the keys and values of a Map in turn.
// The caller must not change them.
func (v Value) List() []Value {
	if v.kind != List && v.kind != Map {
		return nil
	}
	return unsafe.Slice((*Value)(v.data), int(v.num))
}

// Equal reports whether v and w are the same value of the same kind.
func (v Value) Equal(w Value) bool {
	if v.kind != w.kind || v.num != w.num {
		return false
	}
	switch v.kind {
	case String, Bytes:
		return v.Str() == w.Str()
	case List, Map:
		return slices.EqualFunc(v.List(), w.List(), Value.Equal)
	}
	return true
}

// String returns v as people write it; it is meant for messages.
func (v Value) String() string {
	switch v.kind {
	case None:
		return "nothing"
	case Bool:
		return strconv.FormatBool(v.Bool())
	case Int:
		return strconv.FormatInt(v.Int(), 10)
	case Float:
		return strconv.FormatFloat(v.Float(), 'g', -1, 64)
	case String:
		return strconv.Quote(v.Str())
	case Bytes:
		return fmt.Sprintf("%#x", v.Str())
	case Time:
		return time.UnixMilli(v.Int()).UTC().Format("2006-01-02T15:04:05.000Z")
	default:
		return fmt.Sprintf("%s%v", v.kind, v.List())
	}
}
