// Package tagged reads and writes values as JSON that keeps their kinds apart, where a
// store has text and nothing better for them.
package tagged

import (
	"encoding/base64"
	"math"
	"strconv"
	"strings"

	"github.com/polystore/polystore/repo/driver"
)

// Append appends the tagged JSON of v to dst: an int has digits only, a float always a
// '.' or an exponent, and {"$time": ms}, {"$bytes": "base64"} and {"$float": "+Inf"}
// stand for what JSON lacks. A key of a map that begins with '$' has one more.
func Append(dst []byte, v driver.Value) []byte {
	switch v.Kind() {
	case driver.Bool:
		return strconv.AppendBool(dst, v.Bool())
	case driver.Int:
		return strconv.AppendInt(dst, v.Int(), 10)
	case driver.Float:
		return appendFloat(dst, v.Float())
	case driver.String:
		return appendQuoted(dst, v.Str())
	case driver.Bytes:
		dst = append(dst, `{"$bytes":"`...)
		dst = base64.StdEncoding.AppendEncode(dst, []byte(v.Str()))
		return append(dst, `"}`...)
	case driver.Time:
		dst = strconv.AppendInt(append(dst, `{"$time":`...), v.Int(), 10)
		return append(dst, '}')
	case driver.List:
		return appendList(dst, v.List())
	case driver.Map:
		return appendMap(dst, v.List())
	}
	return append(dst, "null"...)
}

func appendFloat(dst []byte, f float64) []byte {
	if math.IsInf(f, 0) {
		dst = strconv.AppendFloat(append(dst, `{"$float":"`...), f, 'g', -1, 64)
		return append(dst, `"}`...)
	}
	at := len(dst)
	dst = strconv.AppendFloat(dst, f, 'g', -1, 64)
	if !strings.ContainsAny(string(dst[at:]), ".e") {
		dst = append(dst, ".0"...)
	}
	return dst
}

func appendList(dst []byte, list []driver.Value) []byte {
	dst = append(dst, '[')
	for i, v := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = Append(dst, v)
	}
	return append(dst, ']')
}

func appendMap(dst []byte, pairs []driver.Value) []byte {
	dst = append(dst, '{')
	for i := 0; i+1 < len(pairs); i += 2 {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = AppendKey(dst, pairs[i].Str())
		dst = Append(dst, pairs[i+1])
	}
	return append(dst, '}')
}

// AppendKey appends a key of an object, and the colon after it.
func AppendKey(dst []byte, name string) []byte {
	if strings.HasPrefix(name, "$") {
		name = "$" + name
	}
	return append(appendQuoted(dst, name), ':')
}

func appendQuoted(dst []byte, s string) []byte {
	dst = append(dst, '"')
	from := 0
	for i := range len(s) {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, s[from:i]...)
		from = i + 1
		if c < ' ' {
			dst = append(dst, `\u00`...)
			dst = append(dst, "0123456789abcdef"[c>>4], "0123456789abcdef"[c&15])
		} else {
			dst = append(dst, '\\', c)
		}
	}
	return append(append(dst, s[from:]...), '"')
}
