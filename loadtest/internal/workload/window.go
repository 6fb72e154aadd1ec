package workload

import (
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/polystore/polystore/loadtest/internal/document"
)

// window reads range or prefix.
func (r queryReader) window() {
	rng, prefix := r.m.Get("range"), r.m.Get("prefix")
	switch {
	case rng != nil && prefix != nil:
		r.d.FaultIn(r.m.PlaceOf("prefix"), "%s has a range and a prefix; one of them is possible", r.m.What)
	case rng != nil:
		r.rangeOf(rng)
	case prefix != nil:
		r.prefixOf(prefix)
	}
}

func (r queryReader) windowField(n ast.Node, what string) (*document.Mapping, string) {
	m, ok := r.d.Mapping(n, r.m.What+": "+what)
	if !ok {
		return nil, ""
	}
	field := r.d.Text(m.Need("field", "field: created"), m.What+": field")
	if r.q.Collection.Kind(field) == "" {
		r.d.FaultIn(m.PlaceOf("field"), "there is no field %q in collection %s%s", field, r.q.Collection.Schema.Collection, hint(field, r.q.Collection.Schema.Fields))
		return nil, ""
	}
	return m, field
}

func (r queryReader) rangeOf(n ast.Node) {
	m, field := r.windowField(n, "range")
	if m == nil {
		return
	}
	win := &Window{Field: field}
	win.From, win.IsAbove = r.end(m, field, "from", "above")
	win.To, win.IsAtMost = r.end(m, field, "to", "at_most")
	if span := m.Get("span"); span != nil {
		win.Span = r.span(span, field)
		if win.From == nil || win.IsAbove || win.To != nil {
			r.d.Fault(span, "span goes with from and without to and at_most: from <= %s < from + span", field)
		}
	}
	if win.From == nil && win.To == nil {
		r.d.FaultIn(m.At, "%s has no end: from, above, to or at_most; e.g. {field: %s, from: $, span: …}", m.What, field)
	}
	m.Done()
	r.q.Window = win
}

// end reads one end of a range, which has two names: by the second one the value itself
// is on the other side.
func (r queryReader) end(m *document.Mapping, field, name, second string) (c *Condition, isSecond bool) {
	one, other := m.Get(name), m.Get(second)
	if one != nil && other != nil {
		r.d.FaultIn(m.PlaceOf(second), "%s has %s and %s; one of them is possible", m.What, name, second)
	}
	if one == nil {
		one, isSecond = other, other != nil
	}
	if one == nil {
		return nil, false
	}
	return r.condition(field, document.PlaceOf(one), one), isSecond
}

// span reads the width of a range.
func (r queryReader) span(n ast.Node, field string) any {
	const long = 100 * 365 * 24 * time.Hour
	switch kind := r.q.Collection.Kind(field); kind {
	case "int":
		return r.d.Integer(n, "span", 1, 1<<53)
	case "float":
		return r.d.Number(n, "span", 0, 1e300)
	case "time":
		return r.d.Duration(n, "span", time.Millisecond, long)
	default:
		r.d.Fault(n, "field %s is of kind %s, which has no span; give to instead", field, kind)
	}
	return nil
}

func (r queryReader) prefixOf(n ast.Node) {
	m, field := r.windowField(n, "prefix")
	if m == nil {
		return
	}
	win := &Window{Field: field, IsPrefix: true}
	win.Prefix, win.Chars = m.Text("text"), m.Integer("chars", 0, 1, 100)
	if r.q.Collection.Kind(field) != "string" {
		r.d.FaultIn(m.PlaceOf("field"), "field %s is of kind %s; a prefix is for text", field, r.q.Collection.Kind(field))
	}
	if (win.Prefix == "") == (win.Chars == 0) {
		r.d.FaultIn(m.At, "%s wants text, or chars: how many characters of a drawn value", m.What)
	}
	if win.Chars > 0 {
		r.q.Collection.Needs[field] = true
	}
	m.Done()
	r.q.Window = win
}
