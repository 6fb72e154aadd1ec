package repo

import (
	"slices"

	"github.com/polystore/polystore/repo/internal/plan"
)

// A Query says which records are wanted, in which order and how many, never how they are found. A
// Query is a value: its methods return changed copies, and many goroutines may use one Query.
//
// The collection's key or an index answers a query that fixes all Partition fields, then leading
// Sort fields, and then may bound the next Sort field. Any other query is refused; the error names
// the index to add.
//
// A query that names a field, in a condition or in the order, asks for records that have the field.
// An index without rows for some records answers only a query that names the fields that those
// records may lack.
//
// All conditions must hold. One field may have several bounds; a bound on a second field is
// refused, and so is a second value for one field. Order and Limit are settings: the last call
// counts.
type Query struct{ def plan.Query }

// Where returns the query for records whose field has a value. The elements of a
// list are named "field[]", a part of a struct, a map or a list by its path: "address.city".
func Where(field string, value any) Query { return Query{}.Where(field, value) }

// All returns the query without conditions, for indexes without partition fields.
func All() Query { return Query{} }

// Where adds another condition.
func (q Query) Where(field string, value any) Query {
	q.def.Equal = append(q.def.Equal[:len(q.def.Equal):len(q.def.Equal)], plan.Equality{Field: field, Value: value})
	return q
}

// AnyOf asks for records whose field has one of some values; of "field[]", that one of the elements is one of them. The
// values are asked for at the same time, and their records come in one order, each once. There are at most 1,000
// combinations of values in a query; without values it finds nothing. Records of a unique index come in the order of
// these values where the order leaves it open. A record whose field changes from one of the values to another one while
// the query runs may be missed.
func (q Query) AnyOf(field string, values ...any) Query {
	q.def.Sets = append(q.def.Sets[:len(q.def.Sets):len(q.def.Sets)], plan.Set{Field: field, Values: slices.Clone(values)})
	return q
}

// AllOf asks for records of which a list, "field[]", has all of some values. The query reads the records that have the
// rarest of them, and a page or two of the others. Without values it asks for nothing.
func (q Query) AllOf(field string, values ...any) Query {
	q.def.All = append(q.def.All[:len(q.def.All):len(q.def.All)], plan.Set{Field: field, Values: slices.Clone(values)})
	return q
}

// NoneOf leaves out records whose field has one of some values; of "field[]", those of which an element is one of them.
// It needs other conditions, and the records that these find are read, also those that are left out. A record without
// the field stays.
func (q Query) NoneOf(field string, values ...any) Query {
	q.def.None = append(q.def.None[:len(q.def.None):len(q.def.None)], plan.Set{Field: field, Values: slices.Clone(values)})
	return q
}

// Above asks for field > value.
func (q Query) Above(field string, value any) Query { return q.end(field, plan.Above, value) }

// AtLeast asks for field >= value.
func (q Query) AtLeast(field string, value any) Query { return q.end(field, plan.AtLeast, value) }

// Below asks for field < value.
func (q Query) Below(field string, value any) Query { return q.end(field, plan.Below, value) }

// AtMost asks for field <= value.
func (q Query) AtMost(field string, value any) Query { return q.end(field, plan.AtMost, value) }

// Range asks for from <= field < to: AtLeast and Below together. Nil leaves an end open; with both
// ends open the field only has to be there.
func (q Query) Range(field string, from, to any) Query {
	if from == nil && to == nil {
		return q.end(field, plan.Anywhere, nil)
	}
	if from != nil {
		q = q.AtLeast(field, from)
	}
	if to != nil {
		q = q.Below(field, to)
	}
	return q
}

// Prefix asks for texts that begin with prefix, byte by byte. Every text begins with "".
func (q Query) Prefix(field, prefix string) Query { return q.end(field, plan.Beginning, prefix) }

func (q Query) end(field string, op plan.EndOp, value any) Query {
	q.def.Ends = append(q.def.Ends[:len(q.def.Ends):len(q.def.Ends)], plan.End{Field: field, Op: op, Value: value})
	return q
}

// Order sorts by fields; "-field" puts greater values first. Records that are equal in all fields
// come in the order of their keys, or in the reverse order when the index is read backwards.
// Records that lack one of the fields are not found. Order replaces the order of an earlier call.
func (q Query) Order(fields ...string) Query {
	q.def.Order = slices.Clone(fields)
	return q
}

// Limit bounds the number of records; 0 is no bound. Limit replaces the limit of an earlier call.
func (q Query) Limit(n int) Query {
	q.def.Limit = n
	return q
}

// Offset passes over the first n records, which are read all the same: for far pages take the cursors of [Repo.Page],
// which ask for the offset at the first page only. Offset replaces the offset of an earlier call.
func (q Query) Offset(n int) Query {
	q.def.Offset = n
	return q
}

// Filter asks for those of the records that also meet the conditions of by, on any declared fields, without an index for
// them. The query looks at the records that its other conditions find, at most so many: if it has then not found what
// was asked for it ends with ErrNoIndex. A [Page] ends there without an error, with fewer items or none, and its cursor
// goes on. Several filters must all be met; the last call says how many records are looked at.
func (q Query) Filter(by Query, most int) Query {
	q.def.Filter = append(q.def.Filter[:len(q.def.Filter):len(q.def.Filter)], by.def)
	q.def.Most = most
	return q
}

// String returns the query for people.
func (q Query) String() string { return q.def.Text(false) }
