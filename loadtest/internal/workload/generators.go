package workload

import (
	"regexp"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/polystore/polystore/loadtest/internal/document"
	"github.com/polystore/polystore/loadtest/internal/format"
	"github.com/polystore/polystore/loadtest/internal/generate"
	"github.com/polystore/polystore/loadtest/internal/limit"
	"github.com/polystore/polystore/loadtest/internal/random"
	"github.com/polystore/polystore/loadtest/internal/value"
)

// A generatorReader reads the generators of one collection.
type generatorReader struct {
	d     *document.File
	w     *Workload
	c     *Collection
	known map[string]bool // fields made so far, for templates
}

// A reading is one generator that is being read.
type reading struct {
	*generatorReader
	m    *document.Mapping
	what string
	kind string // that the field wants
}

// A generatorKind is a generator by the key that names it, and the kind of what
// it makes; "" is whatever the field wants.
type generatorKind struct {
	key, kind string
	read      func(r reading, n ast.Node) generate.Generator
}

func generatorKinds() []generatorKind {
	return []generatorKind{
		{"sequence", "int", reading.sequence},
		{"int", "int", reading.integers},
		{"float", "float", reading.floats},
		{"bool", "bool", reading.truths},
		{"words", "string", reading.prose},
		{"text", "string", reading.text},
		{"bytes", "bytes", reading.bytes},
		{"time", "time", reading.times},
		{"choice", "", reading.choice},
		{"value", "", reading.constant},
		{"template", "string", reading.template},
		{"point", "string", reading.point},
		{"ref", "", reading.reference},
		{"list", "list", reading.several},
		{"map", "map", reading.nested},
	}
}

func generatorNames() string {
	var names []string
	for _, k := range generatorKinds() {
		names = append(names, k.key)
	}
	return strings.Join(names, ", ")
}

// read returns the generator that a node describes. After a fault it returns one
// that makes nothing.
func (r *generatorReader) read(n ast.Node, what, kind string) generate.Generator {
	m, ok := r.d.Mapping(n, what)
	if !ok {
		return generate.Constant{}
	}
	var found []string
	var g generate.Generator = generate.Constant{}
	made := kind
	rd := reading{r, m, what, kind}
	for _, k := range generatorKinds() {
		if v := m.Get(k.key); v != nil {
			found = append(found, k.key)
			if k.kind != "" {
				made = k.kind
			}
			g = k.read(rd, v)
		}
	}
	if len(found) != 1 {
		r.d.FaultIn(m.At, "%s has %d generators; want one of %s", what, len(found), generatorNames())
		return g
	}
	if m.Truth("hash") {
		g = rd.hashed(made, g)
	}
	if p := m.Text("pattern"); p != "" {
		g, made = rd.pattern(p, made, g), "string"
	}
	if missing := m.Number("missing", 0, 0, 1); missing > 0 {
		g = generate.Sometimes{Missing: missing, Of: g}
	}
	m.Done()
	if made != kind {
		r.d.FaultIn(m.At, "%s is of kind %s, and %s makes %s", what, kind, found[0], made)
	}
	return g
}

var patternForm = regexp.MustCompile(`^([^%]|%%)*%0?[0-9]{0,2}d([^%]|%%)*$`)

func (r reading) pattern(format, made string, g generate.Generator) generate.Generator {
	switch {
	case made != "int":
		r.d.FaultIn(r.m.PlaceOf("pattern"), "%s: pattern writes whole numbers into text; use it with sequence or int", r.what)
	case !patternForm.MatchString(format):
		r.d.FaultIn(r.m.PlaceOf("pattern"), "%s: pattern %q needs one %%d where the number goes, as in user:%%04d", r.what, format)
	default:
		return generate.Pattern{Format: format, Of: g}
	}
	return generate.Constant{}
}

func (r reading) sequence(n ast.Node) generate.Generator {
	return generate.Sequence{From: r.d.Integer(n, r.what+": sequence", 0, 1<<40)}
}

