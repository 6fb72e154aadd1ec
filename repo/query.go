package repo

import (
	"fmt"
	"slices"
	"strings"
)

// A Query says which records are wanted, in which order and how many: never how
// they are found. It is a value: its methods return changed copies, and it may be
// kept and used by many goroutines.
//
// A query is answered by the collection's key or by an index: it fixes all
// Partition fields, then leading Sort fields, then may give one range or prefix
// on the next. Any other query is refused with the index that would answer it.
type Query struct {
	equal []equality
	rng   *interval
	order []string
	limit int
}

type equality struct {
	field string
	value any
}

// An interval is a range, or a prefix, of one field.
type interval struct {
	field    string
	from, to any // nil is unbounded
	prefix   *string
}

// Where returns the query for records whose field has a value. The elements of a
// list are named "field[]".
func Where(field string, value any) Query { return Query{}.Where(field, value) }

// All returns the query for all records, for indexes without partition fields.
func All() Query { return Query{} }

// Where adds another condition.
func (q Query) Where(field string, value any) Query {
	q.equal = append(q.equal[:len(q.equal):len(q.equal)], equality{field, value})
	return q
}

// Range asks for from <= field < to. Nil leaves an end open.
func (q Query) Range(field string, from, to any) Query {
	q.rng = &interval{field: field, from: from, to: to}
	return q
}

// Prefix asks for text that begins with prefix, byte by byte.
func (q Query) Prefix(field, prefix string) Query {
	q.rng = &interval{field: field, prefix: &prefix}
	return q
}

// Order sorts by fields, "-field" greater values first. Records that are equal in
// all of them come in the order of their keys, or against it when the index is
// read backwards.
func (q Query) Order(fields ...string) Query {
	q.order = slices.Clone(fields)
	return q
}

// Limit bounds the number of records; 0 is no bound.
func (q Query) Limit(n int) Query {
	q.limit = n
	return q
}

// String returns the query for people.
func (q Query) String() string { return q.text(false) }

// text returns the query, values left out if redacted.
func (q Query) text(redacted bool) string {
	show := func(v any) string {
		if redacted {
			return "?"
		}
		return short(fmt.Sprintf("%#v", v))
	}
	var parts []string
	for _, e := range q.equal {
		parts = append(parts, e.field+" = "+show(e.value))
	}
	if r := q.rng; r != nil && r.prefix != nil {
		parts = append(parts, r.field+" begins with "+show(*r.prefix))
	} else if r != nil {
		if r.from != nil {
			parts = append(parts, r.field+" >= "+show(r.from))
		}
		if r.to != nil {
			parts = append(parts, r.field+" < "+show(r.to))
		}
	}
	text := strings.Join(parts, " and ")
	if text == "" {
		text = "all records"
	}
	if len(q.order) > 0 {
		text += " in order of " + strings.Join(q.order, ", ")
	}
	return text
}
