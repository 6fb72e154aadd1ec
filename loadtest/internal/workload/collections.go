package workload

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/polystore/polystore/loadtest/internal/document"
	"github.com/polystore/polystore/loadtest/internal/failure"
	"github.com/polystore/polystore/loadtest/internal/limit"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

var collectionName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,23}$`)

var kindNames = []string{"bool", "int", "float", "string", "bytes", "time", "list", "map"}

// anyStore are the facts of a store that can do everything: what it refuses no
// store can do.
var anyStore = driver.Facts{Name: "any store", Scope: driver.ScopeStore, Native: driver.Ability{Has: true},
	NativeOrder: []driver.Kind{driver.Bool, driver.Int, driver.Float, driver.String, driver.Bytes, driver.Time}}

func (w *Workload) readCollections(d *document.File, m *document.Mapping) {
	n := m.Need("collections", "collections: [{collection: posts, partition: [author], …}]")
	if n == nil {
		return
	}
	for _, item := range d.List(n, "collections") {
		c := &Collection{At: len(w.Collections), place: document.PlaceOf(item), Needs: map[string]bool{}}
		cm, ok := d.Mapping(item, "the collection")
		if !ok {
			continue
		}
		c.Schema, c.Tree = readSchema(d, cm)
		cm.What = "collection " + c.Schema.Collection
		if !collectionName.MatchString(c.Schema.Collection) {
			d.FaultIn(cm.PlaceOf("collection"), "collection name %q: use a–z, digits and '_', a letter first, at most 24, because a run puts a prefix of its own before it", c.Schema.Collection)
		}
		w.checkName(d, cm.PlaceOf("collection"), c)
		if c.Tree == nil {
			w.checkWith(d, cm, c.Schema)
			checkSchema(d, c.place, c.Schema)
		}
		if c.Tree == nil && cm.Has("ttl") {
			c.TTL = cm.Duration("ttl", 0, limit.MinTTL, limit.MaxTTL)
		}
		w.readData(d, cm, c)
		cm.Done()
		w.Collections = append(w.Collections, c)
	}
	if len(w.Collections) == 0 && len(d.Faults) == 0 {
		d.Fault(n, "there is no collection")
	}
}

// checkName reports a name that another collection takes.
func (w *Workload) checkName(d *document.File, at document.Place, c *Collection) {
	name := c.Schema.Collection
	if w.collectionNamed(name) != nil {
		d.FaultIn(at, "there is a collection %s already; take another name", name)
	}
	for _, o := range w.Collections {
		for _, pair := range [][2]*Collection{{c, o}, {o, c}} {
			if pair[0].Tree != nil && pair[1].Schema.Collection == pair[0].Schema.Collection+GuardsSuffix {
				d.FaultIn(at, "the trees of %s have a collection %s of their own; take another name", pair[0].Schema.Collection, pair[1].Schema.Collection)
			}
		}
	}
}

// checkWith reports a collection that cannot lie with the one that it names.
func (w *Workload) checkWith(d *document.File, m *document.Mapping, s repo.Schema) {
	if s.With == "" {
		return
	}
	at, with := m.PlaceOf("with"), w.collectionNamed(s.With)
	switch {
	case with == nil:
		d.FaultIn(at, "there is no collection %s above this one, with which it is to lie", s.With)
	case with.Tree != nil:
		d.FaultIn(at, "collection %s has trees, with which no other one lies", s.With)
	case with.Schema.With != "":
		d.FaultIn(at, "collection %s lies with %s itself; name that one", s.With, with.Schema.With)
	case !slices.Equal(partitionOf(&s), partitionOf(&with.Schema)):
		d.FaultIn(at, "collection %s has the partition %q and this one %q; with: is for collections with the same", s.With, partitionOf(&with.Schema), partitionOf(&s))
	}
}

// readSchema reads the keys of a repo.Schema from a mapping, or those of trees.
func readSchema(d *document.File, m *document.Mapping) (repo.Schema, *Tree) {
	s := repo.Schema{
		Collection: d.Text(m.Need("collection", "collection: posts"), m.What+": collection"),
		Fields:     readFields(d, m),
	}
	if n := m.Get("tree"); n != nil {
		t := readTree(d, n, &s)
		return s, t
	}
	s.With = m.Text("with")
	m.Need("partition", "partition: [author]")
	s.Partition, s.Sort = m.Texts("partition"), m.Texts("sort")
	checkNames(d, m, s.Fields, "partition", "sort")
	if n := m.Get("indexes"); n != nil {
		s.Indexes = readIndexes(d, n, s.Fields)
	}
	return s, nil
}

func readFields(d *document.File, m *document.Mapping) map[string]string {
	fields := map[string]string{}
	n := m.Need("fields", "fields: {author: string, created: time}")
	if n == nil {
		return fields
	}
	fm, ok := d.Mapping(n, "fields")
	if !ok {
		return fields
	}
	for _, e := range fm.Entries {
		kind := d.Text(e.Value, "the kind of "+e.Key)
		if kind != "" && !slices.Contains(kindNames, kind) {
			d.Fault(e.Value, "field %s has kind %q; want one of %s", e.Key, kind, strings.Join(kindNames, ", "))
		}
		fields[e.Key] = kind
	}
	return fields
}

// checkNames reports names under keys of a mapping that are no declared fields.
func checkNames(d *document.File, m *document.Mapping, fields map[string]string, keys ...string) {
	for _, key := range keys {
		n := m.Get(key)
		items := []ast.Node{n}
		if seq, ok := n.(*ast.SequenceNode); ok {
			items = seq.Values
		}
		for _, item := range items {
			if s, ok := item.(*ast.StringNode); ok {
				checkField(d, item, s.Value, fields)
			}
		}
	}
}

// checkField reports a name that is no declared field. It may have the marks of
// a schema: "-created", "tags[]", "*".
func checkField(d *document.File, n ast.Node, name string, fields map[string]string) bool {
	bare := strings.TrimSuffix(strings.TrimPrefix(name, "-"), "[]")
	if _, ok := fields[bare]; ok || name == "*" {
		return true
	}
	names := slices.Sorted(maps.Keys(fields))
	if near := document.Nearest(bare, names); near != "" {
		d.Fault(n, "there is no field %q; did you mean %s?", bare, near)
	} else {
		d.Fault(n, "there is no field %q; the fields are %s", bare, strings.Join(names, ", "))
	}
	return false
}

func readIndexes(d *document.File, n ast.Node, fields map[string]string) []repo.Index {
	indexes := []repo.Index{}
	for _, item := range d.List(n, "indexes") {
		m, ok := d.Mapping(item, "the index")
		if !ok {
			continue
		}
		x := repo.Index{
			Name:      m.Text("name"),
			Partition: m.Texts("partition"),
			Sort:      m.Texts("sort"),
			Unique:    m.Truth("unique"),
			Covers:    m.Texts("covers"),
			Buckets:   m.Integer("buckets", 0, 0, limit.MaxBuckets),
			Kind:      m.Text("kind"),
		}
		checkNames(d, m, fields, "partition", "sort", "covers")
		checkCovers(d, m, x.Covers)
		m.Done()
		indexes = append(indexes, x)
	}
	return indexes
}

// checkCovers refuses what would be measured as if it were not there.
func checkCovers(d *document.File, m *document.Mapping, covers []string) {
	if len(covers) > 0 && !slices.Contains(covers, "*") {
		d.FaultIn(m.PlaceOf("covers"), "the index covers some fields, but the queries of a workload read whole records, so they would never use that; write covers: [\"*\"], or leave it out")
	}
}

// checkSchema reports what the library finds wrong with a schema. It is left out
// when the file has faults already, which would be told twice.
func checkSchema(d *document.File, at document.Place, s repo.Schema) {
	if len(d.Faults) > 0 {
		return
	}
	for _, err := range failure.Causes(repo.Check[map[string]any](anyStore, s)) {
		d.FaultIn(at, "%s", strings.TrimSuffix(err.Error(), ": "+repo.ErrSchema.Error()))
	}
}

// Layouts reads a workload file, which is checked as [Parse] does, or a schema alone, which is a workload without
// queries that has one model, without a name. What is wrong is returned as Faults.
func Layouts(file string) (*Workload, error) {
	src, err := document.Read(file)
	if err != nil {
		return nil, err
	}
	d, root := document.Parse(file, src)
	if root == nil {
		return nil, failure.AsError(d.Faults)
	}
	m, ok := d.Mapping(root, "the schema")
	if !ok {
		return nil, failure.AsError(d.Faults)
	}
	if m.Has("collections") {
		return Parse(file, src)
	}
	w, c := &Workload{}, &Collection{}
	c.Schema, c.Tree = readSchema(d, m)
	m.Done()
	w.Collections = append(w.Collections, c)
	w.Models = []*Model{w.baseModel("")}
	return w, failure.AsError(d.Faults)
}
