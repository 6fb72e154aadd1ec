package link

import (
	"cmp"
	"encoding"
	"encoding/binary"
	"reflect"
	"strconv"
	"time"

	"github.com/polystore/polystore/repo"
)

// An id names an end: a text or an integer.
type id struct {
	isText bool
	text   string
	n      int64
}

// idOf returns the id that a part of a key is, or false for values that are no texts and no integers.
func idOf(part any) (id, bool) {
	if _, ok := part.(time.Time); ok {
		return id{}, false
	}
	if m, ok := part.(encoding.TextMarshaler); ok {
		if v := reflect.ValueOf(m); v.Kind() == reflect.Pointer && v.IsNil() {
			return id{}, false
		}
		text, err := m.MarshalText()
		return id{isText: true, text: string(text)}, err == nil
	}
	switch v := reflect.ValueOf(part); {
	case v.Kind() == reflect.String:
		return id{isText: true, text: v.String()}, true
	case v.CanInt():
		return id{n: v.Int()}, true
	case v.CanUint() && v.Kind() != reflect.Uintptr && v.Uint() <= 1<<63-1:
		return id{n: int64(v.Uint())}, true
	}
	return id{}, false
}

// value returns the id as a part of a key.
func (i id) value() any {
	if i.isText {
		return i.text
	}
	return i.n
}

// String returns the id for people, as no other id.
func (i id) String() string {
	if i.isText {
		return strconv.Quote(i.text)
	}
	return strconv.FormatInt(i.n, 10)
}

func (i id) compare(other id) int {
	return cmp.Or(cmp.Compare(i.n, other.n), cmp.Compare(i.text, other.text))
}

// appendTo appends a text that no other id has.
func (i id) appendTo(b []byte) []byte {
	if !i.isText {
		return binary.BigEndian.AppendUint64(append(b, 'i'), uint64(i.n))
	}
	return append(binary.AppendUvarint(append(b, 's'), uint64(len(i.text))), i.text...)
}

// textOf returns a text that no other key has, or false for a key with a part that is no text and no integer.
func textOf(key repo.Key) (string, bool) {
	var b []byte
	for _, part := range key {
		i, ok := idOf(part)
		if !ok {
			return "", false
		}
		b = i.appendTo(b)
	}
	return string(b), true
}
