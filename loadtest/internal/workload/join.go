package workload

import (
	"slices"
	"strings"

	"github.com/polystore/polystore/loadtest/internal/document"
)

// A Join is what the records of an answer have of those that one of their fields refers to.
type Join struct {
	Field string      // has the key of a record
	From  *Collection // of that record
	Take  []string    // fields of it
	Place document.Place
}

// Shown returns the name that a field which is taken has in an answer. No field of a collection has such a name.
func (j *Join) Shown(taken string) string { return j.Field + "." + taken }

// joins reads join: {author: {from: users, take: [name]}}.
func (r queryReader) joins() {
	n := r.m.Get("join")
	if n == nil {
		return
	}
	if r.q.Collection.Tree != nil {
		r.d.FaultIn(r.m.PlaceOf("join"), "%s has a join, and collection %s has trees, whose nodes are joined with nothing", r.m.What, r.q.Collection.Schema.Collection)
		return
	}
	if r.m.Has("children") {
		r.d.FaultIn(r.m.PlaceOf("join"), "%s has join and children; let two queries have one of them each", r.m.What)
	}
	m, ok := r.d.Mapping(n, r.m.What+": join")
	if !ok {
		return
	}
	for _, e := range m.Entries {
		if of, ok := r.d.Mapping(e.Value, r.m.What+": join: "+e.Key); ok {
			r.join(e.Key, e.Place, of)
		}
	}
}

// join reads from and take of a field that refers to records.
func (r queryReader) join(field string, at document.Place, m *document.Mapping) {
	j := Join{Field: field, Place: at}
	if n := m.Need("from", "from: users, a collection"); n != nil {
		j.From = r.w.collectionNamed(r.d.Text(n, m.What+": from"))
		if j.From == nil {
			r.d.FaultIn(m.PlaceOf("from"), "there is no collection %q; the collections are %s", m.Text("from"), r.w.collectionNames())
		}
	}
	m.Need("take", "take: [name], fields of what it refers to")
	j.Take = m.Texts("take")
	m.Done()
	if j.From == nil || !r.refers(&j) {
		return
	}
	checkTaken(r.d, m, "take", &j)
	if before := r.w.joinBy(r.q.Collection, field); before != nil && before.From != j.From {
		r.d.FaultIn(at, "%s joins %s with %s, and another query with %s; a field refers to one collection", r.m.What, field, j.From.Schema.Collection, before.From.Schema.Collection)
	}
	r.q.Joins = append(r.q.Joins, j)
}

// refers reports whether a field can have the key of a record of the other collection. If not it is a fault.
func (r queryReader) refers(j *Join) bool {
	kind, name, key := r.q.Collection.Kind(j.Field), j.From.Schema.Collection, j.From.Key()
	switch {
	case kind == "":
		r.d.FaultIn(j.Place, "there is no field %q in collection %s%s", j.Field, r.q.Collection.Schema.Collection, hint(j.Field, r.q.Collection.Schema.Fields))
	case j.From.Tree != nil:
		r.d.FaultIn(j.Place, "%s is joined with %s, which has trees; join it with records that are no nodes", j.Field, name)
	case len(key) != 1:
		r.d.FaultIn(j.Place, "%s is joined with %s, whose key is (%s); a field refers to records whose key is one field", j.Field, name, strings.Join(key, ", "))
	case kind != "string" && kind != "int":
		r.d.FaultIn(j.Place, "field %s is of kind %s; what refers to a record is of kind string or int", j.Field, kind)
	case kind != j.From.Kind(key[0]):
		r.d.FaultIn(j.Place, "field %s is of kind %s, and the key of %s, %s, of kind %s; they must be the same", j.Field, kind, name, key[0], j.From.Kind(key[0]))
	default:
		return true
	}
	return false
}

// checkTaken reports fields under a key that cannot be taken of the other collection.
func checkTaken(d *document.File, m *document.Mapping, key string, j *Join) {
	checkNames(d, m, j.From.Schema.Fields, key)
	for i, f := range j.Take {
		if slices.Contains(j.Take[:i], f) {
			d.FaultIn(m.PlaceOf(key), "%s: field %s is there twice; leave one of them out", m.What, f)
		}
		if strings.HasPrefix(f, "-") || strings.HasSuffix(f, "[]") || f == "*" {
			d.FaultIn(m.PlaceOf(key), "%s: %q is no name of a field; fields are taken whole", m.What, f)
		}
	}
	if m.Has(key) && len(j.Take) == 0 {
		d.FaultIn(m.PlaceOf(key), "%s takes no field; name some of %s, e.g. [%s]", m.What, j.From.Schema.Collection, j.From.Key()[0])
	}
}

// joinBy returns the first join by a field of a collection, nil if there is none.
func (w *Workload) joinBy(c *Collection, field string) *Join {
	for _, q := range w.Queries {
		for i := range q.Joins {
			if q.Collection == c && q.Joins[i].Field == field {
				return &q.Joins[i]
			}
		}
	}
	return nil
}

// joins reports a model that gives records another key than the one by which they are joined.
func (r modelChecker) joins() {
	for _, q := range r.w.Queries {
		for _, j := range q.Joins {
			from := j.From.Schema.Collection
			if key := keyOf(&r.mo.Schemas[j.From.At]); !slices.Equal(key, j.From.Key()) {
				r.d.FaultIn(r.mo.place, "model %s gives %s the key (%s), and query %s joins %s with them by the key (%s); leave them that key",
					r.mo.Name, from, strings.Join(key, ", "), q.Name, j.Field, strings.Join(j.From.Key(), ", "))
			} else if host := r.mo.Hosts[j.From.At]; host != nil {
				r.d.FaultIn(r.mo.place, "model %s embeds %s in %s, and query %s joins %s with them; let the model have no embed of them, or leave out the join",
					r.mo.Name, from, host.Schema.Collection, q.Name, j.Field)
			}
		}
	}
}

// joined yields all that records are joined with: by queries, and by models that keep copies.
func (w *Workload) joined(yield func(*Join) bool) {
	for _, q := range w.Queries {
		for i := range q.Joins {
			if !yield(&q.Joins[i]) {
				return
			}
		}
	}
	for _, mo := range w.Models {
		for _, list := range mo.Copies {
			for i := range list {
				if !yield(&list[i]) {
					return
				}
			}
		}
	}
}
