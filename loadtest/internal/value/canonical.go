package value

import (
	"bytes"
	"cmp"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// AppendCanonical appends text that two values share if and only if they are the
// same.
func AppendCanonical(b *strings.Builder, v any) {
	switch v := v.(type) {
	case nil:
		b.WriteByte('-')
	case string:
		b.WriteString(strconv.Quote(v))
	case []byte:
		fmt.Fprintf(b, "x%x", v)
	case time.Time:
		b.WriteString("t" + strconv.FormatInt(v.UnixMilli(), 10))
	case float64:
		b.WriteString("f" + strconv.FormatFloat(v, 'g', -1, 64))
	case []any:
		b.WriteByte('[')
		for _, x := range v {
			AppendCanonical(b, x)
			b.WriteByte(',')
		}
		b.WriteByte(']')
	case map[string]any:
		b.WriteByte('{')
		for _, k := range slices.Sorted(maps.Keys(v)) {
			b.WriteString(strconv.Quote(k) + ":")
			AppendCanonical(b, v[k])
			b.WriteByte(',')
		}
		b.WriteByte('}')
	default:
		fmt.Fprintf(b, "%T %v", v, v)
	}
}

// Expires is the field of a record that says when it ends.
const Expires = "_expires"

// Canonical returns a record as text, without its version, which differs between
// models, and without the time when it expires, but for whether it does.
func Canonical(rec map[string]any) string {
	var b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(rec)) {
		switch k {
		case "_version":
		case Expires:
			b.WriteString(Expires + ",")
		default:
			b.WriteString(strconv.Quote(k) + ":")
			AppendCanonical(&b, rec[k])
			b.WriteByte(',')
		}
	}
	return b.String()
}

// Sum returns a hash of the fields of a record, but for those to leave out, and its version and when it expires. What is
// empty is as if it were absent. Hashes of other processes are others.
func Sum(rec map[string]any, leave map[string]bool) uint64 {
	var b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(rec)) {
		if k == "_version" || k == Expires || leave[k] || IsEmpty(rec[k]) {
			continue
		}
		b.WriteString(strconv.Quote(k) + ":")
		AppendCanonical(&b, rec[k])
		b.WriteByte(',')
	}
	return Hash(b.String())
}

var hashSeed = maphash.MakeSeed()

// Hash returns a hash of text.
func Hash(text string) uint64 { return maphash.String(hashSeed, text) }

// IsEmpty reports whether a value is none, or bytes, a list or a map of nothing.
func IsEmpty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case []byte:
		return len(v) == 0
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return false
}

// Compare compares two values of one kind that has an order. It is false for others.
func Compare(a, b any) (int, bool) {
	switch a := a.(type) {
	case string:
		b, ok := b.(string)
		return cmp.Compare(a, b), ok
	case int64:
		b, ok := b.(int64)
		return cmp.Compare(a, b), ok
	case float64:
		b, ok := b.(float64)
		return cmp.Compare(a, b), ok
	case []byte:
		b, ok := b.([]byte)
		return bytes.Compare(a, b), ok
	case time.Time:
		b, ok := b.(time.Time)
		return cmp.Compare(a.UnixMilli(), b.UnixMilli()), ok
	case bool:
		b, ok := b.(bool)
		switch {
		case a == b:
			return 0, ok
		case a:
			return 1, ok
		}
		return -1, ok
	}
	return 0, false
}

// Same reports whether two values are the same.
func Same(a, b any) bool {
	var x, y strings.Builder
	AppendCanonical(&x, a)
	AppendCanonical(&y, b)
	return x.String() == y.String()
}

// Identity returns text that two records share if and only if they agree in the
// fields.
func Identity(record map[string]any, fields []string) string {
	var b strings.Builder
	for _, f := range fields {
		AppendCanonical(&b, record[f])
		b.WriteByte(0)
	}
	return b.String()
}

// IdentityOf returns that text for the values of the fields.
func IdentityOf(values []any) string {
	var b strings.Builder
	for _, v := range values {
		AppendCanonical(&b, v)
		b.WriteByte(0)
	}
	return b.String()
}

// Key returns the key of a record for people.
func Key(record map[string]any, fields []string) string {
	parts := make([]string, len(fields))
	for i, f := range fields {
		parts[i] = fmt.Sprint(record[f])
	}
	return Quote(strings.Join(parts, "/"))
}
