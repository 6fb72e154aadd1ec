// Package generate makes the values of fields. A generator and the number of a record come in; the
// same value goes out each time. It also has the table of values that are drawn from.
package generate

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/polystore/polystore/loadtest/internal/random"
)

// A Field is made by a generator.
type Field struct {
	Name string
	Make Generator
}

// A Generator makes the value of a field, nil for none.
type Generator interface{ Value(m *Making) any }

// A Making is one record that is being made: the n-th of a collection, from 0.
// What is made depends on the seed and n alone.
type Making struct {
	Rand    *rand.Rand
	N       int
	Count   int // records that the collection begins with
	From    int // the record of the collection of which Drawn takes one of the same tree
	Record  map[string]any
	Data    []*Table    // of the collections before
	Refs    map[int]int // by collection: the record that refs of this one go to
	Pickers map[*Reference]*random.Picker
}

// Constant is always the same value.
type Constant struct{ V any }

// Value returns the constant.
func (g Constant) Value(*Making) any { return g.V }

// Sequence counts up.
type Sequence struct{ From int64 }

// Value returns the next number.
func (g Sequence) Value(m *Making) any { return g.From + int64(m.N) }

// Integers draws whole numbers from low to high, uniform or zipf from low on.
type Integers struct {
	Low, High int64
	Zipf      *random.Zipf
}

// Value returns a number.
func (g Integers) Value(m *Making) any {
	if g.Zipf != nil {
		return g.Low + int64(g.Zipf.Draw(m.Rand))
	}
	return g.Low + m.Rand.Int64N(g.High-g.Low+1)
}

// Floats draws numbers from low on and below high.
type Floats struct{ Low, High float64 }

// Value returns a number.
func (g Floats) Value(m *Making) any { return g.Low + m.Rand.Float64()*(g.High-g.Low) }

// Truths is true with a probability.
type Truths struct{ Share float64 }

// Value returns true or false.
func (g Truths) Value(m *Making) any { return m.Rand.Float64() < g.Share }

// Pattern writes the number of another generator into text.
type Pattern struct {
	Format string
	Of     Generator
}

// Value returns the text with the number.
func (g Pattern) Value(m *Making) any { return fmt.Sprintf(g.Format, g.Of.Value(m)) }

// Choice draws one of several values by weight.
type Choice struct {
	Values  []any
	Weights random.Weights
}

// Value returns one of the values.
func (g Choice) Value(m *Making) any { return g.Values[g.Weights.Draw(m.Rand)] }

// Prose is some words.
type Prose struct{ Least, Most int }

// Value returns the words.
func (g Prose) Value(m *Making) any {
	var b strings.Builder
	for i := range g.Least + m.Rand.IntN(g.Most-g.Least+1) {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(vocabulary[m.Rand.IntN(len(vocabulary))])
	}
	return b.String()
}

// Times draws instants in whole milliseconds from one on and below another, or
// spreads them evenly over the records.
type Times struct {
	From, To  time.Time
	Ascending bool
}

// Value returns an instant.
func (g Times) Value(m *Making) any {
	from := g.From.UnixMilli()
	span := g.To.UnixMilli() - from // a Duration holds no more than 292 years
	ms := int64(0)
	if g.Ascending {
		ms = int64(float64(span) / float64(m.Count) * float64(m.N))
	} else {
		ms = m.Rand.Int64N(max(span, 1))
	}
	return time.UnixMilli(from + ms).UTC()
}

// Several is a list of values of another generator.
type Several struct {
	Least, Most int
	Of          Generator
}

// Value returns a list, nil if it is empty.
func (g Several) Value(m *Making) any {
	n := g.Least + m.Rand.IntN(g.Most-g.Least+1)
	if n == 0 {
		return nil
	}
	list := make([]any, n)
	for i := range list {
		list[i] = g.Of.Value(m)
	}
	return list
}

// Nested is a map of fields made by other generators.
type Nested struct{ Fields []Field }

// Value returns a map of the fields that have a value.
func (g Nested) Value(m *Making) any {
	out := make(map[string]any, len(g.Fields))
	for _, f := range g.Fields {
		if v := f.Make.Value(m); v != nil {
			out[f.Name] = v
		}
	}
	return out
}

// Template puts fields of the same record into text: "{author}/{id}".
type Template struct{ Parts []string } // text and field names in turn

// Value returns the text.
func (g Template) Value(m *Making) any {
	var b strings.Builder
	for i, part := range g.Parts {
		if i%2 == 0 {
			b.WriteString(part)
		} else if v := m.Record[part]; v != nil {
			fmt.Fprint(&b, v)
		}
	}
	return b.String()
}

// A Reference takes a field of a record of a collection above. All references of
// one record to one collection go to the same record.
type Reference struct {
	Collection int
	Field      string
	Skew       float64
	Seed       uint64
}

// Value returns the field of the record that is referred to.
func (g *Reference) Value(m *Making) any {
	at, ok := m.Refs[g.Collection]
	if !ok {
		at = g.picker(m).Pick(m.Rand)
		m.Refs[g.Collection] = at
	}
	return m.Data[g.Collection].Column(g.Field)[at]
}

func (g *Reference) picker(m *Making) *random.Picker {
	p := m.Pickers[g]
	if p == nil {
		t := m.Data[g.Collection]
		p = random.NewPicker(t.Len, g.Skew, g.Seed, "references to "+t.Name)
		m.Pickers[g] = p
	}
	return p
}

// Drawn takes a field of any record of a collection's data; of nodes, of any that is in the tree.
type Drawn struct {
	Collection int
	Field      string
}

// Value returns the field of a record.
func (g Drawn) Value(m *Making) any {
	t := m.Data[g.Collection]
	first, n := t.Mates(m.From)
	return t.Column(g.Field)[first+m.Rand.IntN(n)]
}

// Sometimes leaves a value out now and then.
type Sometimes struct {
	Missing float64
	Of      Generator
}

// Value returns a value, or nil.
func (g Sometimes) Value(m *Making) any {
	if m.Rand.Float64() < g.Missing {
		return nil
	}
	return g.Of.Value(m)
}
