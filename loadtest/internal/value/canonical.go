package value

import (
	"fmt"
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

// Key returns the key of a record for people.
func Key(record map[string]any, fields []string) string {
	parts := make([]string, len(fields))
	for i, f := range fields {
		parts[i] = fmt.Sprint(record[f])
	}
	return Quote(strings.Join(parts, "/"))
}
