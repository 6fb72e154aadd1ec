package workload

import (
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"

	"github.com/polystore/polystore/loadtest/internal/document"
	"github.com/polystore/polystore/loadtest/internal/generate"
	"github.com/polystore/polystore/loadtest/internal/limit"
	"github.com/polystore/polystore/loadtest/internal/value"
)

// A Source says where the records of a collection come from: generators, or a
// file of the user's.
type Source struct {
	Place  document.Place
	Count  int
	Fields []generate.Field

	File      string
	Format    string // "jsonl" or "csv"
	Names     map[string]string
	Points    []PointOf
	Skip      []string // names in the file that are left out; "*" is all that are not declared
	Times     string   // how the file writes times
	Separator rune
	ListMark  string // what separates the elements of a list in a CSV field
	Packed    string // how the file is compressed: "gzip", "zstd" or ""

	Rows atomic.Int64 // of the file, once they were counted
}

// A PointOf is a field whose value is a place, and the names in the file of its latitude and longitude.
type PointOf struct{ Field, Lat, Lon string }

// IsPart reports whether a name in the file is of a latitude or a longitude.
func (s *Source) IsPart(name string) bool {
	return slices.ContainsFunc(s.Points, func(p PointOf) bool { return name == p.Lat || name == p.Lon })
}

func (w *Workload) readData(d *document.File, m *document.Mapping, c *Collection) {
	n := m.Need("data", "data: {file: posts.jsonl}, or data: {count: 1000, fields: {…}}")
	if n == nil {
		return
	}
	dm, ok := d.Mapping(n, "data")
	if !ok {
		return
	}
	c.Data.Place = dm.At
	if file, count := dm.Get("file") != nil, dm.Get("count") != nil; file == count {
		d.FaultIn(dm.At, "data has both a file and a count, or neither; give a file, or a count and generators under fields")
		return
	}
	if dm.Get("file") != nil {
		c.Data.readFile(d, dm, c)
	} else if c.Tree != nil {
		d.FaultIn(dm.PlaceOf("count"), "the nodes of trees come from a file, parents before their children; give data: {file: nodes.jsonl}")
	} else {
		w.readGenerators(d, dm, c)
	}
	dm.Done()
}

func (s *Source) readFile(d *document.File, m *document.Mapping, c *Collection) {
	s.named(d, m.Text("file"), m.Text("format"), m.PlaceOf("format"))
	if c != nil {
		s.Names = s.readNames(d, m, c)
		s.readPoints(d, m, c)
	}
	s.Skip = m.Texts("skip")
	if s.Times = m.Text("times"); s.Times == "" {
		s.Times = value.TimeForms[0]
	} else if !slices.Contains(value.TimeForms, s.Times) {
		d.FaultIn(m.PlaceOf("times"), "times is %q; want one of %s", s.Times, strings.Join(value.TimeForms, ", "))
	}
	s.Separator = readMark(d, m, "separator", ',')
	s.ListMark = string(readMark(d, m, "list_separator", ';'))
}

// named notes which file it is. The name tells the format where that is not said.
func (s *Source) named(d *document.File, name, format string, at document.Place) {
	s.File = name
	if !filepath.IsAbs(name) {
		s.File = filepath.Join(filepath.Dir(d.Name), name)
	}
	bare, packed := Packing(name)
	if s.Packed, s.Format = packed, format; format == "" {
		s.Format = map[string]string{".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv"}[strings.ToLower(filepath.Ext(bare))]
	}
	if s.Format != "jsonl" && s.Format != "csv" {
		d.FaultIn(at, "what is in %s? say format: jsonl (a JSON object a line) or format: csv", name)
	}
}

// Packing returns the name of a file without the part that says how it is compressed, and that: "gzip", "zstd" or "".
func Packing(name string) (bare, packed string) {
	for suffix, packed := range map[string]string{".gz": "gzip", ".zst": "zstd"} {
		if bare, ok := strings.CutSuffix(name, suffix); ok {
			return bare, packed
		}
	}
	return name, ""
}

// readMark returns the one character that a key names.
func readMark(d *document.File, m *document.Mapping, key string, def rune) rune {
	text := m.Text(key)
	if text == "" {
		return def
	}
	r, n := utf8.DecodeRuneInString(text)
	if n != len(text) || r == '"' || r == '\r' || r == '\n' {
		d.FaultIn(m.PlaceOf(key), "%s is %q; want one character that is no quote and no line end", key, text)
		return def
	}
	return r
}

