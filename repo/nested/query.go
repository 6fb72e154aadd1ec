package nested

import (
	"fmt"
	"slices"
	"strings"

	"github.com/polystore/polystore/repo"
)

// A Query says which records are wanted: those of which one sub-object meets all conditions. A Query is a value: its
// methods return changed copies, and many goroutines may use one Query.
type Query struct {
	conds []condition
	near  int
	limit int
}

type condition struct {
	field string
	value any
}

// Where returns the query for records of which a sub-object has a value in a field. The value is a text, an integer
// or a bool, as the field is.
func Where(field string, value any) Query { return Query{}.Where(field, value) }

// Where adds a condition, which the same sub-object must meet.
func (q Query) Where(field string, value any) Query {
	q.conds = append(slices.Clip(q.conds), condition{field, value})
	return q
}

// Near lets different sub-objects meet the conditions, if the farthest two of these are at most distance apart in
// the list: with 1 they are the same or neighbours. 0, the default, asks for one sub-object.
func (q Query) Near(distance int) Query {
	q.near = distance
	return q
}

// Limit bounds the number of records; 0 is no bound. Limit replaces the limit of an earlier call.
func (q Query) Limit(n int) Query {
	q.limit = n
	return q
}

// String returns the query for people.
func (q Query) String() string {
	var b strings.Builder
	for i, c := range q.conds {
		if i > 0 {
			b.WriteString(" and ")
		}
		fmt.Fprintf(&b, "%s = %#v", c.field, c.value)
	}
	if q.near != 0 {
		fmt.Fprintf(&b, " near %d", q.near)
	}
	if q.limit != 0 {
		fmt.Fprintf(&b, " limit %d", q.limit)
	}
	return b.String()
}

// A test is a condition that fits the fields of a shape.
type test struct {
	field int
	value value
}

// testsOf checks a query.
func (s *shape) testsOf(q Query) ([]test, error) {
	switch {
	case len(q.conds) == 0:
		return nil, fmt.Errorf("the query has no condition: %w", repo.ErrInvalid)
	case q.near < 0:
		return nil, fmt.Errorf("the distance %d is below zero: %w", q.near, repo.ErrInvalid)
	case q.limit < 0:
		return nil, fmt.Errorf("the limit %d is below zero: %w", q.limit, repo.ErrInvalid)
	}
	tests := make([]test, 0, len(q.conds))
	for _, c := range q.conds {
		at := s.fieldAt(c.field)
		if at < 0 {
			return nil, fmt.Errorf("the field %q has no terms; the schema's Fields names those that have: %w", c.field, repo.ErrInvalid)
		}
		v, err := givenValue(c.value)
		if err != nil {
			return nil, fmt.Errorf("field %s: %w", c.field, err)
		}
		if v.kind != s.fields[at].kind {
			return nil, fmt.Errorf("field %s is of kind %s, and the value of kind %s: %w", c.field, s.fields[at].kind, v.kind, repo.ErrInvalid)
		}
		if t := (test{at, v}); !slices.Contains(tests, t) {
			tests = append(tests, t)
		}
	}
	return tests, nil
}

// meets reports whether sub-objects are what a query asks for.
func meets(objects []object, tests []test, near int) bool {
	lists := make([][]int, len(tests))
	for i, o := range objects {
		for t, test := range tests {
			if o[test.field] == test.value {
				lists[t] = append(lists[t], i)
			}
		}
	}
	return within(lists, near)
}
