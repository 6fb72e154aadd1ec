package loadtest

import (
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/goccy/go-yaml/ast"
)

// A mapping is a YAML mapping whose keys are asked for one by one; those that
// nobody asked for are faults.
type mapping struct {
	d       *document
	what    string // for messages: "the workload", "query hello"
	at      place
	entries []entry
	asked   []string
}

type entry struct {
	key   string
	place place
	value ast.Node
}

// mapping returns a node's keys and values; ok is false, and the fault noted,
// when it is no mapping.
func (d *document) mapping(n ast.Node, what string) (m *mapping, ok bool) {
	m = &mapping{d: d, what: what, at: placeOf(n)}
	values := pairsOf(n)
	if values == nil {
		d.wrong(n, what, "keys and values")
		return m, false
	}
	for _, v := range values {
		key, ok := keyOf(v.Key)
		if !ok {
			d.fault(v.Key, "a key of %s is %s; want plain text", what, kindOf(v.Key))
			continue
		}
		if i := slices.IndexFunc(m.entries, func(e entry) bool { return e.key == key }); i >= 0 {
			d.fault(v.Key, "%s has %q twice, first in line %d; leave one of them out", what, key, m.entries[i].place.line)
			continue
		}
		m.entries = append(m.entries, entry{key, placeOf(v.Key), v.Value})
	}
	return m, true
}

// pairsOf returns the keys and values of a mapping, nil if it is none.
func pairsOf(n ast.Node) []*ast.MappingValueNode {
	switch n := n.(type) {
	case *ast.MappingNode:
		if n.Values == nil {
			return []*ast.MappingValueNode{}
		}
		return n.Values
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}
	}
	return nil
}

func keyOf(n ast.Node) (string, bool) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.NullNode:
		return n.GetToken().Value, true
	}
	return "", false
}

// get returns the value of a key, nil when it is not there or empty.
func (m *mapping) get(key string) ast.Node {
	if !slices.Contains(m.asked, key) {
		m.asked = append(m.asked, key)
	}
	for _, e := range m.entries {
		if e.key == key {
			if _, null := e.value.(*ast.NullNode); null {
				return nil
			}
			return e.value
		}
	}
	return nil
}

// has reports whether a key is there, even if it is empty.
func (m *mapping) has(key string) bool {
	return slices.ContainsFunc(m.entries, func(e entry) bool { return e.key == key })
}

// need is get for a key that must be there.
func (m *mapping) need(key, example string) ast.Node {
	n := m.get(key)
	if n == nil {
		m.d.faultIn(m.at, "%s has no %s; add one, e.g. %s", m.what, key, example)
	}
	return n
}

// placeOf returns where a key stands, or the mapping if it is not there.
func (m *mapping) placeOf(key string) place {
	for _, e := range m.entries {
		if e.key == key {
			return e.place
		}
	}
	return m.at
}

// done reports the keys that nobody asked for.
func (m *mapping) done() {
	for _, e := range m.entries {
		if slices.Contains(m.asked, e.key) {
			continue
		}
		if near := nearest(e.key, m.asked); near != "" {
			m.d.faultIn(e.place, "%s has no key %q; did you mean %s?", m.what, e.key, near)
		} else {
			m.d.faultIn(e.place, "%s has no key %q; the keys are %s", m.what, e.key, strings.Join(m.asked, ", "))
		}
	}
}

// nearest returns the name that differs from a given one by few letters, or "".
func nearest(name string, names []string) string {
	best, least := "", min(3, len(name)/2+1)
	for _, n := range names {
		if d := distance(name, n); d < least {
			best, least = n, d
		}
	}
	return best
}

// distance returns how many letters must be changed, added or taken away.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// text returns the text of a key, "" when it is not there.
func (m *mapping) text(key string) string { return m.d.text(m.get(key), m.what+": "+key) }

func (d *document) text(n ast.Node, what string) string {
	switch n := n.(type) {
	case nil:
	case *ast.StringNode:
		return n.Value
	case *ast.LiteralNode:
		return n.Value.Value
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		d.fault(n, "%s is %s; want text, so put it in quotes", what, kindOf(n))
	default:
		d.wrong(n, what, "text")
	}
	return ""
}

