package data

import (
	"encoding/csv"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/polystore/polystore/loadtest/internal/format"
	"github.com/polystore/polystore/loadtest/internal/value"
)

// csvRows yields the rows of a file whose first line names the fields. An empty
// field is absent.
func (f *rowFile) csvRows(r io.Reader, yield func(Row) bool) {
	var fields []string
	f.eachRow(r, func(head []string) (ok bool) {
		fields, ok = f.csvHead(head)
		return ok
	}, func(line int, cells []string) bool {
		record, good := f.csvRow(line, fields, cells)
		return !good || yield(Row{line, record})
	})
}

// eachRow calls begin for the first row, and each for the others, until one is false.
func (f *rowFile) eachRow(r io.Reader, begin func(head []string) bool, each func(line int, cells []string) bool) {
	in := csv.NewReader(r)
	in.Comma = f.src.Separator
	in.ReuseRecord = true
	head, err := in.Read()
	f.unread = 0
	if errors.Is(err, io.EOF) {
		f.fault(0, 0, "", "the file is empty; its first line should name the fields")
		return
	}
	if err != nil {
		f.csvError(in, 1, err)
		return
	}
	line := 1
	for ok := begin(head); ok && !f.stopped; {
		cells, err := in.Read()
		f.unread = 0
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil && !errors.Is(err, csv.ErrFieldCount) {
			f.csvError(in, line+1, err)
			return
		}
		line, _ = in.FieldPos(0)
		ok = each(line, cells)
	}
}

// csvError notes an error that was met on a line or behind it.
func (f *rowFile) csvError(in *csv.Reader, line int, err error) {
	var p *csv.ParseError
	if errors.As(err, &p) {
		f.fault(p.Line, p.Column, "", "%v; the separator is %q", p.Err, string(in.Comma))
		return
	}
	f.ended(line, err)
}

// csvHead returns the field of each column, "" for one that is left out.
func (f *rowFile) csvHead(head []string) (fields []string, ok bool) {
	if text := badText([]byte(strings.Join(head, ","))); text != "" {
		f.fault(1, 0, "", "%s", text)
		return nil, false
	}
	if len(head) == 1 && strings.ContainsAny(head[0], ",;\t|") && f.src.Names[head[0]] == "" {
		f.fault(1, 0, head[0], "the first line has no %q between names; say what separates them, as in separator: \";\"", string(f.src.Separator))
		return nil, false
	}
	seen := map[string]bool{}
	for _, name := range head {
		name = strings.TrimSpace(name)
		field := f.field(1, strings.Join(head, string(f.src.Separator)), name)
		if field != "" && seen[field] {
			f.fault(1, 0, "", "column %s comes twice", value.Quote(name))
		}
		seen[field] = true
		fields = append(fields, field)
		f.columns = append(f.columns, name)
	}
	for _, p := range f.src.Points {
		for _, name := range []string{p.Lat, p.Lon} {
			if !slices.Contains(f.columns, name) {
				f.fault(1, 0, strings.Join(head, string(f.src.Separator)), "there is no column %s, of which points makes %s", value.Quote(name), p.Field)
			}
		}
	}
	return fields, len(f.faults) == 0
}

func (f *rowFile) csvRow(line int, fields, cells []string) (record map[string]any, ok bool) {
	source := strings.Join(cells, string(f.src.Separator))
	if text := badText([]byte(source)); text != "" {
		f.fault(line, 0, source, "%s", text)
		return nil, false
	}
	if len(cells) != len(fields) {
		f.fault(line, 0, source, "the row has %s, and the first line names %d; put a field with %q or a line end in it in quotes",
			format.Plural(len(cells), "field"), len(fields), string(f.src.Separator))
		return nil, false
	}
	before := len(f.faults)
	record = make(map[string]any, len(fields))
	for i, field := range fields {
		if field == "" || cells[i] == "" {
			continue
		}
		v, err := f.cell(f.c.Kind(field), cells[i])
		if err != nil {
			f.fault(line, 0, source, "%s: %v", field, err)
			continue
		}
		if v != nil {
			record[field] = v
		}
	}
	placed := f.addPoints(line, source, record, func(name string) (any, error) {
		text := cells[slices.Index(f.columns, name)]
		if text == "" {
			return nil, nil
		}
		return value.FromText("float", text, f.src.Times)
	})
	if len(f.faults) > before || !placed || !f.complete(line, source, record) {
		return nil, false
	}
	return record, true
}

// cell returns the text of a cell as a value of a kind. An empty list or object is
// nil: absent.
func (f *rowFile) cell(kind, text string) (any, error) {
	switch kind {
	case "list":
		parts := strings.Split(text, f.src.ListMark)
		list := make([]any, 0, len(parts))
		for _, p := range parts {
			if p = strings.TrimSpace(p); p != "" {
				list = append(list, p)
			}
		}
		if len(list) == 0 {
			return nil, nil
		}
		return list, nil
	case "map":
		object, _, err := value.DecodeObject([]byte(text))
		if err != nil {
			return nil, err
		}
		return value.PlainMap(object)
	}
	return value.FromText(kind, text, f.src.Times)
}
