package workload

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/polystore/polystore/loadtest/internal/document"
	"github.com/polystore/polystore/loadtest/internal/limit"
)

var queryKinds = []string{"get", "exists", "one", "find", "count", "page", "near", "groups", "distinct", "firsts", "insert", "put", "update", "modify", "move", "group", "renew", "delete",
	"children", "ancestors", "subtree", "transplant", "journey"}

// A queryReader reads one query.
type queryReader struct {
	d *document.File
	w *Workload
	m *document.Mapping
	q *Query
}

func (w *Workload) readQueries(d *document.File, m *document.Mapping) {
	n := m.Need("queries", "queries: [{name: one post, weight: 100, kind: get}]")
	if n == nil || len(w.Collections) == 0 {
		return
	}
	sum := 0.0
	for _, item := range d.List(n, "queries") {
		qm, ok := d.Mapping(item, "the query")
		if !ok {
			continue
		}
		q := w.readQuery(d, qm)
		sum += q.Weight
		if slices.ContainsFunc(w.Queries, func(o *Query) bool { return o.Name == q.Name }) {
			d.FaultIn(qm.PlaceOf("name"), "there is a query %q already; take another name", q.Name)
		}
		w.Queries = append(w.Queries, q)
	}
	w.takeSteps(d)
	if w.Trace == nil && math.Abs(sum-100) > 1e-6 {
		d.FaultIn(m.PlaceOf("queries"), "the weights of the queries add up to %v; they are percent, so make them 100", sum)
	}
}

func (w *Workload) readQuery(d *document.File, m *document.Mapping) *Query {
	r := queryReader{d, w, m, &Query{Collection: w.Collections[0]}}
	q := r.q
	q.Name = d.Label(m.Need("name", "name: newest of an author"), m.What+": name")
	m.What, q.Place = "query "+q.Name, m.At
	if w.Trace != nil || m.Need("weight", "weight: 10, in percent") != nil {
		q.Weight = m.Number("weight", 0, 0, 100)
	}
	q.Kind = d.Text(m.Need("kind", "kind: find"), m.What+": kind")
	if q.Kind != "" && !slices.Contains(queryKinds, q.Kind) {
		d.FaultIn(m.PlaceOf("kind"), "kind %q of %s is none of %s", q.Kind, m.What, strings.Join(queryKinds, ", "))
	}
	if name := m.Text("collection"); name != "" {
		if c := w.collectionNamed(name); c != nil {
			q.Collection = c
		} else {
			d.FaultIn(m.PlaceOf("collection"), "there is no collection %q; the collections are %s", name, w.collectionNames())
		}
	} else if len(w.Collections) > 1 && q.Kind != "journey" {
		d.FaultIn(m.At, "%s does not say of which collection; add collection: %s", m.What, q.Collection.Schema.Collection)
	}
	q.Draw = r.draw()
	q.Misses = m.Truth("misses")
	r.ofTrees()
	r.parameters()
	r.nodes()
	r.objectives()
	m.Done()
	return q
}

// parameters reads what belongs to the kind of the query. A key that belongs to
// another kind is unknown here.
func (r queryReader) parameters() {
	q := r.q
	switch q.Kind {
	case "find", "count", "page", "one", "groups", "distinct", "firsts":
		r.found()
	case "journey":
		r.steps()
	case "near":
		r.conditions()
		r.near()
	case "insert":
		r.assignments()
		r.insertKey()
	case "put":
		r.assignments()
		r.needKey()
		r.needAll()
	case "renew":
		if q.Collection.TTL == 0 {
			r.d.FaultIn(r.m.PlaceOf("kind"), "%s renews records, and those of collection %s do not expire; give it ttl: 24h", r.m.What, q.Collection.Schema.Collection)
		}
		r.needKey()
	case "get":
		r.joins()
		r.needKey()
	case "group":
		r.group()
	case "update", "modify", "move":
		r.assignments()
		r.additions()
		r.pushes()
		r.changes()
		r.needKey()
	default:
		r.needKey()
	}
	if q.Kind == "get" || q.Kind == "find" {
		r.children()
	}
}

