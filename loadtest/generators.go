package loadtest

import (
	"regexp"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/polystore/polystore/loadtest/internal/format"
	"github.com/polystore/polystore/loadtest/internal/limit"
)

// A generatorReader reads the generators of one collection.
type generatorReader struct {
	d     *document
	w     *Workload
	c     *collection
	known map[string]bool // fields made so far, for templates
}

// A reading is one generator that is being read.
type reading struct {
	*generatorReader
	m    *mapping
	what string
	kind string // that the field wants
}

// A generatorKind is a generator by the key that names it, and the kind of what
// it makes; "" is whatever the field wants.
type generatorKind struct {
	key, kind string
	read      func(r reading, n ast.Node) generator
}

func generatorKinds() []generatorKind {
	return []generatorKind{
		{"sequence", "int", reading.sequence},
		{"int", "int", reading.integers},
		{"float", "float", reading.floats},
		{"bool", "bool", reading.truths},
		{"words", "string", reading.prose},
		{"time", "time", reading.times},
		{"choice", "", reading.choice},
		{"value", "", reading.constant},
		{"template", "string", reading.template},
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
func (r *generatorReader) read(n ast.Node, what, kind string) generator {
	m, ok := r.d.mapping(n, what)
	if !ok {
		return constant{}
	}
	var found []string
	var g generator = constant{}
	made := kind
	rd := reading{r, m, what, kind}
	for _, k := range generatorKinds() {
		if v := m.get(k.key); v != nil {
			found = append(found, k.key)
			if k.kind != "" {
				made = k.kind
			}
			g = k.read(rd, v)
		}
	}
	if len(found) != 1 {
		r.d.faultIn(m.at, "%s has %d generators; want one of %s", what, len(found), generatorNames())
		return g
	}
	if p := m.text("pattern"); p != "" {
		g, made = rd.pattern(p, made, g), "string"
	}
	if missing := m.number("missing", 0, 0, 1); missing > 0 {
		g = sometimes{missing, g}
	}
	m.done()
	if made != kind {
		r.d.faultIn(m.at, "%s is of kind %s, and %s makes %s", what, kind, found[0], made)
	}
	return g
}

var patternForm = regexp.MustCompile(`^([^%]|%%)*%0?[0-9]{0,2}d([^%]|%%)*$`)

func (r reading) pattern(format, made string, g generator) generator {
	switch {
	case made != "int":
		r.d.faultIn(r.m.placeOf("pattern"), "%s: pattern writes whole numbers into text; use it with sequence or int", r.what)
	case !patternForm.MatchString(format):
		r.d.faultIn(r.m.placeOf("pattern"), "%s: pattern %q needs one %%d where the number goes, as in user:%%04d", r.what, format)
	default:
		return pattern{format, g}
	}
	return constant{}
}

func (r reading) sequence(n ast.Node) generator {
	return sequence{r.d.integer(n, r.what+": sequence", 0, 1<<40)}
}

// sub returns the mapping of a generator's own settings.
func (r reading) sub(n ast.Node, key string) (*mapping, bool) {
	return r.d.mapping(n, r.what+": "+key)
}

func (r reading) integers(n ast.Node) generator {
	m, ok := r.sub(n, "int")
	if !ok {
		return constant{}
	}
	defer m.done()
	low, high := m.integer64("min", 0, -1<<53, 1<<53), m.integer64("max", 100, -1<<53, 1<<53)
	skew := m.number("zipf", 0, 0, 10)
	switch {
	case high < low:
		r.d.faultIn(m.at, "%s: max is less than min: %d and %d", r.what, high, low)
		return constant{}
	case skew > 0 && high-low >= limit.MaxRecords:
		r.d.faultIn(m.at, "%s: zipf over %d numbers; at most %s are possible", r.what, high-low+1, format.Count(limit.MaxRecords))
		return constant{}
	case skew > 0:
		return integers{low, high, newZipf(int(high-low+1), skew)}
	}
	return integers{low: low, high: high}
}

func (r reading) floats(n ast.Node) generator {
	m, ok := r.sub(n, "float")
	if !ok {
		return constant{}
	}
	defer m.done()
	g := floats{m.number("min", 0, -1e300, 1e300), m.number("max", 1, -1e300, 1e300)}
	if g.high < g.low {
		r.d.faultIn(m.at, "%s: max is less than min: %v and %v", r.what, g.high, g.low)
	}
	return g
}

func (r reading) truths(n ast.Node) generator {
	return truths{r.d.number(n, r.what+": bool (the share of true)", 0, 1)}
}

// between reads min and max of a mapping.
func (r reading) between(m *mapping, least, most int) (int, int) {
	low, high := m.integer("min", least, 0, limit.MaxParts), m.integer("max", most, 0, limit.MaxParts)
	if high < low {
		r.d.faultIn(m.at, "%s: max is less than min: %d and %d", r.what, high, low)
		high = low
	}
	return low, high
}

func (r reading) prose(n ast.Node) generator {
	m, ok := r.sub(n, "words")
	if !ok {
		return constant{}
	}
	defer m.done()
	low, high := r.between(m, 3, 8)
	return prose{low, high}
}

func (r reading) times(n ast.Node) generator {
	m, ok := r.sub(n, "time")
	if !ok {
		return constant{}
	}
	defer m.done()
	g := times{ascending: m.truth("ascending")}
	from, err1 := timeFrom(r.d.text(m.need("from", "from: 2024-01-01"), "from"), timeForms[0])
	to, err2 := timeFrom(r.d.text(m.need("to", "to: 2026-01-01"), "to"), timeForms[0])
	switch {
	case err1 != nil:
		r.d.faultIn(m.placeOf("from"), "%s: %v", r.what, err1)
	case err2 != nil:
		r.d.faultIn(m.placeOf("to"), "%s: %v", r.what, err2)
	case !from.Before(to):
		r.d.faultIn(m.at, "%s: to is not after from", r.what)
	}
	g.from, g.to = from, to
	return g
}

// choice reads a list of values, or values with their weights.
func (r reading) choice(n ast.Node) generator {
	var g choice
	var each []float64
	what := r.what + ": choice"
	if seq, ok := n.(*ast.SequenceNode); ok {
		for _, item := range seq.Values {
			g.values, each = append(g.values, literal(r.d, item, what, r.kind)), append(each, 1)
		}
	} else if m, ok := r.d.mapping(n, what); ok {
		for _, e := range m.entries {
			v, err := fromText(r.kind, e.key, timeForms[0])
			if err != nil {
				r.d.faultIn(e.place, "%s: %v", what, err)
			}
			g.values = append(g.values, v)
			each = append(each, r.d.number(e.value, "the weight of "+e.key, 0, 1e9))
		}
	}
	g.weights = newWeights(each)
	if len(each) == 0 || g.weights[len(each)-1] <= 0 {
		r.d.fault(n, "%s has nothing to choose; write [IT, daily], or {IT: 60, daily: 40} with weights", what)
		return constant{}
	}
	return g
}

func (r reading) constant(n ast.Node) generator {
	return constant{literal(r.d, n, r.what+": value", r.kind)}
}

// template reads text with field names in braces.
func (r reading) template(n ast.Node) generator {
	rest := r.d.text(n, r.what+": template")
	var g template
	for {
		before, after, some := strings.Cut(rest, "{")
		g.parts = append(g.parts, before)
		if !some {
			return g
		}
		name, behind, closed := strings.Cut(after, "}")
		switch {
		case !closed:
			r.d.fault(n, "%s: a brace is not closed", r.what)
			return g
		case !r.known[name]:
			r.d.fault(n, "%s: there is no field %q above this one; a template uses fields that are made before it", r.what, name)
		}
		g.parts, rest = append(g.parts, name), behind
	}
}

func (r reading) reference(n ast.Node) generator {
	m, ok := r.sub(n, "ref")
	if !ok {
		return constant{}
	}
	defer m.done()
	name := r.d.text(m.need("collection", "collection: posts"), r.what+": collection")
	field := r.d.text(m.need("field", "field: id"), r.what+": field")
	skew := m.number("zipf", 0, 0, 10)
	c := r.w.collectionNamed(name)
	if c == nil {
		r.d.faultIn(m.placeOf("collection"), "%s: there is no collection %q above this one; a ref goes to one that is made before", r.what, name)
		return constant{}
	}
	if kind := c.kind(field); kind != r.kind {
		r.d.faultIn(m.placeOf("field"), "%s is of kind %s, and %s.%s is %s", r.what, r.kind, name, field, orNone(kind))
	}
	c.needs[field] = true
	return &reference{c.at, field, skew, r.w.Seed}
}

func orNone(kind string) string {
	if kind == "" {
		return "not declared"
	}
	return "of kind " + kind
}

// element reads a generator inside a list or map. Nothing says of which kind it
// must be, so it is what the generator makes.
func (r reading) element(n ast.Node, what string) generator {
	kind := "string"
	for _, v := range pairsOf(n) {
		key, _ := keyOf(v.Key)
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

func (r reading) several(n ast.Node) generator {
	m, ok := r.sub(n, "list")
	if !ok {
		return constant{}
	}
	defer m.done()
	low, high := r.between(m, 0, 4)
	of := m.need("of", "of: {choice: [go, redis]}")
	if of == nil {
		return constant{}
	}
	return several{low, high, r.element(of, r.what+": an element")}
}

func (r reading) nested(n ast.Node) generator {
	m, ok := r.sub(n, "map")
	if !ok {
		return constant{}
	}
	var g nested
	for _, e := range m.entries {
		g.fields = append(g.fields, fieldSource{e.key, r.element(e.value, r.what+": "+e.key)})
	}
	return g
}
