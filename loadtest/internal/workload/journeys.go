package workload

import (
	"slices"

	"github.com/polystore/polystore/loadtest/internal/document"
)

// A Step of a journey is another query of the workload.
type Step struct {
	Query  *Query
	At     int     // index of the query
	Chance float64 // that it is done once those before it were
	Found  bool    // it is for a record that the step before found

	name  string
	place document.Place
}

// steps reads the steps of a journey. Their queries may stand further below.
func (r queryReader) steps() {
	n := r.m.Need("steps", "steps: [{query: newest, chance: 1}, {query: one post, chance: 0.5, take: found}]")
	if n == nil {
		return
	}
	for _, item := range r.d.List(n, r.m.What+": steps") {
		m, ok := r.d.Mapping(item, r.m.What+": a step")
		if !ok {
			continue
		}
		s := Step{place: m.At, Chance: 1}
		if q := m.Need("query", "query: newest"); q != nil {
			s.name, s.place = r.d.Text(q, m.What+": query"), document.PlaceOf(q)
		}
		s.Chance = m.Number("chance", 1, 0, 1)
		switch take := m.Text("take"); take {
		case "", "drawn":
		case "found":
			s.Found = true
		default:
			r.d.FaultIn(m.PlaceOf("take"), "%s takes %q; want found, a record that the step before found, or drawn", m.What, take)
		}
		m.Done()
		r.q.Steps = append(r.q.Steps, s)
	}
	if len(r.q.Steps) == 0 {
		r.d.FaultIn(r.m.At, "%s has no step", r.m.What)
	}
}

// takeSteps finds the queries of all steps.
func (w *Workload) takeSteps(d *document.File) {
	for _, q := range w.Queries {
		var inserts []*Collection
		for i := range q.Steps {
			s := &q.Steps[i]
			s.At = slices.IndexFunc(w.Queries, func(o *Query) bool { return o.Name == s.name })
			if s.At < 0 {
				s.At, s.Query = 0, w.Queries[0]
				d.FaultIn(s.place, "journey %s has the step %q, which is no query of the workload; give it one, with weight: 0 where it is asked in journeys alone", q.Name, s.name)
				continue
			}
			s.Query = w.Queries[s.At]
			if i == 0 {
				q.Collection = s.Query.Collection
			}
			switch text := s.fault(q.Steps[:i]); {
			case text != "":
				d.FaultIn(s.place, "step %s of journey %s %s", s.name, q.Name, text)
			case s.Query.Kind == "insert" && slices.Contains(inserts, s.Query.Collection):
				d.FaultIn(s.place, "journey %s inserts twice into %s; one insert is possible", q.Name, s.Query.Collection.Schema.Collection)
			case s.Query.Kind == "insert":
				inserts = append(inserts, s.Query.Collection)
			}
		}
	}
	for _, q := range w.Queries { // what none of them does is asked nowhere else
		if slices.ContainsFunc(q.Steps, func(s Step) bool { return s.Query.Kind == "journey" }) {
			q.Steps = nil
		}
	}
}

// fault says what is wrong with a step behind others, "" if nothing is.
func (s *Step) fault(before []Step) string {
	q := s.Query
	if q.Kind == "journey" {
		return "is a journey itself; name its steps"
	}
	if !s.Found {
		return ""
	}
	finds, keyed := []string{"get", "one", "find", "page", "firsts"}, []string{"get", "exists", "update", "modify", "renew", "delete"}
	switch {
	case len(before) == 0:
		return "takes what the step before found, and there is none"
	case !slices.Contains(finds, before[len(before)-1].Query.Kind) || before[len(before)-1].Query.Collection != q.Collection:
		return "takes what the step before found, and that finds no record of " + q.Collection.Schema.Collection
	case !slices.Contains(keyed, q.Kind) || q.Collection.Tree != nil:
		return "takes a record that was found, and is of kind " + q.Kind + "; get, exists, update, modify, renew and delete take one"
	}
	for _, f := range q.Changed() {
		if q.Collection.Indexed(f) {
			return "changes " + f + " of a record that was found, which is in the key of an index; let it take a drawn record"
		}
	}
	return ""
}