// name returns a text that is shown in tables and sentences, and so has one line.
func (d *document) name(n ast.Node, what string) string {
	s := d.text(n, what)
	if strings.ContainsFunc(s, unicode.IsControl) {
		d.fault(n, "%s %q has a line end or another control character; leave it out", what, s)
		return ""
	}
	return s
}

// integer returns the whole number of a key between bounds, or def.
func (m *mapping) integer(key string, def, low, high int) int {
	return int(m.integer64(key, int64(def), int64(low), int64(high)))
}

// integer64 is integer for numbers that may be larger than an int is on some machines.
func (m *mapping) integer64(key string, def, low, high int64) int64 {
	n := m.get(key)
	if n == nil {
		return def
	}
	return m.d.integer(n, m.what+": "+key, low, high)
}

func (d *document) integer(n ast.Node, what string, low, high int64) int64 {
	x, ok := scalar(n).(int64)
	switch {
	case !ok:
		d.wrong(n, what, "a whole number")
		return low
	case x < low || x > high:
		d.fault(n, "%s is %d; want %d to %d", what, x, low, high)
		return low
	}
	return x
}

// number returns the number of a key between bounds, or def.
func (m *mapping) number(key string, def, low, high float64) float64 {
	n := m.get(key)
	if n == nil {
		return def
	}
	return m.d.number(n, m.what+": "+key, low, high)
}

func (d *document) number(n ast.Node, what string, low, high float64) float64 {
	var f float64
	switch x := scalar(n).(type) {
	case int64:
		f = float64(x)
	case float64:
		f = x
	default:
		d.wrong(n, what, "a number")
		return low
	}
	if !(f >= low && f <= high) {
		d.fault(n, "%s is %v; want %v to %v", what, f, low, high)
		return low
	}
	return f
}

// truth returns the bool of a key, false when it is not there.
func (m *mapping) truth(key string) bool {
	n := m.get(key)
	if n == nil {
		return false
	}
	b, ok := n.(*ast.BoolNode)
	if !ok {
		m.d.wrong(n, m.what+": "+key, "true or false")
		return false
	}
	return b.Value
}

// duration returns the duration of a key, or def.
func (m *mapping) duration(key string, def, low, high time.Duration) time.Duration {
	n := m.get(key)
	if n == nil {
		return def
	}
	return m.d.duration(n, m.what+": "+key, low, high)
}

func (d *document) duration(n ast.Node, what string, low, high time.Duration) time.Duration {
	s, ok := n.(*ast.StringNode)
	if !ok {
		d.wrong(n, what, "a time with its unit, as in 10ms or 2s")
		return low
	}
	t, err := time.ParseDuration(s.Value)
	switch {
	case err != nil:
		d.fault(n, "%s is %q; want a time with its unit, as in 10ms or 2s", what, s.Value)
		return low
	case t < low || t > high:
		d.fault(n, "%s is %v; want %v to %v", what, t, low, high)
		return low
	}
	return t
}

// texts returns the list of texts of a key; one text alone is a list of one.
func (m *mapping) texts(key string) []string {
	n := m.get(key)
	if n == nil {
		return nil
	}
	if s, ok := n.(*ast.StringNode); ok {
		return []string{s.Value}
	}
	list := []string{}
	for _, item := range m.d.list(n, m.what+": "+key) {
		list = append(list, m.d.text(item, m.what+": "+key))
	}
	return list
}

// list returns the items of a list.
func (d *document) list(n ast.Node, what string) []ast.Node {
	seq, ok := n.(*ast.SequenceNode)
	if !ok {
		d.wrong(n, what, "a list")
		return nil
	}
	return seq.Values
}

// scalar returns a single value as string, int64, float64 or bool, else nil.
func scalar(n ast.Node) any {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value
	case *ast.LiteralNode:
		return n.Value.Value
	case *ast.BoolNode:
		return n.Value
	case *ast.FloatNode:
		return n.Value
	case *ast.IntegerNode:
		switch x := n.Value.(type) {
		case int64:
			return x
		case uint64:
			if i := int64(x); i >= 0 {
				return i
			}
		}
		if f, err := strconv.ParseFloat(n.GetToken().Value, 64); err == nil {
			return f
		}
	}
	return nil
}
