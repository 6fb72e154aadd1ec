package plan

import (
	"fmt"
	"strings"

	"github.com/polystore/polystore/repo/internal/failure"
)

// A Query is a query to be planned: repo.Query.
type Query struct {
	Equal []Equality
	Sets  []Set // of which a field has one
	All   []Set // of which a list has all
	None  []Set // of which a field has none
	Ends  []End
	Order []string
	Limit int

	Offset int     // how many records are passed over
	Filter []Query // conditions that need no index
	Most   int     // records that are looked at for these

	By []string // fields by which the records are grouped

	ranked bool // the records are ranked: see Planner.Ranked
}

// An Equality is a field and the value that it must have.
type Equality struct {
	Field string
	Value any
}

// A Set is a field and some values.
type Set struct {
	Field  string
	Values []any
}

// An End is one bound of a field.
type End struct {
	Field string
	Op    EndOp
	Value any
}

// An EndOp says on which side of an end the records lie.
type EndOp string

// The ends that a range may have.
const (
	Above     EndOp = ">"
	AtLeast   EndOp = ">="
	Below     EndOp = "<"
	AtMost    EndOp = "<="
	Beginning EndOp = "begins with"
	Anywhere  EndOp = "is there" // no bound, but the field is named
)

// Text returns the query, values left out if redacted.
func (q Query) Text(redacted bool) string {
	show := func(v any) string {
		if redacted {
			return "?"
		}
		return failure.Short(fmt.Sprintf("%#v", v))
	}
	var parts []string
	for _, e := range q.Equal {
		parts = append(parts, failure.Name(e.Field)+" = "+show(e.Value))
	}
	list := func(sets []Set, has string) {
		for _, s := range sets {
			values := make([]string, len(s.Values))
			for i, v := range s.Values {
				values[i] = show(v)
			}
			parts = append(parts, failure.Name(s.Field)+has+"("+failure.Short(strings.Join(values, ", "))+")")
		}
	}
	list(q.Sets, " is any of ")
	list(q.All, " has all of ")
	list(q.None, " has none of ")
	for _, e := range q.Ends {
		text := failure.Name(e.Field) + " " + string(e.Op)
		if e.Op != Anywhere {
			text += " " + show(e.Value)
		}
		parts = append(parts, text)
	}
	text := strings.Join(parts, " and ")
	if text == "" {
		text = "all records"
	}
	for _, by := range q.Filter {
		text += ", of these " + by.Text(redacted)
	}
	if len(q.By) > 0 {
		text += " grouped by " + names(q.By)
	}
	if len(q.Order) > 0 {
		text += " in order of " + names(q.Order)
	}
	return text
}

// names returns names of fields for people.
func names(list []string) string {
	shown := make([]string, len(list))
	for i, name := range list {
		shown[i] = failure.Name(name)
	}
	return strings.Join(shown, ", ")
}
