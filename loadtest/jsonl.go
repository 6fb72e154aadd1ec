package loadtest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/polystore/polystore/loadtest/internal/limit"
)

// jsonRows yields the objects of a file that has one a line.
func (f *rowFile) jsonRows(r io.Reader, yield func(row) bool) {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 64<<10), limit.MaxLine+1)
	n := 0
	for lines.Scan() && !f.stopped {
		n++
		line := lines.Bytes()
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		record, ok := f.jsonRow(n, line)
		if ok && !yield(row{n, record}) {
			return
		}
	}
	if err := lines.Err(); err != nil {
		f.ended(n+1, err)
	}
}

// jsonRow returns the record of one line; ok is false after a fault.
func (f *rowFile) jsonRow(n int, line []byte) (record map[string]any, ok bool) {
	if text := badText(line); text != "" {
		f.fault(n, 0, string(line), "%s", text)
		return nil, false
	}
	object, at, err := decodeObject(line)
	if err != nil {
		f.fault(n, utf8.RuneCount(line[:min(at, len(line))])+1, string(line), "%v", err)
		return nil, false
	}
	before := len(f.faults)
	record = make(map[string]any, len(object))
	for name, x := range object {
		field := f.field(n, string(line), name)
		if field == "" {
			continue
		}
		v, err := fromJSON(f.c.kind(field), x, f.src.times)
		if err != nil {
			f.fault(n, 0, string(line), "%s: %v", name, err)
			continue
		}
		if v != nil {
			record[field] = v
		}
	}
	if len(f.faults) > before || !f.complete(n, string(line), record) {
		return nil, false
	}
	return record, true
}

// decodeObject reads one JSON object with nothing behind it. Unlike encoding/json
// it refuses a name that comes twice and text that is no text: what it would
// otherwise drop or change in silence. At is where it stopped.
func decodeObject(line []byte) (object map[string]any, at int, err error) {
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
			return nil, fmt.Errorf("%s comes twice in the object", show(name))
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
