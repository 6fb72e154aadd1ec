package loadtest

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/polystore/polystore/loadtest/internal/limit"
)

var queryKinds = []string{"get", "exists", "one", "find", "count", "page", "insert", "update", "move", "delete"}

// A queryReader reads one query.
type queryReader struct {
	d *document
	w *Workload
	m *mapping
	q *query
}

func (w *Workload) readQueries(d *document, m *mapping) {
	n := m.need("queries", "queries: [{name: one post, weight: 100, kind: get}]")
	if n == nil || len(w.collections) == 0 {
		return
	}
	sum := 0.0
	for _, item := range d.list(n, "queries") {
		qm, ok := d.mapping(item, "the query")
		if !ok {
			continue
		}
		q := w.readQuery(d, qm)
		sum += q.weight
		if slices.ContainsFunc(w.queries, func(o *query) bool { return o.name == q.name }) {
			d.faultIn(qm.placeOf("name"), "there is a query %q already; take another name", q.name)
		}
		w.queries = append(w.queries, q)
	}
	if math.Abs(sum-100) > 1e-6 {
		d.faultIn(m.placeOf("queries"), "the weights of the queries add up to %v; they are percent, so make them 100", sum)
	}
}

func (w *Workload) readQuery(d *document, m *mapping) *query {
	r := queryReader{d, w, m, &query{collection: w.collections[0]}}
	q := r.q
	q.name = d.name(m.need("name", "name: newest of an author"), m.what+": name")
	m.what, q.place = "query "+q.name, m.at
	if m.need("weight", "weight: 10, in percent") != nil {
		q.weight = m.number("weight", 0, 0, 100)
	}
	q.kind = d.text(m.need("kind", "kind: find"), m.what+": kind")
	if q.kind != "" && !slices.Contains(queryKinds, q.kind) {
		d.faultIn(m.placeOf("kind"), "kind %q of %s is none of %s", q.kind, m.what, strings.Join(queryKinds, ", "))
	}
	if name := m.text("collection"); name != "" {
		if c := w.collectionNamed(name); c != nil {
			q.collection = c
		} else {
			d.faultIn(m.placeOf("collection"), "there is no collection %q; the collections are %s", name, w.collectionNames())
		}
	} else if len(w.collections) > 1 {
		d.faultIn(m.at, "%s does not say of which collection; add collection: %s", m.what, q.collection.schema.Collection)
	}
	q.skew = r.skew()
	q.misses = m.truth("misses")
	r.parameters()
	r.objectives()
	m.done()
	return q
}

// skew reads how records are drawn: "uniform", "zipf" or {zipf: exponent}.
func (r queryReader) skew() float64 {
	switch n := r.m.get("draw").(type) {
	case nil:
		return 0
	case *ast.StringNode:
		if n.Value == "zipf" {
			return 0.99
		} else if n.Value != "uniform" {
			r.d.fault(n, "draw is %q; want uniform, zipf, or {zipf: 0.99}", n.Value)
		}
		return 0
	default:
		m, ok := r.d.mapping(n, r.m.what+": draw")
		if !ok {
			return 0
		}
		defer m.done()
		return m.number("zipf", 0.99, 0, 10)
	}
}

// parameters reads what belongs to the kind of the query. A key that belongs to
// another kind is unknown here.
func (r queryReader) parameters() {
	q := r.q
	switch q.kind {
	case "find", "count", "page", "one":
		r.conditions()
		if q.kind != "one" {
			r.window()
			q.limit = r.m.integer("limit", 0, 0, limit.MaxFound)
		}
		if q.kind != "one" {
			q.order = r.m.texts("order")
			checkNames(r.d, r.m, q.collection.schema.Fields, "order")
		}
		if q.kind == "page" {
			q.pages = r.m.integer("pages", 2, 1, limit.MaxPages)
			if q.limit == 0 {
				r.d.faultIn(r.m.at, "%s has no limit, which is the size of its pages; add limit: 20", r.m.what)
			}
		}
	case "insert":
		r.assignments()
		r.insertKey()
	case "update", "move":
		r.assignments()
		r.additions()
		r.changes()
		r.needKey()
	default:
		r.needKey()
	}
}

