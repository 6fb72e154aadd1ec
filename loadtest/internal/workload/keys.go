package workload

import (
	"slices"
	"strings"

	"github.com/polystore/polystore/loadtest/internal/document"
	"github.com/polystore/polystore/loadtest/internal/generate"
	"github.com/polystore/polystore/repo"
)

// keyOf returns the names of the key fields of a schema.
func keyOf(s *repo.Schema) []string {
	key := slices.Clone(s.Partition)
	for _, f := range s.Sort {
		key = append(key, strings.TrimPrefix(f, "-"))
	}
	return key
}

// Key returns the names of the key fields, as the collection is declared.
func (c *Collection) Key() []string { return keyOf(&c.Schema) }

// readKey reads the key that a model gives a collection, if it gives it another one.
func readKey(d *document.File, m *document.Mapping, c *Collection, s *repo.Schema) {
	if !m.Has("partition") && !m.Has("sort") {
		return
	}
	if m.Has("partition") {
		s.Partition = m.Texts("partition")
	}
	if m.Has("sort") {
		s.Sort = m.Texts("sort")
	}
	checkNames(d, m, c.Schema.Fields, "partition", "sort")
}

// addKeys notes which keys the models give each collection. It reports what a query or the data do not do for all of
// them.
func (w *Workload) addKeys(d *document.File) {
	for _, c := range w.Collections {
		c.Keys = [][]string{c.Key()}
	}
	for _, mo := range w.Models {
		mo.KeyAt = make([]int, len(w.Collections))
		for i, c := range w.Collections {
			key := c.Key()
			if c.Tree == nil {
				key = keyOf(&mo.Schemas[i])
			}
			same := func(other []string) bool { return slices.Equal(other, key) }
			if mo.KeyAt[i] = slices.IndexFunc(c.Keys, same); mo.KeyAt[i] < 0 {
				mo.KeyAt[i] = len(c.Keys)
				c.Keys = append(c.Keys, key)
				w.checkKey(d, mo, c, key)
			}
		}
	}
}

// checkKey reports a key of a model that queries change, or that inserted copies would share.
func (w *Workload) checkKey(d *document.File, mo *Model, c *Collection, key []string) {
	for _, f := range key {
		c.Needs[f] = true
		if c.Data.File == "" && !slices.ContainsFunc(c.Data.Fields, func(x generate.Field) bool { return x.Name == f }) {
			d.FaultIn(mo.place, "model %s has field %s in the key of %s, and nothing makes it", mo.Name, f, c.Schema.Collection)
		}
	}
	for _, q := range w.Queries {
		if q.Collection != c {
			continue
		}
		sets := func(f string) bool {
			return slices.ContainsFunc(q.Set, func(a Assignment) bool { return a.Field == f })
		}
		for _, f := range key {
			if q.Kind != "insert" && slices.Contains(q.Changed(), f) {
				d.FaultIn(mo.place, "model %s has field %s in the key of %s, and query %s changes it; a key never changes", mo.Name, f, c.Schema.Collection, q.Name)
			}
		}
		if q.Kind == "insert" && c.Data.File != "" && !slices.ContainsFunc(key, sets) {
			d.FaultIn(mo.place, "query %s inserts copies of the file's records, whose keys are taken in model %s; set a field of %s", q.Name, mo.Name, strings.Join(key, ", "))
		}
	}
}
