package operation

import (
	"math/rand/v2"
	"strings"

	"github.com/polystore/polystore/loadtest/internal/generate"
	"github.com/polystore/polystore/loadtest/internal/value"
	"github.com/polystore/polystore/loadtest/internal/workload"
	"github.com/polystore/polystore/repo"
)

// drawsSets reports whether the i-th record has as many different elements as a query wants all of.
func drawsSets(q *workload.Query, t *generate.Table, i int) bool {
	for _, set := range q.Sets {
		if set.Way == "all_of" && set.Drawn > 0 {
			list, _ := t.Column(strings.TrimSuffix(set.Field, "[]"))[i].([]any)
			if len(different(list)) < set.Drawn {
				return false
			}
		}
	}
	return true
}

// different returns the values of a list, each once.
func different(list []any) (out []any) {
	seen := map[string]bool{}
	for _, v := range list {
		var b strings.Builder
		if value.AppendCanonical(&b, v); !seen[b.String()] {
			seen[b.String()], out = true, append(out, v)
		}
	}
	return out
}

// several adds a condition of several values to a query.
func (s *Stream) several(find repo.Query, k *Call, set *workload.Set, r *rand.Rand, i int) repo.Query {
	of := k.Q.Collection
	var values []any
	for j := range set.Values {
		values = append(values, s.draw(of, &set.Values[j], r, i))
	}
	if set.Drawn > 0 {
		values = s.drawnSet(of, set, r, i)
	}
	values = different(values)
	k.condition(set.Way, set.Field, values...)
	switch set.Way {
	case "any_of":
		return find.AnyOf(set.Field, values...)
	case "all_of":
		return find.AllOf(set.Field, values...)
	}
	return find.NoneOf(set.Field, values...)
}

// drawnSet draws the values of a set: all of the drawn record's, any of that and of other records, none of other
// records'.
func (s *Stream) drawnSet(of *workload.Collection, set *workload.Set, r *rand.Rand, i int) (values []any) {
	field := strings.TrimSuffix(set.Field, "[]")
	if set.Way == "all_of" {
		list, _ := s.at(of, field, i).([]any)
		list = different(list)
		for _, at := range r.Perm(len(list))[:min(set.Drawn, len(list))] {
			values = append(values, list[at])
		}
		return values
	}
	from := &workload.Condition{Field: set.Field, From: field}
	if set.Way == "any_of" {
		values = append(values, s.draw(of, from, r, i))
	}
	for tries := 0; len(values) < set.Drawn && tries < 20*set.Drawn; tries++ { // others may lack the field, or have the same
		if other := r.IntN(s.Data[of.At].Len); s.Data[of.At].HasAll(other, []string{field}) {
			values = different(append(values, s.draw(of, from, r, other)))
		}
	}
	return values
}
