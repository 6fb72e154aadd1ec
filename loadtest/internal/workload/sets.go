package workload

import (
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/polystore/polystore/loadtest/internal/document"
	"github.com/polystore/polystore/loadtest/internal/limit"
)

// setWays are the conditions of several values.
var setWays = []string{"any_of", "all_of", "none_of"}

// sets reads any_of, all_of and none_of: fields, and their values or how many are drawn.
func (r queryReader) sets() {
	for _, way := range setWays {
		n := r.m.Get(way)
		if n == nil {
			continue
		}
		m, ok := r.d.Mapping(n, r.m.What+": "+way)
		if !ok {
			continue
		}
		for _, e := range m.Entries {
			if r.compared(e.Key, e.Place) != "" {
				r.q.Sets = append(r.q.Sets, r.set(way, e.Key, e.Value))
			}
		}
	}
}

func (r queryReader) set(way, field string, n ast.Node) Set {
	s := Set{Way: way, Field: field}
	bare, elem := strings.CutSuffix(field, "[]")
	if way == "all_of" && !elem {
		r.d.Fault(n, "%s: all_of is for the elements of a list, and %s has one value in a record; take any_of", r.m.What, field)
	}
	if _, list := n.(*ast.SequenceNode); !list {
		s.Drawn = int(r.d.Integer(n, way+": "+field+" (a list of values, or how many are drawn)", 1, limit.MaxSet))
		r.q.Collection.Needs[bare] = true
		return s
	}
	for _, item := range r.d.List(n, way) {
		if c := r.condition(field, document.PlaceOf(item), item); c != nil {
			s.Values = append(s.Values, *c)
		}
	}
	if len(s.Values) == 0 || len(s.Values) > limit.MaxSet {
		r.d.Fault(n, "%s: %s of %s has %d values; want 1 to %d", r.m.What, way, field, len(s.Values), limit.MaxSet)
	}
	return s
}

// grouping reads by and sum.
func (r queryReader) grouping() {
	q := r.q
	if r.m.Need("by", "by: [day], the fields whose values make a group") != nil {
		q.By = r.m.Texts("by")
		checkNames(r.d, r.m, q.Collection.Schema.Fields, "by")
	}
	for _, f := range q.By {
		r.compared(f, r.m.PlaceOf("by"))
	}
	switch q.Kind {
	case "groups":
		q.Sum = r.m.Texts("sum")
		checkNames(r.d, r.m, q.Collection.Schema.Fields, "sum")
		for _, f := range q.Sum {
			if kind := q.Collection.Kind(f); kind != "int" && kind != "" {
				r.d.FaultIn(r.m.PlaceOf("sum"), "%s: sum is for fields of kind int, whose sum is the same in any order, and %s is of kind %s", r.m.What, f, kind)
			}
		}
	case "firsts":
		if len(q.Order) <= len(q.By) {
			r.d.FaultIn(r.m.At, "%s does not say which record of a group is the first; add an order behind the fields of the groups: order: [%s, …]", r.m.What, strings.Join(q.By, ", "))
		}
	}
}

// FieldsOf returns the fields that a set takes of the drawn record.
func (s Set) FieldsOf() (fields []string) {
	for _, c := range s.Values {
		fields = append(fields, c.From)
	}
	if s.Drawn > 0 && s.Way != "none_of" {
		fields = append(fields, strings.TrimSuffix(s.Field, "[]"))
	}
	return slices.DeleteFunc(fields, func(f string) bool { return f == "" })
}
