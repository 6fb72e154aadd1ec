package operation

import (
	"strings"

	"github.com/polystore/polystore/loadtest/internal/value"
	"github.com/polystore/polystore/loadtest/internal/workload"
)

// A Condition is one of those that what a call finds satisfies.
type Condition struct {
	Way    string // "any_of", "all_of", "none_of", "prefix", "at_least", "above", "at_most" or "below"
	Field  string // with [] for elements
	Values []any
}

// condition notes a condition of a call that is checked, or that some model answers by series, or by what is embedded.
func (k *Call) condition(way, field string, values ...any) {
	if k.Checked || k.Q.Collection.InSeries || k.Q.Collection.Embedded {
		k.Conds = append(k.Conds, Condition{way, field, values})
	}
}

// Holds reports whether a record satisfies the condition. At returns its fields.
func (c *Condition) Holds(at func(field string) any) bool {
	bare, elements := strings.CutSuffix(c.Field, "[]")
	own := at(bare)
	if elements {
		list, _ := own.([]any)
		return c.ofList(list)
	}
	switch c.Way {
	case "any_of":
		return has(c.Values, own)
	case "none_of":
		return !has(c.Values, own)
	case "prefix":
		text, ok := own.(string)
		return ok && strings.HasPrefix(text, c.Values[0].(string))
	}
	order, ok := value.Compare(own, c.Values[0])
	switch c.Way {
	case "at_least":
		return ok && order >= 0
	case "above":
		return ok && order > 0
	case "at_most":
		return ok && order <= 0
	}
	return ok && order < 0
}

// ofList reports whether a list satisfies a condition of several values.
func (c *Condition) ofList(list []any) bool {
	n := 0
	for _, v := range c.Values {
		if has(list, v) {
			n++
		}
	}
	switch c.Way {
	case "any_of":
		return n > 0
	case "all_of":
		return n == len(c.Values)
	}
	return n == 0
}

// has reports whether a value is one of a list.
func has(list []any, v any) bool {
	for _, x := range list {
		if order, ok := value.Compare(x, v); ok && order == 0 {
			return true
		}
	}
	return false
}

// Pushes yields what a change pushes to which list.
func (k *Call) Pushes(yield func(to *workload.Push, v any) bool) {
	for i, v := range k.pushed {
		if v != nil && !yield(&k.Q.Push[i], v) {
			return
		}
	}
}

// Sets yields the fields that a change sets, and to what.
func (k *Call) Sets(yield func(field string, v any) bool) {
	for i, a := range k.sets {
		if !yield(a.Field, k.values[i]) {
			return
		}
	}
}