// readNames returns which name in the file is which field.
func (s *Source) readNames(d *document.File, m *document.Mapping, c *Collection) map[string]string {
	names := map[string]string{}
	for f := range c.Schema.Fields {
		names[f] = f
	}
	n := m.Get("map")
	if n == nil {
		return names
	}
	mm, ok := d.Mapping(n, "map")
	if !ok {
		return names
	}
	for _, e := range mm.Entries {
		delete(names, e.Key)
	}
	taken := map[string]string{}
	for _, e := range mm.Entries {
		if c.Kind(e.Key) == "" {
			d.FaultIn(e.Place, "map gives field %q, which is not declared; write it as field: name in the file", e.Key)
			continue
		}
		name := d.Text(e.Value, "map: "+e.Key)
		if other := taken[name]; other != "" {
			d.FaultIn(e.Place, "map takes %q of the file for %s and for %s; it can be one field", name, other, e.Key)
		}
		names[name], taken[name] = e.Key, e.Key
	}
	return names
}

// readPoints reads which fields are places of which the file has latitude and longitude.
func (s *Source) readPoints(d *document.File, m *document.Mapping, c *Collection) {
	n := m.Get("points")
	if n == nil {
		return
	}
	pm, ok := d.Mapping(n, "points")
	if !ok {
		return
	}
	for _, e := range pm.Entries {
		names := pm.Texts(e.Key)
		switch {
		case c.Kind(e.Key) != "string":
			d.FaultIn(e.Place, "points gives field %q, which is no declared string; a place is stored as one", e.Key)
		case len(names) != 2 || names[0] == names[1] || names[0] == "" || names[1] == "":
			d.FaultIn(e.Place, "points: %s wants the two names of its latitude and longitude in the file, as in %s: [lat, lon]", e.Key, e.Key)
		default:
			delete(s.Names, e.Key)
			s.Points = append(s.Points, PointOf{e.Key, names[0], names[1]})
		}
	}
}

func (w *Workload) readGenerators(d *document.File, m *document.Mapping, c *Collection) {
	c.Data.Count = m.Integer("count", 0, 1, limit.MaxRecords)
	n := m.Need("fields", "fields: {id: {sequence: 1}}")
	if n == nil {
		return
	}
	fm, ok := d.Mapping(n, "fields")
	if !ok {
		return
	}
	r := generatorReader{d: d, w: w, c: c, known: map[string]bool{}}
	for _, e := range fm.Entries {
		kind := c.Kind(e.Key)
		if kind == "" {
			d.FaultIn(e.Place, "there is no field %q in collection %s; declare it under fields of the collection", e.Key, c.Schema.Collection)
			continue
		}
		c.Data.Fields = append(c.Data.Fields, generate.Field{Name: e.Key, Make: r.read(e.Value, "field "+e.Key, kind)})
		r.known[e.Key] = true
	}
	for _, f := range c.Key() {
		if c.Kind(f) != "" && !r.known[f] {
			d.FaultIn(fm.At, "nothing makes field %s, which is part of the key; add e.g. %s: {sequence: 1}", f, f)
		}
	}
}

// literal returns a scalar of the file as a value of a kind, nil after a fault.
func literal(d *document.File, n ast.Node, what, kind string) any {
	if seq, ok := n.(*ast.SequenceNode); ok && kind == "list" {
		return elements(d, seq, what)
	}
	x := document.Scalar(n)
	if x == nil {
		d.Wrong(n, what, "one value of kind "+kind)
		return nil
	}
	v, err := value.FromScalar(kind, x)
	if err != nil {
		d.Fault(n, "%s: %v", what, err)
	}
	return v
}

// elements returns the values of a literal list, nil of an empty one.
func elements(d *document.File, seq *ast.SequenceNode, what string) any {
	var list []any
	for _, item := range seq.Values {
		x := document.Scalar(item)
		if x == nil {
			d.Wrong(item, what+": an element", "one value")
		}
		list = append(list, x)
	}
	if list == nil {
		return nil
	}
	return list
}

// Name returns the file that data comes from, for messages.
func (s *Source) Name(w *Workload) string {
	if s.File == "" {
		return w.File
	}
	return s.File
}
