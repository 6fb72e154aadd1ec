package workload

import (
	"math"

	"github.com/goccy/go-yaml/ast"

	"github.com/polystore/polystore/loadtest/internal/document"
	"github.com/polystore/polystore/loadtest/internal/generate"
	"github.com/polystore/polystore/loadtest/internal/limit"
	"github.com/polystore/polystore/loadtest/internal/random"
)

// hashed scatters the numbers of another generator.
func (r reading) hashed(made string, g generate.Generator) generate.Generator {
	if made != "int" {
		r.d.FaultIn(r.m.PlaceOf("hash"), "%s: hash scatters whole numbers; use it with sequence or int", r.what)
		return g
	}
	return generate.Hashed{Of: g}
}

func (r reading) text(n ast.Node) generate.Generator {
	return generate.Text{Payload: r.payload(n, "text")}
}

func (r reading) bytes(n ast.Node) generate.Generator { return r.payload(n, "bytes") }

// payload reads {size: 100, compresses: 4}.
func (r reading) payload(n ast.Node, key string) generate.Payload {
	m, ok := r.sub(n, key)
	if !ok {
		return generate.Payload{Size: generate.Constant{V: int64(0)}}
	}
	defer m.Done()
	g := generate.Payload{Size: generate.Constant{V: int64(0)}, Ratio: m.Number("compresses", 1, 1, 1000)}
	if size := m.Need("size", "size: 100"); size != nil {
		g.Size = r.size(size)
	}
	return g
}

// size reads how many bytes a value has: a number, {min: 50, max: 200}, of which with zipf small numbers are more
// frequent, or the lognormal {median: 300, sigma: 1}.
func (r reading) size(n ast.Node) generate.Generator {
	if document.PairsOf(n) == nil {
		return generate.Constant{V: r.d.Integer(n, r.what+": size", 0, limit.MaxPayload)}
	}
	m, ok := r.sub(n, "size")
	if !ok {
		return generate.Constant{V: int64(0)}
	}
	defer m.Done()
	low, high := m.Integer64("min", 0, 0, limit.MaxPayload), m.Integer64("max", limit.MaxPayload, 0, limit.MaxPayload)
	if high < low {
		r.d.FaultIn(m.At, "%s: max is less than min: %d and %d", m.What, high, low)
		return generate.Constant{V: low}
	}
	switch {
	case m.Has("median"):
		median := m.Number("median", 1, 1, limit.MaxPayload)
		return generate.Lognormal{Mu: math.Log(median), Sigma: m.Number("sigma", 1, 0, 10), Low: low, High: high}
	case !m.Has("max"):
		r.d.FaultIn(m.At, "%s has no max; write {min: 50, max: 200}, with zipf: 0.99 for more small ones, or {median: 300, sigma: 1}", m.What)
	}
	g := generate.Integers{Low: low, High: high}
	if skew := m.Number("zipf", 0, 0, 10); skew > 0 {
		g.Zipf = random.NewZipf(int(high-low+1), skew)
	}
	return g
}