// sub returns the mapping of a generator's own settings.
func (r reading) sub(n ast.Node, key string) (*document.Mapping, bool) {
	return r.d.Mapping(n, r.what+": "+key)
}

func (r reading) integers(n ast.Node) generate.Generator {
	m, ok := r.sub(n, "int")
	if !ok {
		return generate.Constant{}
	}
	defer m.Done()
	low, high := m.Integer64("min", 0, -1<<53, 1<<53), m.Integer64("max", 100, -1<<53, 1<<53)
	skew := m.Number("zipf", 0, 0, 10)
	switch {
	case high < low:
		r.d.FaultIn(m.At, "%s: max is less than min: %d and %d", r.what, high, low)
		return generate.Constant{}
	case skew > 0 && high-low >= limit.MaxRecords:
		r.d.FaultIn(m.At, "%s: zipf over %d numbers; at most %s are possible", r.what, high-low+1, format.Count(limit.MaxRecords))
		return generate.Constant{}
	case skew > 0:
		return generate.Integers{Low: low, High: high, Zipf: random.NewZipf(int(high-low+1), skew)}
	}
	return generate.Integers{Low: low, High: high}
}

func (r reading) floats(n ast.Node) generate.Generator {
	m, ok := r.sub(n, "float")
	if !ok {
		return generate.Constant{}
	}
	defer m.Done()
	g := generate.Floats{Low: m.Number("min", 0, -1e300, 1e300), High: m.Number("max", 1, -1e300, 1e300)}
	if g.High < g.Low {
		r.d.FaultIn(m.At, "%s: max is less than min: %v and %v", r.what, g.High, g.Low)
	}
	return g
}

func (r reading) truths(n ast.Node) generate.Generator {
	return generate.Truths{Share: r.d.Number(n, r.what+": bool (the share of true)", 0, 1)}
}

// between reads min and max of a mapping.
func (r reading) between(m *document.Mapping, least, most int) (int, int) {
	low, high := m.Integer("min", least, 0, limit.MaxParts), m.Integer("max", most, 0, limit.MaxParts)
	if high < low {
		r.d.FaultIn(m.At, "%s: max is less than min: %d and %d", r.what, high, low)
		high = low
	}
	return low, high
}

func (r reading) prose(n ast.Node) generate.Generator {
	m, ok := r.sub(n, "words")
	if !ok {
		return generate.Constant{}
	}
	defer m.Done()
	low, high := r.between(m, 3, 8)
	return generate.Prose{Least: low, Most: high}
}

func (r reading) times(n ast.Node) generate.Generator {
	m, ok := r.sub(n, "time")
	if !ok {
		return generate.Constant{}
	}
	defer m.Done()
	g := generate.Times{Ascending: m.Truth("ascending")}
	from, err1 := value.TimeFrom(r.d.Text(m.Need("from", "from: 2024-01-01"), "from"), value.TimeForms[0])
	to, err2 := value.TimeFrom(r.d.Text(m.Need("to", "to: 2026-01-01"), "to"), value.TimeForms[0])
	switch {
	case err1 != nil:
		r.d.FaultIn(m.PlaceOf("from"), "%s: %v", r.what, err1)
	case err2 != nil:
		r.d.FaultIn(m.PlaceOf("to"), "%s: %v", r.what, err2)
	case !from.Before(to):
		r.d.FaultIn(m.At, "%s: to is not after from", r.what)
	}
	g.From, g.To = from, to
	return g
}

