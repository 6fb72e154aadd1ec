package workload

import (
	"github.com/goccy/go-yaml/ast"

	"github.com/polystore/polystore/loadtest/internal/document"
	"github.com/polystore/polystore/loadtest/internal/limit"
)

// A Draw says how often a query is for which record.
type Draw struct {
	Way   string  // "uniform", "zipf", "latest" or "scrambled"
	Skew  float64 // the exponent of zipf and latest
	Moves int     // of zipf: after how many operations other records are the favourites; 0 is never
}

// Grows reports whether records that the run inserts are drawn, too.
func (d Draw) Grows() bool { return d.Way == "latest" || d.Way == "scrambled" }

// commonSkew is the exponent of those who do not name one.
const commonSkew = 0.99

// draw reads how records are drawn: by the name of a way, or {zipf: exponent} and the like.
func (r queryReader) draw() Draw {
	way := Draw{Way: "uniform"}
	switch n := r.m.Get("draw").(type) {
	case nil:
		return way
	case *ast.StringNode:
		switch way.Way = n.Value; n.Value {
		case "uniform", "scrambled":
		case "zipf", "latest":
			way.Skew = commonSkew
		default:
			r.d.Fault(n, "draw is %q; want uniform, zipf, latest, scrambled, or {zipf: 0.99}", n.Value)
		}
	default:
		m, ok := r.d.Mapping(n, r.m.What+": draw")
		if !ok {
			return way
		}
		zipf, latest := m.Has("zipf"), m.Has("latest")
		if zipf == latest {
			r.d.FaultIn(m.At, "%s wants zipf or latest, and its exponent: {zipf: 0.99}", m.What)
		}
		if latest {
			way = Draw{Way: "latest", Skew: m.Number("latest", commonSkew, 0, 10)}
		} else {
			way = Draw{Way: "zipf", Skew: m.Number("zipf", commonSkew, 0, 10), Moves: m.Integer("moves", 0, 1, limit.MaxRecords)}
		}
		m.Done()
	}
	if k := r.q.Kind; way.Grows() && (r.q.Collection.Tree != nil || k == "insert" || k == "put" || k == "group") {
		r.d.FaultIn(r.m.PlaceOf("draw"), "%s draws records that the run inserted (%s), which queries of trees, insert, put and group do not; take uniform or zipf", r.m.What, way.Way)
	}
	return way
}

// limit reads how many records are found at most: a number, or {min: 1, max: 100}, of which each number is as
// frequent as the others.
func (r queryReader) limit() {
	n := r.m.Get("limit")
	if document.PairsOf(n) == nil || r.q.Kind == "page" {
		r.q.Limit = r.m.Integer("limit", 0, 0, limit.MaxFound)
		return
	}
	m, ok := r.d.Mapping(n, r.m.What+": limit")
	if !ok {
		return
	}
	defer m.Done()
	r.q.Least, r.q.Limit = m.Integer("min", 1, 1, limit.MaxFound), m.Integer("max", 1, 1, limit.MaxFound)
	if r.q.Least > r.q.Limit {
		r.d.FaultIn(m.At, "%s: max is less than min: %d and %d", m.What, r.q.Limit, r.q.Least)
	}
}