func (r queryReader) needKey() {
	for _, f := range r.q.collection.key() {
		r.q.collection.needs[f] = true
	}
}

// conditions reads where: fields and the values they must have.
func (r queryReader) conditions() {
	n := r.m.get("where")
	if n == nil {
		return
	}
	m, ok := r.d.mapping(n, r.m.what+": where")
	if !ok {
		return
	}
	for _, e := range m.entries {
		if c := r.condition(e.key, e.place, e.value); c != nil {
			r.q.where = append(r.q.where, *c)
		}
	}
}

// condition reads the value of a field: a literal, "$" for that of a record of
// the data, "$other" for another field of that record.
func (r queryReader) condition(field string, at place, n ast.Node) *condition {
	bare, elem := strings.CutSuffix(field, "[]")
	kind := r.q.collection.kind(bare)
	switch {
	case kind == "":
		names := r.q.collection.schema.Fields
		r.d.faultIn(at, "there is no field %q in collection %s%s", bare, r.q.collection.schema.Collection, hint(bare, names))
		return nil
	case elem && kind != "list":
		r.d.faultIn(at, "field %s is of kind %s and has no elements; leave out the []", bare, kind)
		return nil
	case elem:
		kind = "string"
	case kind == "list" || kind == "map":
		r.d.faultIn(at, "field %s is a %s, which cannot be compared; a list has elements: %s[]", bare, kind, bare)
		return nil
	}
	c := &condition{field: field}
	if s, ok := n.(*ast.StringNode); ok && strings.HasPrefix(s.Value, "$") && !strings.HasPrefix(s.Value, "$$") {
		c.from = r.drawnFrom(n, s.Value, bare, kind, elem)
		return c
	}
	c.literal = r.literal(n, "the value of "+field, kind)
	return c
}

func hint(name string, fields map[string]string) string {
	var names []string
	for f := range fields {
		names = append(names, f)
	}
	slices.Sort(names)
	if near := nearest(name, names); near != "" {
		return "; did you mean " + near + "?"
	}
	return "; the fields are " + strings.Join(names, ", ")
}

// literal reads a value; "$$" at its beginning stands for "$".
func (r queryReader) literal(n ast.Node, what, kind string) any {
	v := literal(r.d, n, what, kind)
	if s, ok := v.(string); ok && strings.HasPrefix(s, "$$") {
		return s[1:]
	}
	return v
}

// drawnFrom returns the field of the drawn record that "$" or "$field" names.
func (r queryReader) drawnFrom(n ast.Node, text, field, kind string, elem bool) string {
	name := strings.TrimSuffix(strings.TrimPrefix(text, "$"), "[]")
	if name == "" {
		name = field
	}
	want := kind
	if elem && name == field {
		want = "list"
	}
	if got := r.q.collection.kind(name); got != want {
		r.d.fault(n, "%s should be a field of kind %s of the drawn record, and it is %s", text, want, orNone(got))
	}
	r.q.collection.needs[name] = true
	return name
}

// window reads range or prefix.
func (r queryReader) window() {
	rng, prefix := r.m.get("range"), r.m.get("prefix")
	switch {
	case rng != nil && prefix != nil:
		r.d.faultIn(r.m.placeOf("prefix"), "%s has a range and a prefix; one of them is possible", r.m.what)
	case rng != nil:
		r.rangeOf(rng)
	case prefix != nil:
		r.prefixOf(prefix)
	}
}

