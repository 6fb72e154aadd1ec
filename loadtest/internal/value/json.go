package value

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/polystore/polystore/loadtest/internal/limit"
)

// DecodeObject reads one JSON object with nothing behind it. Unlike encoding/json
// it refuses a name that comes twice and text that is no text: what it would
// otherwise drop or change in silence. At is where it stopped.
func DecodeObject(line []byte) (object map[string]any, at int, err error) {
	d := json.NewDecoder(bytes.NewReader(line))
	d.UseNumber()
	v, err := decodeValue(d, 0)
	at = int(d.InputOffset())
	if err != nil {
		var syntax *json.SyntaxError // the decoder's does not count from the beginning of the line
		if errors.As(json.Unmarshal(line, new(any)), &syntax) {
			at = int(syntax.Offset) - 1
			err = fmt.Errorf("%w; write one JSON object a line", err)
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			err = errors.New("the object is not complete; write one JSON object a line")
		}
		return nil, max(at, 0), err
	}
	object, ok := v.(map[string]any)
	if !ok {
		return nil, 0, errors.New("the line is no JSON object; write one a line, as in {\"id\": 1}")
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, at, errors.New("there is something behind the object; write one JSON object a line")
	}
	if bytes.IndexByte(line, '\\') >= 0 && bytes.Count(line, []byte("�")) == 0 && hasReplacement(v) {
		return nil, 0, errors.New("an escape such as \\ud800 is half of a character")
	}
	return object, at, nil
}

func decodeValue(d *json.Decoder, depth int) (any, error) {
	if depth > limit.MaxDepth {
		return nil, fmt.Errorf("lists and objects are nested more than %d deep", limit.MaxDepth)
	}
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch t {
	case json.Delim('{'):
		return decodeMembers(d, depth)
	case json.Delim('['):
		list := []any{}
		for d.More() {
			v, err := decodeValue(d, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err = d.Token()
		return list, err
	}
	return t, nil
}

func decodeMembers(d *json.Decoder, depth int) (any, error) {
	m := map[string]any{}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return nil, err
		}
		name, ok := t.(string)
		if !ok {
			return nil, errors.New("a name of an object is no text")
		}
		if _, twice := m[name]; twice {
			return nil, fmt.Errorf("%s comes twice in the object", Quote(name))
		}
		if m[name], err = decodeValue(d, depth+1); err != nil {
			return nil, err
		}
	}
	_, err := d.Token()
	return m, err
}

// hasReplacement reports whether some text has the character that stands for
// what could not be decoded.
func hasReplacement(v any) bool {
	switch v := v.(type) {
	case string:
		return bytes.ContainsRune([]byte(v), utf8.RuneError)
	case []any:
		for _, x := range v {
			if hasReplacement(x) {
				return true
			}
		}
	case map[string]any:
		for k, x := range v {
			if hasReplacement(k) || hasReplacement(x) {
				return true
			}
		}
	}
	return false
}

// FromJSON returns a value of a JSON file, whose numbers are json.Number, as a
// value of a kind. JSON's null, and an empty list or object, is nil: absent.
func FromJSON(kind string, x any, times string) (any, error) {
	switch x := x.(type) {
	case nil:
		return nil, nil
	case string:
		if kind != "int" && kind != "float" && kind != "bool" {
			return FromText(kind, x, times)
		}
	case json.Number:
		return fromNumber(kind, x, times)
	case bool:
		if kind == "bool" {
			return x, nil
		}
	case []any:
		if kind == "list" {
			return plainList(x)
		}
	case map[string]any:
		if kind == "map" {
			return PlainMap(x)
		}
	}
	return nil, fmt.Errorf("%s, want %s", describeJSON(x), wanted(kind, times))
}

func fromNumber(kind string, x json.Number, times string) (any, error) {
	switch {
	case kind == "int" || kind == "float":
		return FromText(kind, x.String(), times)
	case kind == "time" && times != "rfc3339":
		return TimeFrom(x.String(), times)
	}
	return nil, fmt.Errorf("number %s, want %s", Quote(x.String()), wanted(kind, times))
}

func wanted(kind, times string) string {
	switch {
	case kind == "time" && times == "rfc3339":
		return "a time as text (times: unix allows numbers)"
	case kind == "list":
		return "a list"
	case kind == "int":
		return "a whole number"
	case kind == "float":
		return "a number"
	case kind == "map":
		return "an object"
	case kind == "bool":
		return "true or false"
	}
	return "text of kind " + kind
}

func describeJSON(x any) string {
	switch x := x.(type) {
	case string:
		return "text " + Quote(x)
	case bool:
		return fmt.Sprint(x)
	case []any:
		return "a list"
	}
	return "an object"
}

var errNestedNumber = errors.New("a number in it is neither a whole number of 64 bits nor a fraction")

// plain returns a nested JSON value in the library's types.
func plain(x any) (any, error) {
	switch x := x.(type) {
	case json.Number:
		if n, err := x.Int64(); err == nil {
			return n, nil
		}
		if f, err := x.Float64(); err == nil {
			return f, nil
		}
		return nil, errNestedNumber
	case []any:
		return plainList(x)
	case map[string]any:
		return PlainMap(x)
	}
	return x, nil
}

func plainList(list []any) (any, error) {
	if len(list) == 0 {
		return nil, nil
	}
	out := make([]any, len(list))
	for i, x := range list {
		v, err := plain(x)
		if err != nil {
			return nil, err
		}
		out[i] = v
	}
	return out, nil
}

// PlainMap returns a JSON object in the library's types, nil if it is empty.
func PlainMap(m map[string]any) (any, error) {
	if len(m) == 0 {
		return nil, nil
	}
	out := make(map[string]any, len(m))
	for k, x := range m {
		v, err := plain(x)
		if err != nil {
			return nil, err
		}
		out[k] = v
	}
	return out, nil
}
