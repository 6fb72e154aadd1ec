package loadtest

import (
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"

	"github.com/polystore/polystore/loadtest/internal/limit"
)

// A source says where the records of a collection come from: generators, or a
// file of the user's.
type source struct {
	place  place
	count  int
	fields []fieldSource

	file       string
	format     string // "jsonl" or "csv"
	names      map[string]string
	skip       []string // names in the file that are left out; "*" is all that are not declared
	times      string   // how the file writes times
	separator  rune
	listMark   string // what separates the elements of a list in a CSV field
	compressed bool
}

type fieldSource struct {
	name string
	make generator
}

func (w *Workload) readData(d *document, m *mapping, c *collection) {
	n := m.need("data", "data: {file: posts.jsonl}, or data: {count: 1000, fields: {…}}")
	if n == nil {
		return
	}
	dm, ok := d.mapping(n, "data")
	if !ok {
		return
	}
	c.data.place = dm.at
	if file, count := dm.get("file") != nil, dm.get("count") != nil; file == count {
		d.faultIn(dm.at, "data has both a file and a count, or neither; give a file, or a count and generators under fields")
		return
	}
	if dm.get("file") != nil {
		c.data.readFile(d, dm, c)
	} else {
		w.readGenerators(d, dm, c)
	}
	dm.done()
}

func (s *source) readFile(d *document, m *mapping, c *collection) {
	name := m.text("file")
	s.file = name
	if !filepath.IsAbs(name) {
		s.file = filepath.Join(filepath.Dir(d.file), name)
	}
	bare := strings.TrimSuffix(name, ".gz")
	s.compressed = bare != name
	s.format = m.text("format")
	if s.format == "" {
		s.format = map[string]string{".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv"}[strings.ToLower(filepath.Ext(bare))]
	}
	if s.format != "jsonl" && s.format != "csv" {
		d.faultIn(m.placeOf("format"), "what is in %s? say format: jsonl (a JSON object a line) or format: csv", name)
	}
	s.names = s.readNames(d, m, c)
	s.skip = m.texts("skip")
	if s.times = m.text("times"); s.times == "" {
		s.times = timeForms[0]
	} else if !slices.Contains(timeForms, s.times) {
		d.faultIn(m.placeOf("times"), "times is %q; want one of %s", s.times, strings.Join(timeForms, ", "))
	}
	s.separator = readMark(d, m, "separator", ',')
	s.listMark = string(readMark(d, m, "list_separator", ';'))
}

// readMark returns the one character that a key names.
func readMark(d *document, m *mapping, key string, def rune) rune {
	text := m.text(key)
	if text == "" {
		return def
	}
	r, n := utf8.DecodeRuneInString(text)
	if n != len(text) || r == '"' || r == '\r' || r == '\n' {
		d.faultIn(m.placeOf(key), "%s is %q; want one character that is no quote and no line end", key, text)
		return def
	}
	return r
}

// readNames returns which name in the file is which field.
func (s *source) readNames(d *document, m *mapping, c *collection) map[string]string {
	names := map[string]string{}
	for f := range c.schema.Fields {
		names[f] = f
	}
	n := m.get("map")
	if n == nil {
		return names
	}
	mm, ok := d.mapping(n, "map")
	if !ok {
		return names
	}
	for _, e := range mm.entries {
		delete(names, e.key)
	}
	taken := map[string]string{}
	for _, e := range mm.entries {
		if c.kind(e.key) == "" {
			d.faultIn(e.place, "map gives field %q, which is not declared; write it as field: name in the file", e.key)
			continue
		}
		name := d.text(e.value, "map: "+e.key)
		if other := taken[name]; other != "" {
			d.faultIn(e.place, "map takes %q of the file for %s and for %s; it can be one field", name, other, e.key)
		}
		names[name], taken[name] = e.key, e.key
	}
	return names
}

func (w *Workload) readGenerators(d *document, m *mapping, c *collection) {
	c.data.count = m.integer("count", 0, 1, limit.MaxRecords)
	n := m.need("fields", "fields: {id: {sequence: 1}}")
	if n == nil {
		return
	}
	fm, ok := d.mapping(n, "fields")
	if !ok {
		return
	}
	r := generatorReader{d: d, w: w, c: c, known: map[string]bool{}}
	for _, e := range fm.entries {
		kind := c.kind(e.key)
		if kind == "" {
			d.faultIn(e.place, "there is no field %q in collection %s; declare it under fields of the collection", e.key, c.schema.Collection)
			continue
		}
		c.data.fields = append(c.data.fields, fieldSource{e.key, r.read(e.value, "field "+e.key, kind)})
		r.known[e.key] = true
	}
	for _, f := range c.key() {
		if c.kind(f) != "" && !r.known[f] {
			d.faultIn(fm.at, "nothing makes field %s, which is part of the key; add e.g. %s: {sequence: 1}", f, f)
		}
	}
}

// literal returns a scalar of the file as a value of a kind, nil after a fault.
func literal(d *document, n ast.Node, what, kind string) any {
	x := scalar(n)
	if x == nil {
		d.wrong(n, what, "one value of kind "+kind)
		return nil
	}
	v, err := fromScalar(kind, x)
	if err != nil {
		d.fault(n, "%s: %v", what, err)
	}
	return v
}
