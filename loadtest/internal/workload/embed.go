package workload

import (
	"maps"
	"slices"
	"strings"

	"github.com/polystore/polystore/loadtest/internal/document"
	"github.com/polystore/polystore/loadtest/internal/generate"
	"github.com/polystore/polystore/repo"
)

// nowhere is the with of a model whose records lie by themselves, though the collection is declared to lie with another.
const nowhere = "none"

// List returns the field that has the records of the collection in those of another one, in a model that embeds them.
func (c *Collection) List() string { return "embedded_" + c.Schema.Collection }

// Guests returns the collections whose records a model embeds in those of a collection.
func (mo *Model) Guests(host *Collection, all []*Collection) (list []*Collection) {
	for at, in := range mo.Hosts {
		if in == host {
			list = append(list, all[at])
		}
	}
	return list
}

// Declared returns the names of the fields of a collection, in order.
func (c *Collection) Declared() []string { return slices.Sorted(maps.Keys(c.Schema.Fields)) }

// readPlace reads where a model has the records of a collection: with those of another one, or embedded in them.
func (w *Workload) readPlace(d *document.File, m *document.Mapping, c *Collection, mo *Model) {
	s := &mo.Schemas[c.At]
	if m.Get("with") != nil {
		if s.With = m.Text("with"); s.With == nowhere && w.collectionNamed(nowhere) == nil {
			s.With = ""
		}
	}
	name := m.Text("embed")
	if name == "" {
		return
	}
	host := w.collectionNamed(name)
	if host == nil || host == c {
		d.FaultIn(m.PlaceOf("embed"), "there is no other collection %q in whose records these can be; the collections are %s", name, w.collectionNames())
		return
	}
	for _, key := range []string{"with", "indexes", "covers", "kind"} {
		if m.Has(key) {
			d.FaultIn(m.PlaceOf(key), "%s has embed and %s; what is embedded lies where its %s lie, and has no index of its own, so leave out %s", m.What, key, name, key)
		}
	}
	mo.Hosts[c.At], c.Embedded = host, true
}

// embed gives the hosts the lists of what is embedded in them. An index that covers whole records covers what is
// declared of them, and no list.
func (mo *Model) embed(all []*Collection) {
	for _, host := range all {
		guests := mo.Guests(host, all)
		if len(guests) == 0 {
			continue
		}
		s := &mo.Schemas[host.At]
		s.Fields = maps.Clone(s.Fields)
		for j := range s.Indexes {
			if slices.Contains(s.Indexes[j].Covers, "*") {
				s.Indexes[j].Covers = host.Declared()
			}
		}
		for _, c := range guests {
			s.Fields[c.List()] = "list"
			mo.Schemas[c.At].With, mo.Schemas[c.At].Indexes = "", nil
		}
	}
}

// embedded reports what a model cannot embed, and queries that would have other answers then.
func (r modelChecker) embedded() {
	for i, host := range r.mo.Hosts {
		if host == nil {
			continue
		}
		c := r.w.Collections[i]
		if text := r.unfit(c, host); text != "" {
			r.d.FaultIn(r.mo.place, "model %s embeds %s in %s: %s", r.mo.Name, c.Schema.Collection, host.Schema.Collection, text)
			continue
		}
		for _, q := range r.w.Queries {
			if text := unlike(r.mo, c, host, q); text != "" {
				r.d.FaultIn(q.Place, "query %s %s", q.Name, text)
			}
		}
	}
}

// unfit says why the records of a collection cannot be embedded in those of another one, "" if they can.
func (r modelChecker) unfit(c, host *Collection) string {
	in := host.Schema.Collection
	switch {
	case host.At > c.At:
		return in + " comes below it in the file; declare it above, because parents are loaded before their children"
	case host.Tree != nil:
		return in + " has trees, in whose nodes nothing is embedded"
	case r.mo.Hosts[host.At] != nil:
		return in + " is embedded itself, in " + r.mo.Hosts[host.At].Schema.Collection + "; embed both in that one, or one of them alone"
	case c.TTL > 0 || host.TTL > 0:
		return "with a ttl records expire one by one, and elements of a list do not; leave out the ttl, or keep them in collections of their own"
	case slices.ContainsFunc(c.Schema.Indexes, func(x repo.Index) bool { return x.Unique }):
		return "it has a unique index, and nothing keeps two lists from having one value; leave out that index, or let the model have no embed"
	case host.Kind(c.List()) != "":
		return in + " has a field " + c.List() + ", which is the name of the list; give that field another one"
	}
	for j := range r.mo.Schemas {
		if s := &r.mo.Schemas[j]; r.mo.Hosts[j] == nil && s.With == c.Schema.Collection {
			return s.Collection + " lies with it, and there is no partition of its own then; add " + s.Collection + ": {with: none}"
		}
	}
	return r.misplaced(c, host)
}

