package tagged

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

var errText = fmt.Errorf("a value that is no tagged JSON: %w", driver.ErrCorrupt)

// Parse returns the value of a whole tagged JSON text, or ErrCorrupt. Strings without
// escapes are slices of it.
func Parse(text string) (driver.Value, error) {
	p := parser{rest: text}
	v := p.value()
	if p.space(); p.bad || p.rest != "" {
		return driver.Value{}, errText
	}
	return v, nil
}

// Object calls field for each key and value of a whole text that is an object, whose keys
// may be in any order, and stand for no kind. It returns ErrCorrupt for any other text,
// after the fields before what is wrong.
func Object(text string, field func(name string, value driver.Value)) error {
	p := parser{rest: text}
	ok := p.take('{')
	for more := ok && !p.take('}'); more && ok; {
		name, tag := p.name()
		value := p.value()
		if ok = tag == "" && !p.bad; ok {
			field(name, value)
		}
		if more = p.take(','); !more {
			ok = ok && p.take('}')
		}
	}
	if p.space(); !ok || p.bad || p.rest != "" {
		return errText
	}
	return nil
}

// A parser reads tagged JSON from the front of rest.
type parser struct {
	rest  string
	depth int
	bad   bool
}

// maxDepth is how deep a value may be nested. No backend takes one that is deeper than some
// hundreds; a text of another program must not exhaust the stack, which ends the process.
const maxDepth = 10_000

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
