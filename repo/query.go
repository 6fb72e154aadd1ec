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
// Partition fields, then leading Sort fields, then may bound the next one. Any
// other query is refused with the index that would answer it.
//
// A query that names a field, in a condition or in the order, asks for records
// that have it. An index without rows for some records answers only a query that
// names the fields those records may lack.
//
// Conditions add up. One field may have several bounds, and all of them hold; a
// bound on a second field is refused, and so is a second value for one field.
// Order and Limit are settings: the last call counts.
type Query struct {
	equal []equality
	ends  []end
	order []string
	limit int
}

type equality struct {
	field string
	value any
}

// An end is one bound of a field.
type end struct {
	field string
	op    endOp
	value any
}

// An endOp says on which side of an end the records lie.
type endOp string

const (
	above     endOp = ">"
	atLeast   endOp = ">="
	below     endOp = "<"
	atMost    endOp = "<="
	beginning endOp = "begins with"
	anywhere  endOp = "is there" // no bound, but the field is named
)

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

// Above asks for field > value.
func (q Query) Above(field string, value any) Query { return q.end(field, above, value) }

// AtLeast asks for field >= value.
func (q Query) AtLeast(field string, value any) Query { return q.end(field, atLeast, value) }

// Below asks for field < value.
func (q Query) Below(field string, value any) Query { return q.end(field, below, value) }

// AtMost asks for field <= value.
func (q Query) AtMost(field string, value any) Query { return q.end(field, atMost, value) }

// Range asks for from <= field < to: it is AtLeast and Below. Nil leaves an end
// open; with both ends open the field only has to be there.
func (q Query) Range(field string, from, to any) Query {
	if from == nil && to == nil {
		return q.end(field, anywhere, nil)
	}
	if from != nil {
		q = q.AtLeast(field, from)
	}
	if to != nil {
		q = q.Below(field, to)
	}
	return q
}

// Prefix asks for text that begins with prefix, byte by byte. Every text begins
// with "".
func (q Query) Prefix(field, prefix string) Query { return q.end(field, beginning, prefix) }

func (q Query) end(field string, op endOp, value any) Query {
	q.ends = append(q.ends[:len(q.ends):len(q.ends)], end{field, op, value})
	return q
}

// Order sorts by fields, "-field" greater values first. Records that are equal in
// all of them come in the order of their keys, or against it when the index is
// read backwards. Records that lack one of the fields are not found. The order of
// an earlier call no longer counts.
func (q Query) Order(fields ...string) Query {
	q.order = slices.Clone(fields)
	return q
}

// Limit bounds the number of records; 0 is no bound. The limit of an earlier call
// no longer counts.
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
	for _, e := range q.ends {
		text := e.field + " " + string(e.op)
		if e.op != anywhere {
			text += " " + show(e.value)
		}
		parts = append(parts, text)
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