// found reads what is asked by conditions.
func (r queryReader) found() {
	q := r.q
	r.conditions()
	if q.Kind != "one" {
		r.window()
		r.limit()
		r.sets()
		q.Order = r.m.Texts("order")
		checkNames(r.d, r.m, q.Collection.Schema.Fields, "order")
	}
	if q.groups() {
		r.grouping()
	}
	if q.Kind == "find" || q.Kind == "page" || q.Kind == "one" {
		r.joins()
	}
	if q.Kind == "page" {
		q.Pages = r.m.Integer("pages", 2, 1, limit.MaxPages)
		if q.Limit == 0 {
			r.d.FaultIn(r.m.At, "%s has no limit, which is the size of its pages; add limit: 20", r.m.What)
		}
	}
}

// needAll keeps all fields of the records of a file, of which there will be copies.
func (r queryReader) needAll() {
	if r.q.Collection.Data.File == "" {
		return
	}
	for f := range r.q.Collection.Schema.Fields {
		r.q.Collection.Needs[f] = true
	}
}

func (r queryReader) needKey() {
	for _, f := range r.q.Collection.Key() {
		r.q.Collection.Needs[f] = true
	}
}

// conditions reads where: fields and the values they must have.
func (r queryReader) conditions() {
	n := r.m.Get("where")
	if n == nil {
		return
	}
	m, ok := r.d.Mapping(n, r.m.What+": where")
	if !ok {
		return
	}
	for _, e := range m.Entries {
		if c := r.condition(e.Key, e.Place, e.Value); c != nil {
			r.q.Where = append(r.q.Where, *c)
		}
	}
}

// condition reads the value of a field: a literal, "$" for that of a record of
// the data, "$other" for another field of that record.
func (r queryReader) condition(field string, at document.Place, n ast.Node) *Condition {
	bare, elem := strings.CutSuffix(field, "[]")
	kind := r.compared(field, at)
	if kind == "" {
		return nil
	}
	c := &Condition{Field: field}
	if s, ok := n.(*ast.StringNode); ok && strings.HasPrefix(s.Value, "$") && !strings.HasPrefix(s.Value, "$$") {
		c.From = r.drawnFrom(n, s.Value, bare, kind, elem)
		return c
	}
	c.Literal = r.literal(n, "the value of "+field, kind)
	return c
}

// compared returns the kind of what a condition compares, "" after a fault.
func (r queryReader) compared(field string, at document.Place) string {
	bare, elem := strings.CutSuffix(field, "[]")
	kind := r.q.Collection.Kind(bare)
	switch {
	case kind == "":
		names := r.q.Collection.Schema.Fields
		r.d.FaultIn(at, "there is no field %q in collection %s%s", bare, r.q.Collection.Schema.Collection, hint(bare, names))
	case elem && kind != "list":
		r.d.FaultIn(at, "field %s is of kind %s and has no elements; leave out the []", bare, kind)
	case elem:
		return "string"
	case kind == "list" || kind == "map":
		r.d.FaultIn(at, "field %s is a %s, which cannot be compared; a list has elements: %s[]", bare, kind, bare)
	default:
		return kind
	}
	return ""
}

func hint(name string, fields map[string]string) string {
	var names []string
	for f := range fields {
		names = append(names, f)
	}
	slices.Sort(names)
	if near := document.Nearest(name, names); near != "" {
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
	if got := r.q.Collection.Kind(name); got != want {
		r.d.Fault(n, "%s should be a field of kind %s of the drawn record, and it is %s", text, want, orNone(got))
	}
	r.q.Collection.Needs[name] = true
	return name
}

// objectives reads {p99: 10ms, …}.
func (r queryReader) objectives() {
	n := r.m.Get("objectives")
	if n == nil {
		return
	}
	m, ok := r.d.Mapping(n, r.m.What+": objectives")
	if !ok {
		return
	}
	for _, e := range m.Entries {
		digits, ok := strings.CutPrefix(e.Key, "p")
		p, err := strconv.ParseFloat(digits, 64)
		if e.Key == "max" {
			p, ok, err = 100, true, nil
		}
		if !ok || err != nil || !(p > 0 && p <= 100) || len(digits) > 6 {
			r.d.FaultIn(e.Place, "objective %q is none of p50, p99, p99.9, max and the like", e.Key)
			continue
		}
		bound := r.d.Duration(e.Value, "objective "+e.Key, time.Microsecond, time.Hour)
		r.q.Objectives = append(r.q.Objectives, Objective{p, e.Key, bound})
	}
}
