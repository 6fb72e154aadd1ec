package workload

import (
	"github.com/goccy/go-yaml/ast"

	"github.com/polystore/polystore/loadtest/internal/generate"
	"github.com/polystore/polystore/loadtest/internal/limit"
	"github.com/polystore/polystore/repo/geo"
)

// point reads {south: 45.3, north: 45.6, west: 9.0, east: 9.4}.
func (r reading) point(n ast.Node) generate.Generator {
	m, ok := r.sub(n, "point")
	if !ok {
		return generate.Constant{}
	}
	defer m.Done()
	g := generate.Points{South: m.Number("south", -60, -90, 90), North: m.Number("north", 60, -90, 90), West: m.Number("west", -180, -180, 180), East: m.Number("east", 180, -180, 180)}
	if g.South > g.North || g.West > g.East {
		r.d.FaultIn(m.At, "%s: the north lies south of the south, or the east west of the west", r.what)
	}
	return g
}

// near reads {field: at, metres: 2000} and limit.
func (r queryReader) near() {
	q := r.q
	q.Limit = r.m.Integer("limit", 0, 0, limit.MaxFound)
	n := r.m.Need("near", "near: {field: at, metres: 2000}")
	if n == nil {
		return
	}
	m, field := r.windowField(n, "near")
	if m == nil {
		return
	}
	if m.Need("metres", "metres: 2000") != nil {
		q.Radius = m.Number("metres", 0, 0.01, geo.Farthest)
	}
	if kind := q.Collection.Kind(field); kind != "string" {
		r.d.FaultIn(m.PlaceOf("field"), "field %s is of kind %s; a place is a string, made by point: {south: …}", field, kind)
	}
	m.Done()
	q.At, q.Collection.Needs[field] = field, true
}
