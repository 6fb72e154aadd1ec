package data

import (
	"bufio"
	"bytes"
	"io"
	"unicode/utf8"

	"github.com/polystore/polystore/loadtest/internal/limit"
	"github.com/polystore/polystore/loadtest/internal/value"
)

// jsonRows yields the objects of a file that has one a line.
func (f *rowFile) jsonRows(r io.Reader, yield func(Row) bool) {
	f.eachLine(r, func(n int, line []byte) bool {
		record, ok := f.jsonRow(n, line)
		return !ok || yield(Row{n, record})
	})
}

// eachLine calls each for the lines that are not empty, until it is false.
func (f *rowFile) eachLine(r io.Reader, each func(n int, line []byte) bool) {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 64<<10), limit.MaxLine+1)
	n := 0
	for lines.Scan() && !f.stopped {
		n++
		line := lines.Bytes()
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		if !each(n, line) {
			return
		}
	}
	if err := lines.Err(); err != nil {
		f.ended(n+1, err)
	}
}

// object returns the object of one line; ok is false after a fault.
func (f *rowFile) object(n int, line []byte) (object map[string]any, ok bool) {
	if text := badText(line); text != "" {
		f.fault(n, 0, string(line), "%s", text)
		return nil, false
	}
	object, at, err := value.DecodeObject(line)
	if err != nil {
		f.fault(n, utf8.RuneCount(line[:min(at, len(line))])+1, string(line), "%v", err)
		return nil, false
	}
	return object, true
}

// jsonRow returns the record of one line; ok is false after a fault.
func (f *rowFile) jsonRow(n int, line []byte) (record map[string]any, ok bool) {
	object, ok := f.object(n, line)
	if !ok {
		return nil, false
	}
	before := len(f.faults)
	record = make(map[string]any, len(object))
	for name, x := range object {
		field := f.field(n, string(line), name)
		if field == "" {
			continue
		}
		v, err := value.FromJSON(f.c.Kind(field), x, f.src.Times)
		if err != nil {
			f.fault(n, 0, string(line), "%s: %v", name, err)
			continue
		}
		if v != nil {
			record[field] = v
		}
	}
	placed := f.addPoints(n, string(line), record, func(name string) (any, error) {
		return value.FromJSON("float", object[name], f.src.Times)
	})
	if len(f.faults) > before || !placed || !f.complete(n, string(line), record) {
		return nil, false
	}
	return record, true
}