// choice reads a list of values, or values with their weights.
func (r reading) choice(n ast.Node) generate.Generator {
	var g generate.Choice
	var each []float64
	what := r.what + ": choice"
	if seq, ok := n.(*ast.SequenceNode); ok {
		for _, item := range seq.Values {
			g.Values, each = append(g.Values, literal(r.d, item, what, r.kind)), append(each, 1)
		}
	} else if m, ok := r.d.Mapping(n, what); ok {
		for _, e := range m.Entries {
			v, err := value.FromText(r.kind, e.Key, value.TimeForms[0])
			if err != nil {
				r.d.FaultIn(e.Place, "%s: %v", what, err)
			}
			g.Values = append(g.Values, v)
			each = append(each, r.d.Number(e.Value, "the weight of "+e.Key, 0, 1e9))
		}
	}
	g.Weights = random.NewWeights(each)
	if len(each) == 0 || g.Weights[len(each)-1] <= 0 {
		r.d.Fault(n, "%s has nothing to choose; write [IT, daily], or {IT: 60, daily: 40} with weights", what)
		return generate.Constant{}
	}
	return g
}

func (r reading) constant(n ast.Node) generate.Generator {
	return generate.Constant{V: literal(r.d, n, r.what+": value", r.kind)}
}

// template reads text with field names in braces.
func (r reading) template(n ast.Node) generate.Generator {
	rest := r.d.Text(n, r.what+": template")
	var g generate.Template
	for {
		before, after, some := strings.Cut(rest, "{")
		g.Parts = append(g.Parts, before)
		if !some {
			return g
		}
		name, behind, closed := strings.Cut(after, "}")
		switch {
		case !closed:
			r.d.Fault(n, "%s: a brace is not closed", r.what)
			return g
		case !r.known[name]:
			r.d.Fault(n, "%s: there is no field %q above this one; a template uses fields that are made before it", r.what, name)
		}
		g.Parts, rest = append(g.Parts, name), behind
	}
}

func (r reading) reference(n ast.Node) generate.Generator {
	m, ok := r.sub(n, "ref")
	if !ok {
		return generate.Constant{}
	}
	defer m.Done()
	name := r.d.Text(m.Need("collection", "collection: posts"), r.what+": collection")
	field := r.d.Text(m.Need("field", "field: id"), r.what+": field")
	skew := m.Number("zipf", 0, 0, 10)
	c := r.w.collectionNamed(name)
	if c == nil {
		r.d.FaultIn(m.PlaceOf("collection"), "%s: there is no collection %q above this one; a ref goes to one that is made before", r.what, name)
		return generate.Constant{}
	}
	if kind := c.Kind(field); kind != r.kind {
		r.d.FaultIn(m.PlaceOf("field"), "%s is of kind %s, and %s.%s is %s", r.what, r.kind, name, field, orNone(kind))
	}
	c.Needs[field] = true
	return &generate.Reference{Collection: c.At, Field: field, Skew: skew, Seed: r.w.Seed}
}

func orNone(kind string) string {
	if kind == "" {
		return "not declared"
	}
	return "of kind " + kind
}

// element reads a generator inside a list or map. Nothing says of which kind it
// must be, so it is what the generator makes.
func (r reading) element(n ast.Node, what string) generate.Generator {
	kind := "string"
	for _, v := range document.PairsOf(n) {
		key, _ := document.KeyOf(v.Key)
		if key == "pattern" {
			return r.read(n, what, "string")
		}
		for _, k := range generatorKinds() {
			if k.key == key && k.kind != "" {
				kind = k.kind
			}
		}
	}
	return r.read(n, what, kind)
}

func (r reading) several(n ast.Node) generate.Generator {
	m, ok := r.sub(n, "list")
	if !ok {
		return generate.Constant{}
	}
	defer m.Done()
	low, high := r.between(m, 0, 4)
	of := m.Need("of", "of: {choice: [go, redis]}")
	if of == nil {
		return generate.Constant{}
	}
	return generate.Several{Least: low, Most: high, Of: r.element(of, r.what+": an element")}
}

func (r reading) nested(n ast.Node) generate.Generator {
	m, ok := r.sub(n, "map")
	if !ok {
		return generate.Constant{}
	}
	var g generate.Nested
	for _, e := range m.Entries {
		g.Fields = append(g.Fields, generate.Field{Name: e.Key, Make: r.element(e.Value, r.what+": "+e.Key)})
	}
	return g
}
