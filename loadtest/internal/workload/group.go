package workload

import (
	"slices"

	"github.com/polystore/polystore/loadtest/internal/limit"
)

// group reads what a group does with each of its records: so many updates or, as writes tells, one write each.
func (r queryReader) group() {
	kinds, place := r.m.Texts("writes"), r.m.PlaceOf("writes")
	if r.m.Get("writes") == nil {
		kinds = slices.Repeat([]string{"update"}, r.m.Integer("records", 2, 2, limit.MaxSet))
	} else if r.m.Get("records") != nil {
		r.d.FaultIn(r.m.PlaceOf("records"), "%s has writes, one for each record; leave out records", r.m.What)
	}
	if len(kinds) < 2 || len(kinds) > limit.MaxSet {
		r.d.FaultIn(place, "%s has %d writes; want 2 to %d", r.m.What, len(kinds), limit.MaxSet)
	}
	r.assignments()
	r.additions()
	r.pushes()
	r.needKey()
	if slices.Contains(kinds, "update") {
		r.changes()
	}
	r.q.Records = len(kinds)
	for _, kind := range kinds {
		switch kind {
		case "put":
			r.needAll()
		case "update", "delete":
		default:
			r.d.FaultIn(place, "%q in writes; a group has update, put and delete", kind)
		}
		part := *r.q
		part.Kind, part.Parts = kind, nil
		r.q.Parts = append(r.q.Parts, &part)
	}
}
