package cassandra

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/polystore/polystore/repo/driver"
)

// Tagged JSON keeps the kinds of values apart: an int has digits only, a float
// always a '.' or an exponent, and {"$time": ms}, {"$bytes": "base64"} and
// {"$float": "+Inf"} stand for what JSON lacks. A key of a map that begins with
// '$' has one more.

var errJSON = fmt.Errorf("a value that is no tagged JSON: %w", driver.ErrCorrupt)

// appendJSON appends the tagged JSON of v to dst.
func appendJSON(dst []byte, v driver.Value) []byte {
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
		dst = appendJSON(dst, v)
	}
	return append(dst, ']')
}

func appendMap(dst []byte, pairs []driver.Value) []byte {
	dst = append(dst, '{')
	for i := 0; i+1 < len(pairs); i += 2 {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendKey(dst, pairs[i].Str())
		dst = appendJSON(dst, pairs[i+1])
	}
	return append(dst, '}')
}

// appendKey appends a key of an object, and the colon after it.
func appendKey(dst []byte, name string) []byte {
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

// parseJSON returns the value of a whole tagged JSON text. Strings without
// escapes are slices of it.
func parseJSON(text string) (driver.Value, error) {
	p := parser{rest: text}
	v := p.value()
	if p.space(); p.bad || p.rest != "" {
		return driver.Value{}, errJSON
	}
	return v, nil
}

// A parser reads tagged JSON from the front of rest.
type parser struct {
	rest  string
	depth int
	bad   bool
}

// maxDepth is more than the values of a record can have: each level takes bytes.
const maxDepth = 1 << 20

func (p *parser) fail() driver.Value {
	p.bad, p.rest = true, ""
	return driver.Value{}
}

func (p *parser) space() {
	if p.rest != "" && p.rest[0] <= ' ' { // this library writes none
		p.rest = strings.TrimLeft(p.rest, " \t\r\n")
	}
}

// take reports whether c comes next, and goes over it.
func (p *parser) take(c byte) bool {
	p.space()
	if p.rest == "" || p.rest[0] != c {
		return false
	}
	p.rest = p.rest[1:]
	return true
}

func (p *parser) value() driver.Value {
	p.space()
	switch {
	case p.rest == "":
		return p.fail()
	case p.rest[0] == '"':
		return driver.StringValue(p.text())
	case p.take('['):
		return p.nested(p.list)
	case p.take('{'):
		return p.nested(p.object)
	}
	return p.word()
}

func (p *parser) nested(read func() driver.Value) driver.Value {
	if p.depth++; p.depth > maxDepth {
		return p.fail()
	}
	v := read()
	p.depth--
	return v
}

// word reads a number or true, false, null.
func (p *parser) word() driver.Value {
	end := strings.IndexAny(p.rest, ",]} \t\r\n")
	if end < 0 {
		end = len(p.rest)
	}
	word := p.rest[:end]
	p.rest = p.rest[end:]
	switch word {
	case "true", "false":
		return driver.BoolValue(word == "true")
	case "null":
		return driver.Value{}
	}
	if !strings.ContainsAny(word, ".eE") {
		n, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			return p.fail()
		}
		return driver.IntValue(n)
	}
	f, err := strconv.ParseFloat(word, 64)
	if err != nil || math.IsNaN(f) {
		return p.fail()
	}
	return driver.FloatValue(f)
}

// text reads a string.
func (p *parser) text() string {
	if !p.take('"') {
		p.fail()
		return ""
	}
	escaped := false
	for i := 0; i < len(p.rest); i++ {
		switch p.rest[i] {
		case '\\':
			escaped = true
			i++
		case '"':
			s := p.rest[:i]
			p.rest = p.rest[i+1:]
			if escaped {
				return p.unescape(s)
			}
			if !utf8.ValidString(s) {
				p.fail()
			}
			return s
		}
	}
	p.fail()
	return ""
}

// unescape returns what stands between quotes.
func (p *parser) unescape(quoted string) (s string) {
	if !utf8.ValidString(quoted) || json.Unmarshal([]byte(`"`+quoted+`"`), &s) != nil {
		p.fail()
	}
	return s
}

func (p *parser) list() driver.Value {
	var list []driver.Value
	if p.take(']') {
		return driver.Value{}
	}
	for !p.bad {
		list = append(list, p.value())
		if p.take(']') {
			return driver.ListValue(list)
		}
		if !p.take(',') {
			return p.fail()
		}
	}
	return driver.Value{}
}

// object reads a map, or a value that a key with '$' stands for.
func (p *parser) object() driver.Value {
	var pairs []driver.Value
	if p.take('}') {
		return driver.Value{}
	}
	for !p.bad {
		name, tag := p.name()
		if tag != "" && len(pairs) == 0 {
			return p.tagged(tag)
		}
		if n := len(pairs); n > 0 && pairs[n-2].Str() >= name {
			return p.fail()
		}
		pairs = append(pairs, driver.StringValue(name), p.value())
		if p.take('}') {
			return driver.MapValue(pairs)
		}
		if !p.take(',') {
			return p.fail()
		}
	}
	return driver.Value{}
}

// name reads a key of an object and its colon; a tag is one that stands for a kind.
func (p *parser) name() (name, tag string) {
	p.space()
	name = p.text()
	if !p.take(':') {
		p.fail()
	}
	rest, dollar := strings.CutPrefix(name, "$")
	switch {
	case !dollar:
		return name, ""
	case strings.HasPrefix(rest, "$"):
		return rest, ""
	}
	return name, rest
}

func (p *parser) tagged(tag string) driver.Value {
	v := p.value()
	if !p.take('}') {
		return p.fail()
	}
	switch {
	case tag == "time" && v.Kind() == driver.Int:
		return driver.TimeValue(v.Int())
	case tag == "bytes" && v.Kind() == driver.String:
		if b, err := base64.StdEncoding.DecodeString(v.Str()); err == nil && len(b) > 0 {
			return driver.BytesValue(string(b))
		}
	case tag == "float" && (v.Str() == "+Inf" || v.Str() == "-Inf"):
		return driver.FloatValue(math.Inf(signOf(v.Str())))
	}
	return p.fail()
}

// signOf returns 1 or -1 for a text that begins with a sign.
func signOf(s string) int {
	if s[0] == '-' {
		return -1
	}
	return 1
}
