package loadtest

import (
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// assignments reads set: fields and what makes their new values. It is a literal,
// "$" or "$field" for what another record of the data has, or a generator.
func (r queryReader) assignments() {
	n := r.m.get("set")
	if n == nil {
		return
	}
	m, ok := r.d.mapping(n, r.m.what+": set")
	if !ok {
		return
	}
	c := r.q.collection
	for _, e := range m.entries {
		kind := c.kind(e.key)
		switch {
		case kind == "":
			r.d.faultIn(e.place, "there is no field %q in collection %s%s", e.key, c.schema.Collection, hint(e.key, c.schema.Fields))
		case r.q.kind != "insert" && slices.Contains(c.key(), e.key):
			r.d.faultIn(e.place, "field %s is part of the key, which an update cannot change; insert a new record and delete the old one", e.key)
		default:
			r.q.set = append(r.q.set, assignment{e.key, r.assigned(e.key, kind, e.value)})
		}
	}
}

func (r queryReader) assigned(field, kind string, n ast.Node) generator {
	if s, ok := n.(*ast.StringNode); ok && strings.HasPrefix(s.Value, "$") && !strings.HasPrefix(s.Value, "$$") {
		return drawn{r.q.collection.at, r.drawnFrom(n, s.Value, field, kind, false)}
	}
	if pairsOf(n) != nil {
		g := generatorReader{d: r.d, w: r.w, c: r.q.collection, known: map[string]bool{}}
		for f := range r.q.collection.schema.Fields {
			g.known[f] = r.q.kind == "insert"
		}
		return g.read(n, r.m.what+": "+field, kind)
	}
	return constant{r.literal(n, "the value of "+field, kind)}
}

// additions reads add: integer fields and by how much they grow.
func (r queryReader) additions() {
	n := r.m.get("add")
	if n == nil {
		return
	}
	m, ok := r.d.mapping(n, r.m.what+": add")
	if !ok {
		return
	}
	for _, e := range m.entries {
		if kind := r.q.collection.kind(e.key); kind != "int" {
			r.d.faultIn(e.place, "add is for fields of kind int, and %s is %s", e.key, orNone(kind))
			continue
		}
		by := r.d.integer(e.value, "add: "+e.key, -1<<53, 1<<53)
		r.q.add = append(r.q.add, addition{e.key, by})
	}
}

// changes checks that an update changes something, and a move a key of an index.
func (r queryReader) changes() {
	var fields []string
	for _, s := range r.q.set {
		fields = append(fields, s.field)
	}
	for _, a := range r.q.add {
		fields = append(fields, a.field)
	}
	for _, f := range fields {
		if r.q.collection.indexed(f) {
			r.q.collection.needs[f] = true // so that it is known what moves
		}
	}
	if len(fields) == 0 {
		r.d.faultIn(r.m.at, "%s changes nothing; add e.g. set: {title: {words: {}}}", r.m.what)
		return
	}
	if r.q.kind == "move" && !slices.ContainsFunc(fields, r.q.collection.indexed) {
		r.d.faultIn(r.m.placeOf("set"), "%s is a move, and no index has %s in its key; set a field that an index is ordered by, or make it kind: update", r.m.what, strings.Join(fields, ", "))
	}
}

// indexed reports whether a field is part of the key of an index.
func (c *collection) indexed(field string) bool {
	for _, x := range c.schema.Indexes {
		for _, name := range slices.Concat(x.Partition, x.Sort) {
			if strings.TrimSuffix(strings.TrimPrefix(name, "-"), "[]") == field {
				return true
			}
		}
	}
	return false
}

// insertKey checks that inserted records have keys of their own. Generated ones
// have; those that are copies of a file's rows need a key field made anew.
func (r queryReader) insertKey() {
	c := r.q.collection
	if c.data.file == "" {
		return
	}
	for f := range c.schema.Fields {
		c.needs[f] = true
	}
	for _, s := range r.q.set {
		if slices.Contains(c.key(), s.field) {
			return
		}
	}
	last := c.key()
	if len(last) == 0 {
		return
	}
	f := last[len(last)-1]
	r.d.faultIn(r.m.at, "%s inserts copies of the file's records, whose keys are taken; give them new ones, e.g. set: {%s: {sequence: 1, pattern: \"new-%%06d\"}}", r.m.what, f)
}
