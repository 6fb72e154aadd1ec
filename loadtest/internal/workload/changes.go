package workload

import (
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/polystore/polystore/loadtest/internal/document"
	"github.com/polystore/polystore/loadtest/internal/generate"
	"github.com/polystore/polystore/loadtest/internal/limit"
)

// assignments reads set: fields and what makes their new values. It is a literal,
// "$" or "$field" for what another record of the data has, or a generator. Of set_one,
// which takes its place, one field is set.
func (r queryReader) assignments() {
	name := "set"
	if changes := r.q.Kind != "insert" && r.q.Kind != "put"; changes && r.m.Get("set_one") != nil {
		if name, r.q.One = "set_one", true; r.m.Get("set") != nil {
			r.d.FaultIn(r.m.PlaceOf(name), "%s has set and set_one; one of them is possible", r.m.What)
		}
	}
	n := r.m.Get(name)
	if n == nil {
		return
	}
	m, ok := r.d.Mapping(n, r.m.What+": "+name)
	if !ok {
		return
	}
	c := r.q.Collection
	for _, e := range m.Entries {
		kind := c.Kind(e.Key)
		switch {
		case kind == "":
			r.d.FaultIn(e.Place, "there is no field %q in collection %s%s", e.Key, c.Schema.Collection, hint(e.Key, c.Schema.Fields))
		case r.q.Kind != "insert" && slices.Contains(c.Key(), e.Key):
			r.d.FaultIn(e.Place, "field %s is part of the key, which never changes; insert a new record and delete the old one", e.Key)
		case c.Tree != nil && r.q.Kind != "insert" && e.Key == c.Tree.Parent:
			r.d.FaultIn(e.Place, "field %s says where a node lies, which an update does not change; a query of kind transplant does", e.Key)
		case c.Tree != nil && e.Key == c.Tree.Of:
			r.d.FaultIn(e.Place, "field %s names the tree, and a new node comes into that of the drawn one; leave it out", e.Key)
		default:
			r.q.Set = append(r.q.Set, Assignment{e.Key, r.assigned(e.Key, kind, e.Value)})
		}
	}
}

func (r queryReader) assigned(field, kind string, n ast.Node) generate.Generator {
	if s, ok := n.(*ast.StringNode); ok && strings.HasPrefix(s.Value, "$") && !strings.HasPrefix(s.Value, "$$") {
		return generate.Drawn{Collection: r.q.Collection.At, Field: r.drawnFrom(n, s.Value, field, kind, false)}
	}
	if document.PairsOf(n) != nil {
		g := generatorReader{d: r.d, w: r.w, c: r.q.Collection, known: map[string]bool{}}
		for f := range r.q.Collection.Schema.Fields {
			g.known[f] = r.q.Kind == "insert" || r.q.Kind == "put"
		}
		return g.read(n, r.m.What+": "+field, kind)
	}
	return generate.Constant{V: r.literal(n, "the value of "+field, kind)}
}

// additions reads add: integer fields and by how much they grow.
func (r queryReader) additions() {
	n := r.m.Get("add")
	if n == nil {
		return
	}
	m, ok := r.d.Mapping(n, r.m.What+": add")
	if !ok {
		return
	}
	for _, e := range m.Entries {
		if kind := r.q.Collection.Kind(e.Key); kind != "int" {
			r.d.FaultIn(e.Place, "add is for fields of kind int, and %s is %s", e.Key, orNone(kind))
			continue
		}
		by := r.d.Integer(e.Value, "add: "+e.Key, -1<<53, 1<<53)
		r.q.Add = append(r.q.Add, Addition{e.Key, by})
	}
}

// pushes reads push: lists and what makes the elements that are put into them.
func (r queryReader) pushes() {
	n := r.m.Get("push")
	if n == nil {
		return
	}
	m, ok := r.d.Mapping(n, r.m.What+": push")
	if !ok {
		return
	}
	for _, e := range m.Entries {
		p, ok := r.d.Mapping(e.Value, r.m.What+": push: "+e.Key)
		if !ok {
			continue
		}
		if kind := r.q.Collection.Kind(e.Key); kind != "list" {
			r.d.FaultIn(e.Place, "push is for lists, and %s is %s", e.Key, orNone(kind))
		}
		to := Push{Field: e.Key, Cap: p.Integer("cap", 0, 1, limit.MaxParts), Front: p.Truth("front"), Make: generate.Constant{}}
		if of := p.Need("of", "of: $name, or of: {choice: [go, redis]}"); of != nil {
			to.Make = r.element(e.Key, of)
		}
		p.Done()
		r.q.Push = append(r.q.Push, to)
	}
}

// element reads what makes an element of a list: a text, "$field" for what another record of the data has, or a
// generator.
func (r queryReader) element(list string, n ast.Node) generate.Generator {
	c := r.q.Collection
	if s, ok := n.(*ast.StringNode); ok && strings.HasPrefix(s.Value, "$") && !strings.HasPrefix(s.Value, "$$") {
		name := s.Value[1:]
		if kind := c.Kind(name); kind == "" || kind == "list" || kind == "map" || c.Indexed(list) && kind != "string" {
			r.d.Fault(n, "%s should be a field of the other record that can be an element of %s, and it is %s", s.Value, list, orNone(kind))
		}
		c.Needs[name] = true
		return generate.Drawn{Collection: c.At, Field: name}
	}
	if document.PairsOf(n) != nil {
		g := generatorReader{d: r.d, w: r.w, c: c, known: map[string]bool{}}
		return reading{generatorReader: &g}.element(n, r.m.What+": an element of "+list)
	}
	return generate.Constant{V: r.literal(n, "an element of "+list, "string")}
}

// changes checks that an update changes something, and a move a key of an index.
func (r queryReader) changes() {
	fields := r.q.Changed()
	for i, f := range fields {
		if slices.Contains(fields[:i], f) {
			r.d.FaultIn(r.m.At, "%s changes %s twice; take one of set, add and push for it", r.m.What, f)
		}
		if r.q.Collection.Indexed(f) {
			r.q.Collection.Needs[f] = true // so that it is known what moves
		}
	}
	if len(fields) == 0 {
		r.d.FaultIn(r.m.At, "%s changes nothing; add e.g. set: {title: {words: {}}}", r.m.What)
		return
	}
	if r.q.Kind == "move" && !slices.ContainsFunc(fields, r.q.Collection.Indexed) {
		r.d.FaultIn(r.m.PlaceOf("set"), "%s is a move, and no index has %s in its key; set a field that an index is ordered by, or make it kind: update", r.m.What, strings.Join(fields, ", "))
	}
}

// Changed returns the fields that an update changes.
func (q *Query) Changed() (fields []string) {
	for _, s := range q.Set {
		fields = append(fields, s.Field)
	}
	for _, a := range q.Add {
		fields = append(fields, a.Field)
	}
	for _, p := range q.Push {
		fields = append(fields, p.Field)
	}
	return fields
}

// Indexed reports whether a field is part of the key of an index.
func (c *Collection) Indexed(field string) bool {
	for _, x := range c.Schema.Indexes {
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
	c := r.q.Collection
	if c.Data.File == "" {
		return
	}
	r.needAll()
	for _, s := range r.q.Set {
		if slices.Contains(c.Key(), s.Field) {
			return
		}
	}
	last := c.Key()
	if len(last) == 0 {
		return
	}
	f := last[len(last)-1]
	r.d.FaultIn(r.m.At, "%s inserts copies of the file's records, whose keys are taken; give them new ones, e.g. set: {%s: {sequence: 1, pattern: \"new-%%06d\"}}", r.m.What, f)
}
