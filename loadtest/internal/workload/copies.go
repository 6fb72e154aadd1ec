package workload

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/polystore/polystore/loadtest/internal/document"
)

// The collections that package copies has beside those of a model with copies: one of sources that says which copies are
// due, and one of records with copies that says which are to be looked at once more.
const (
	DueSuffix     = "_due"
	ConfirmSuffix = "_confirm"
)

// longestCopied is how long the name of a collection with copies is at most, so that there is room for the suffix.
const longestCopied = 20

var copyName = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9_]{0,63}$`)

// Kept returns the name of the field in which a model keeps a copy.
func (j *Join) Kept(taken string) string { return j.Field + "_" + taken }

// readCopies reads which copies the records of a collection have in a model: copies: {author: [name]}.
func (w *Workload) readCopies(d *document.File, m *document.Mapping, c *Collection, mo *Model) {
	n := m.Get("copies")
	if n == nil {
		return
	}
	cm, ok := d.Mapping(n, m.What+": copies")
	if !ok {
		return
	}
	s := &mo.Schemas[c.At]
	s.Fields = maps.Clone(s.Fields)
	for _, e := range cm.Entries {
		by := w.joinBy(c, e.Key)
		if by == nil {
			d.FaultIn(e.Place, "%s: no query joins %s of %s, so nothing says what it refers to; add to one join: {%s: {from: …, take: […]}}", m.What, e.Key, c.Schema.Collection, e.Key)
			continue
		}
		j := Join{Field: e.Key, From: by.From, Take: cm.Texts(e.Key), Place: e.Place}
		checkTaken(d, cm, e.Key, &j)
		if j.From == c {
			d.FaultIn(e.Place, "%s refers to %s itself, and no collection has copies of itself", e.Key, c.Schema.Collection)
		}
		for _, f := range j.Take {
			kept := j.Kept(f)
			if _, taken := s.Fields[kept]; taken || !copyName.MatchString(kept) {
				d.FaultIn(e.Place, "the copy of %s would be field %s, which is there already or too long a name; give one of the two another name", j.Shown(f), kept)
			}
			s.Fields[kept] = j.From.Kind(f)
		}
		mo.Copies[c.At] = append(mo.Copies[c.At], j)
	}
}

// copies reports copies that nothing would keep up to date, and names that they take.
func (r modelChecker) copies() {
	for _, c := range r.w.Collections {
		for i := range r.mo.Copies[c.At] {
			j := &r.mo.Copies[c.At][i]
			name, from := c.Schema.Collection, j.From.Schema.Collection
			switch {
			case len(r.mo.Copies[j.From.At]) > 0:
				r.d.FaultIn(j.Place, "%s has copies of %s, which has copies itself; copies of copies do not follow", name, from)
			case c.TTL > 0 || j.From.TTL > 0:
				r.d.FaultIn(j.Place, "%s has copies of %s, and records of one of them expire (ttl), of which copies know nothing; leave out ttl, or the copies", name, from)
			case len(name) > longestCopied:
				r.d.FaultIn(j.Place, "the name %s of a collection with copies has %d letters; at most %d, because of another collection beside it", name, len(name), longestCopied)
			}
			for _, other := range []string{from + DueSuffix, name + ConfirmSuffix} {
				if r.w.collectionNamed(other) != nil {
					r.d.FaultIn(j.Place, "the copies of %s have a collection %s of their own; give the other one another name", name, other)
				}
			}
		}
		r.copiedGroups(c)
	}
}

// copiedGroups reports groups that would have to fill copies, which is done one record at a time.
func (r modelChecker) copiedGroups(c *Collection) {
	if len(r.mo.Copies[c.At]) == 0 {
		return
	}
	for _, q := range r.w.Queries {
		for _, part := range q.Parts {
			if q.Collection == c && r.mo.Fills(part) {
				r.d.FaultIn(r.mo.Copies[c.At][0].Place, "query %s writes records of %s in a group, of which copies are filled; a group may update other fields than %s, and delete", q.Name, c.Schema.Collection, strings.Join(r.mo.references(c), ", "))
				break
			}
		}
	}
}

// references returns the fields of a collection by which its records have copies.
func (mo *Model) references(c *Collection) (fields []string) {
	for _, j := range mo.Copies[c.At] {
		fields = append(fields, j.Field)
	}
	return fields
}

// Fills reports whether copies are filled when a query writes a record: the whole record, or the field that says of what.
func (mo *Model) Fills(q *Query) bool {
	return len(mo.Copies[q.Collection.At]) > 0 && writes(q, mo.references(q.Collection))
}

// Copied reports whether copies of a record must follow when a query writes it: the whole record, or a field that is copied.
func (mo *Model) Copied(q *Query) bool {
	return writes(q, mo.copied(q.Collection)) || q.Kind == "delete" && len(mo.copied(q.Collection)) > 0
}

// writes reports whether a query writes one of some fields.
func writes(q *Query, fields []string) bool {
	switch q.Kind {
	case "insert", "put":
		return len(fields) > 0
	case "update", "modify", "move":
		return slices.ContainsFunc(q.Changed(), func(f string) bool { return slices.Contains(fields, f) })
	}
	return false
}

// copied returns the fields of a collection of which others have copies.
func (mo *Model) copied(c *Collection) (fields []string) {
	for _, list := range mo.Copies {
		for _, j := range list {
			if j.From == c {
				fields = append(fields, j.Take...)
			}
		}
	}
	return fields
}

// HasCopies reports whether records of some collection have copies of others.
func (mo *Model) HasCopies() bool {
	return slices.ContainsFunc(mo.Copies, func(list []Join) bool { return len(list) > 0 })
}

// IsCopied reports whether others have copies of the records of a collection.
func (mo *Model) IsCopied(c *Collection) bool { return len(mo.copied(c)) > 0 }

// CopiesOf returns the copies that answer a join of the collection at an index, nil if the model does not keep all that it
// takes.
func (mo *Model) CopiesOf(at int, j *Join) *Join {
	for i := range mo.Copies[at] {
		own := &mo.Copies[at][i]
		if own.Field == j.Field && !slices.ContainsFunc(j.Take, func(f string) bool { return !slices.Contains(own.Take, f) }) {
			return own
		}
	}
	return nil
}
