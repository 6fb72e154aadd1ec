package loadtest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// A generator makes the value of a field, nil for none.
type generator interface{ value(m *making) any }

// A making is one record that is being made: the n-th of a collection, from 0.
// What is made depends on the seed and n alone.
type making struct {
	rand    *rand.Rand
	n       int
	count   int // records that the collection begins with
	record  map[string]any
	data    []*table    // of the collections before
	refs    map[int]int // by collection: the record that refs of this one go to
	pickers map[*reference]*picker
}

// constant is always the same value.
type constant struct{ v any }

func (g constant) value(*making) any { return g.v }

// sequence counts up.
type sequence struct{ from int64 }

func (g sequence) value(m *making) any { return g.from + int64(m.n) }

// integers draws whole numbers from low to high, uniform or zipf from low on.
type integers struct {
	low, high int64
	zipf      *zipf
}

func (g integers) value(m *making) any {
	if g.zipf != nil {
		return g.low + int64(g.zipf.draw(m.rand))
	}
	return g.low + m.rand.Int64N(g.high-g.low+1)
}

// floats draws numbers from low on and below high.
type floats struct{ low, high float64 }

func (g floats) value(m *making) any { return g.low + m.rand.Float64()*(g.high-g.low) }

// truths is true with a probability.
type truths struct{ share float64 }

func (g truths) value(m *making) any { return m.rand.Float64() < g.share }

// pattern writes the number of another generator into text.
type pattern struct {
	format string
	of     generator
}

func (g pattern) value(m *making) any { return fmt.Sprintf(g.format, g.of.value(m)) }

// choice draws one of several values by weight.
type choice struct {
	values  []any
	weights weights
}

func (g choice) value(m *making) any { return g.values[g.weights.draw(m.rand)] }

// prose is some words.
type prose struct{ least, most int }

func (g prose) value(m *making) any {
	var b strings.Builder
	for i := range g.least + m.rand.IntN(g.most-g.least+1) {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(vocabulary[m.rand.IntN(len(vocabulary))])
	}
	return b.String()
}

// times draws instants in whole milliseconds from one on and below another, or
// spreads them evenly over the records.
type times struct {
	from, to  time.Time
	ascending bool
}

func (g times) value(m *making) any {
	from := g.from.UnixMilli()
	span := g.to.UnixMilli() - from // a Duration holds no more than 292 years
	ms := int64(0)
	if g.ascending {
		ms = int64(float64(span) / float64(m.count) * float64(m.n))
	} else {
		ms = m.rand.Int64N(max(span, 1))
	}
	return time.UnixMilli(from + ms).UTC()
}

// several is a list of values of another generator.
type several struct {
	least, most int
	of          generator
}

func (g several) value(m *making) any {
	n := g.least + m.rand.IntN(g.most-g.least+1)
	if n == 0 {
		return nil
	}
	list := make([]any, n)
	for i := range list {
		list[i] = g.of.value(m)
	}
	return list
}

// nested is a map of fields made by other generators.
type nested struct{ fields []fieldSource }

func (g nested) value(m *making) any {
	out := make(map[string]any, len(g.fields))
	for _, f := range g.fields {
		if v := f.make.value(m); v != nil {
			out[f.name] = v
		}
	}
	return out
}

// template puts fields of the same record into text: "{author}/{id}".
type template struct{ parts []string } // text and field names in turn

func (g template) value(m *making) any {
	var b strings.Builder
	for i, part := range g.parts {
		if i%2 == 0 {
			b.WriteString(part)
		} else if v := m.record[part]; v != nil {
			fmt.Fprint(&b, v)
		}
	}
	return b.String()
}

// A reference takes a field of a record of a collection above. All references of
// one record to one collection go to the same record.
type reference struct {
	collection int
	field      string
	skew       float64
	seed       uint64
}

func (g *reference) value(m *making) any {
	at, ok := m.refs[g.collection]
	if !ok {
		at = g.picker(m).pick(m.rand)
		m.refs[g.collection] = at
	}
	return m.data[g.collection].column(g.field)[at]
}

func (g *reference) picker(m *making) *picker {
	p := m.pickers[g]
	if p == nil {
		t := m.data[g.collection]
		p = newPicker(t.n, g.skew, g.seed, "references to "+t.name)
		m.pickers[g] = p
	}
	return p
}

// drawn takes a field of any record of a collection's data.
type drawn struct {
	collection int
	field      string
}

func (g drawn) value(m *making) any {
	t := m.data[g.collection]
	return t.column(g.field)[m.rand.IntN(t.n)]
}

// sometimes leaves a value out now and then.
type sometimes struct {
	missing float64
	of      generator
}

func (g sometimes) value(m *making) any {
	if m.rand.Float64() < g.missing {
		return nil
	}
	return g.of.value(m)
}