// misplaced says how the partition of a collection is not the key of its hosts, or may be that of none, "" if it is.
func (r modelChecker) misplaced(c, host *Collection) string {
	partition, key := r.mo.Schemas[c.At].Partition, keyOf(&r.mo.Schemas[host.At])
	kinds := func(c *Collection, names []string) (list []string) {
		for _, f := range names {
			list = append(list, c.Kind(f))
		}
		return list
	}
	if !slices.Equal(kinds(c, partition), kinds(host, key)) {
		return "its partition is (" + strings.Join(partition, ", ") + "), and it must be the whole key of a parent, which is (" + strings.Join(key, ", ") + "), in that order and of the same kinds"
	}
	if c.Data.File != "" {
		return "" // the data will tell
	}
	for i, f := range partition {
		at := slices.IndexFunc(c.Data.Fields, func(x generate.Field) bool { return x.Name == f })
		if at < 0 {
			continue // that was told
		}
		if ref, ok := c.Data.Fields[at].Make.(*generate.Reference); !ok || ref.Collection != host.At || ref.Field != key[i] {
			return "nothing makes sure that the parents are there; make " + f + " by ref: {collection: " + host.Schema.Collection + ", field: " + key[i] + "}"
		}
	}
	return ""
}

// unlike says what a query does that is not the same where records are embedded, "" if all is.
func unlike(mo *Model, c, host *Collection, q *Query) string {
	partition := mo.Schemas[c.At].Partition
	name, in := c.Schema.Collection, host.Schema.Collection
	deletes := func(q *Query) bool { return q.Kind == "delete" }
	switch {
	case q.Collection == host && (deletes(q) || slices.ContainsFunc(q.Parts, deletes)):
		return "removes records of " + in + ", and in model " + mo.Name + " the " + name + " in them, which stay elsewhere; leave out the query, or let the model have no embed"
	case q.Collection != c:
	case len(q.Children) > 0:
		return "reads children of " + name + ", and in model " + mo.Name + " these are elements of a list themselves; leave out the children, or let the model have no embed"
	case q.Kind == "insert" && slices.ContainsFunc(q.Set, func(a Assignment) bool { return slices.Contains(partition, a.Field) }):
		return "sets " + strings.Join(partition, ", ") + ", and in model " + mo.Name + " a new record needs a parent in " + in + " that is there; leave that to the data"
	case q.Kind == "group" && slices.ContainsFunc(partition, func(f string) bool { return !slices.Contains(c.Schema.Partition, f) }):
		return "changes records of one (" + strings.Join(c.Schema.Partition, ", ") + ") in one commit, and in model " + mo.Name + " they may be in several records of " + in + "; declare the partition (" + strings.Join(partition, ", ") + ")"
	}
	return ""
}

// lies reports a collection that cannot lie with the one that it names.
func (r modelChecker) lies(i int) {
	s := &r.mo.Schemas[i]
	if s.With == "" {
		return
	}
	with := r.w.collectionNamed(s.With)
	switch {
	case with == nil || with.At >= i:
		r.d.FaultIn(r.mo.place, "model %s: there is no collection %s above %s, with which it is to lie", r.mo.Name, s.With, s.Collection)
	case with.Tree != nil:
		r.d.FaultIn(r.mo.place, "model %s: %s lies with %s, which has trees; no collection lies with them", r.mo.Name, s.Collection, s.With)
	case r.mo.Schemas[with.At].With != "":
		r.d.FaultIn(r.mo.place, "model %s: %s lies with %s, which lies with %s itself; name that one", r.mo.Name, s.Collection, s.With, r.mo.Schemas[with.At].With)
	case !slices.Equal(partitionOf(s), partitionOf(&r.mo.Schemas[with.At])):
		r.d.FaultIn(r.mo.place, "model %s: %s lies with %s, and so has the same partition, which is (%s)", r.mo.Name, s.Collection, s.With, strings.Join(r.mo.Schemas[with.At].Partition, ", "))
	}
}

// partitionOf returns the fields of a partition with their kinds.
func partitionOf(s *repo.Schema) (list []string) {
	for _, name := range s.Partition {
		list = append(list, name+" "+s.Fields[name])
	}
	return list
}
