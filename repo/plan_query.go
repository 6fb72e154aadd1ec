package repo

import (
	"fmt"
	"strings"
)

// A queryDef is a query to be planned: repo.Query.
type queryDef struct {
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

// text returns the query, values left out if redacted.
func (q queryDef) text(redacted bool) string {
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