func (r queryReader) windowField(n ast.Node, what string) (*mapping, string) {
	m, ok := r.d.mapping(n, r.m.what+": "+what)
	if !ok {
		return nil, ""
	}
	field := r.d.text(m.need("field", "field: created"), m.what+": field")
	if r.q.collection.kind(field) == "" {
		r.d.faultIn(m.placeOf("field"), "there is no field %q in collection %s%s", field, r.q.collection.schema.Collection, hint(field, r.q.collection.schema.Fields))
		return nil, ""
	}
	return m, field
}

func (r queryReader) rangeOf(n ast.Node) {
	m, field := r.windowField(n, "range")
	if m == nil {
		return
	}
	win := &window{field: field}
	win.from, win.isAbove = r.end(m, field, "from", "above")
	win.to, win.isAtMost = r.end(m, field, "to", "at_most")
	if span := m.get("span"); span != nil {
		win.span = r.span(span, field)
		if win.from == nil || win.isAbove || win.to != nil {
			r.d.fault(span, "span goes with from and without to and at_most: from <= %s < from + span", field)
		}
	}
	if win.from == nil && win.to == nil {
		r.d.faultIn(m.at, "%s has no end: from, above, to or at_most; e.g. {field: %s, from: $, span: …}", m.what, field)
	}
	m.done()
	r.q.window = win
}

// end reads one end of a range, which has two names: by the second one the value itself
// is on the other side.
func (r queryReader) end(m *mapping, field, name, second string) (c *condition, isSecond bool) {
	one, other := m.get(name), m.get(second)
	if one != nil && other != nil {
		r.d.faultIn(m.placeOf(second), "%s has %s and %s; one of them is possible", m.what, name, second)
	}
	if one == nil {
		one, isSecond = other, other != nil
	}
	if one == nil {
		return nil, false
	}
	return r.condition(field, placeOf(one), one), isSecond
}

// span reads the width of a range.
func (r queryReader) span(n ast.Node, field string) any {
	const long = 100 * 365 * 24 * time.Hour
	switch kind := r.q.collection.kind(field); kind {
	case "int":
		return r.d.integer(n, "span", 1, 1<<53)
	case "float":
		return r.d.number(n, "span", 0, 1e300)
	case "time":
		return r.d.duration(n, "span", time.Millisecond, long)
	default:
		r.d.fault(n, "field %s is of kind %s, which has no span; give to instead", field, kind)
	}
	return nil
}

func (r queryReader) prefixOf(n ast.Node) {
	m, field := r.windowField(n, "prefix")
	if m == nil {
		return
	}
	win := &window{field: field, isPrefix: true}
	win.prefix, win.chars = m.text("text"), m.integer("chars", 0, 1, 100)
	if r.q.collection.kind(field) != "string" {
		r.d.faultIn(m.placeOf("field"), "field %s is of kind %s; a prefix is for text", field, r.q.collection.kind(field))
	}
	if (win.prefix == "") == (win.chars == 0) {
		r.d.faultIn(m.at, "%s wants text, or chars: how many characters of a drawn value", m.what)
	}
	if win.chars > 0 {
		r.q.collection.needs[field] = true
	}
	m.done()
	r.q.window = win
}

// objectives reads {p99: 10ms, …}.
func (r queryReader) objectives() {
	n := r.m.get("objectives")
	if n == nil {
		return
	}
	m, ok := r.d.mapping(n, r.m.what+": objectives")
	if !ok {
		return
	}
	for _, e := range m.entries {
		digits, ok := strings.CutPrefix(e.key, "p")
		p, err := strconv.ParseFloat(digits, 64)
		if e.key == "max" {
			p, ok, err = 100, true, nil
		}
		if !ok || err != nil || !(p > 0 && p <= 100) || len(digits) > 6 {
			r.d.faultIn(e.place, "objective %q is none of p50, p99, p99.9, max and the like", e.key)
			continue
		}
		bound := r.d.duration(e.value, "objective "+e.key, time.Microsecond, time.Hour)
		r.q.objectives = append(r.q.objectives, objective{p, e.key, bound})
	}
}
