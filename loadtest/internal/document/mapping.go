package document

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/polystore/polystore/loadtest/internal/failure"
)

// A Mapping is a YAML mapping whose keys are asked for one by one; those that
// nobody asked for are faults.
type Mapping struct {
	d       *File
	What    string // for messages: "the workload", "query hello"
	At      Place
	Entries []entry
	asked   []string
	lacks   map[string]string // the faults of keys that must be there
}

type entry struct {
	Key   string
	Place Place
	Value ast.Node
}

// Mapping returns a node's keys and values; ok is false, and the fault noted,
// when it is no mapping.
func (d *File) Mapping(n ast.Node, what string) (m *Mapping, ok bool) {
	m = &Mapping{d: d, What: what, At: PlaceOf(n)}
	values := PairsOf(n)
	if values == nil {
		d.Wrong(n, what, "keys and values")
		return m, false
	}
	for _, v := range values {
		key, ok := KeyOf(v.Key)
		if !ok {
			d.Fault(v.Key, "a key of %s is %s; want plain text", what, kindOf(v.Key))
			continue
		}
		if i := slices.IndexFunc(m.Entries, func(e entry) bool { return e.Key == key }); i >= 0 {
			d.Fault(v.Key, "%s has %q twice, first in line %d; leave one of them out", what, key, m.Entries[i].Place.Line)
			continue
		}
		m.Entries = append(m.Entries, entry{key, PlaceOf(v.Key), v.Value})
	}
	return m, true
}

// Get returns the value of a key, nil when it is not there or empty.
func (m *Mapping) Get(key string) ast.Node {
	if !slices.Contains(m.asked, key) {
		m.asked = append(m.asked, key)
	}
	for _, e := range m.Entries {
		if e.Key == key {
			if _, null := e.Value.(*ast.NullNode); null {
				return nil
			}
			return e.Value
		}
	}
	return nil
}

// Has reports whether a key is there, even if it is empty.
func (m *Mapping) Has(key string) bool {
	return slices.ContainsFunc(m.Entries, func(e entry) bool { return e.Key == key })
}

// Need is get for a key that must be there.
func (m *Mapping) Need(key, example string) ast.Node {
	n := m.Get(key)
	if n == nil {
		if m.lacks == nil {
			m.lacks = map[string]string{}
		}
		m.lacks[key] = fmt.Sprintf("%s has no %s; add one, e.g. %s", m.What, key, example)
		m.d.FaultIn(m.At, "%s", m.lacks[key])
	}
	return n
}

// PlaceOf returns where a key stands, or the mapping if it is not there.
func (m *Mapping) PlaceOf(key string) Place {
	for _, e := range m.Entries {
		if e.Key == key {
			return e.Place
		}
	}
	return m.At
}

// Done reports the keys that nobody asked for. One of them that is like a key that must be there stands for it.
func (m *Mapping) Done() {
	for _, e := range m.Entries {
		if slices.Contains(m.asked, e.Key) {
			continue
		}
		if near := Nearest(e.Key, m.asked); near != "" {
			m.d.Faults = slices.DeleteFunc(m.d.Faults, func(f failure.Fault) bool {
				return f.Text == m.lacks[near] && f.Line == m.At.Line && f.Column == m.At.Column
			})
			m.d.FaultIn(e.Place, "%s has no key %q; did you mean %s?", m.What, e.Key, near)
		} else {
			m.d.FaultIn(e.Place, "%s has no key %q; the keys are %s", m.What, e.Key, strings.Join(m.asked, ", "))
		}
	}
}

// Text returns the text of a key, "" when it is not there.
func (m *Mapping) Text(key string) string { return m.d.Text(m.Get(key), m.What+": "+key) }

// Integer returns the whole number of a key between bounds, or def.
func (m *Mapping) Integer(key string, def, low, high int) int {
	return int(m.Integer64(key, int64(def), int64(low), int64(high)))
}

// Integer64 is integer for numbers that may be larger than an int is on some machines.
func (m *Mapping) Integer64(key string, def, low, high int64) int64 {
	n := m.Get(key)
	if n == nil {
		return def
	}
	return m.d.Integer(n, m.What+": "+key, low, high)
}

// Number returns the number of a key between bounds, or def.
func (m *Mapping) Number(key string, def, low, high float64) float64 {
	n := m.Get(key)
	if n == nil {
		return def
	}
	return m.d.Number(n, m.What+": "+key, low, high)
}

// Truth returns the bool of a key, false when it is not there.
func (m *Mapping) Truth(key string) bool {
	n := m.Get(key)
	if n == nil {
		return false
	}
	b, ok := n.(*ast.BoolNode)
	if !ok {
		m.d.Wrong(n, m.What+": "+key, "true or false")
		return false
	}
	return b.Value
}

// Duration returns the duration of a key, or def.
func (m *Mapping) Duration(key string, def, low, high time.Duration) time.Duration {
	n := m.Get(key)
	if n == nil {
		return def
	}
	return m.d.Duration(n, m.What+": "+key, low, high)
}

// Texts returns the list of texts of a key; one text alone is a list of one.
func (m *Mapping) Texts(key string) []string {
	n := m.Get(key)
	if n == nil {
		return nil
	}
	if s, ok := n.(*ast.StringNode); ok {
		return []string{s.Value}
	}
	list := []string{}
	for _, item := range m.d.List(n, m.What+": "+key) {
		list = append(list, m.d.Text(item, m.What+": "+key))
	}
	return list
}
