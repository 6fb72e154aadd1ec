package loadtest

import (
	"errors"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/polystore/polystore/loadtest/internal/limit"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

var collectionName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,23}$`)
var kindNames = []string{"bool", "int", "float", "string", "bytes", "time", "list", "map"}

// anyStore are the facts of a store that can do everything: what it refuses no
// store can do.
var anyStore = driver.Facts{Name: "any store", Unit: driver.UnitStore, Native: driver.Ability{Has: true},
	NativeOrder: []driver.Kind{driver.Bool, driver.Int, driver.Float, driver.String, driver.Bytes, driver.Time}}

func (w *Workload) readCollections(d *document, m *mapping) {
	n := m.need("collections", "collections: [{collection: posts, partition: [author], …}]")
	if n == nil {
		return
	}
	for _, item := range d.list(n, "collections") {
		c := &collection{at: len(w.collections), place: placeOf(item), needs: map[string]bool{}}
		cm, ok := d.mapping(item, "the collection")
		if !ok {
			continue
		}
		c.schema = readSchema(d, cm)
		cm.what = "collection " + c.schema.Collection
		if !collectionName.MatchString(c.schema.Collection) {
			d.faultIn(cm.placeOf("collection"), "collection name %q: use a–z, digits and '_', a letter first, at most 24, because a run puts a prefix of its own before it", c.schema.Collection)
		}
		if w.collectionNamed(c.schema.Collection) != nil {
			d.faultIn(cm.placeOf("collection"), "there is a collection %s already; take another name", c.schema.Collection)
		}
		checkSchema(d, c.place, c.schema)
		w.readData(d, cm, c)
		cm.done()
		w.collections = append(w.collections, c)
	}
	if len(w.collections) == 0 && len(d.faults) == 0 {
		d.fault(n, "there is no collection")
	}
}

// readSchema reads the keys of a repo.Schema from a mapping.
func readSchema(d *document, m *mapping) repo.Schema {
	s := repo.Schema{
		Collection: d.text(m.need("collection", "collection: posts"), m.what+": collection"),
		Fields:     readFields(d, m),
	}
	m.need("partition", "partition: [author]")
	s.Partition, s.Sort = m.texts("partition"), m.texts("sort")
	checkNames(d, m, s.Fields, "partition", "sort")
	if n := m.get("indexes"); n != nil {
		s.Indexes = readIndexes(d, n, s.Fields)
	}
	return s
}

func readFields(d *document, m *mapping) map[string]string {
	fields := map[string]string{}
	n := m.need("fields", "fields: {author: string, created: time}")
	if n == nil {
		return fields
	}
	fm, ok := d.mapping(n, "fields")
	if !ok {
		return fields
	}
	for _, e := range fm.entries {
		kind := d.text(e.value, "the kind of "+e.key)
		if kind != "" && !slices.Contains(kindNames, kind) {
			d.fault(e.value, "field %s has kind %q; want one of %s", e.key, kind, strings.Join(kindNames, ", "))
		}
		fields[e.key] = kind
	}
	return fields
}

// checkNames reports names under keys of a mapping that are no declared fields.
func checkNames(d *document, m *mapping, fields map[string]string, keys ...string) {
	for _, key := range keys {
		n := m.get(key)
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
func checkField(d *document, n ast.Node, name string, fields map[string]string) bool {
	bare := strings.TrimSuffix(strings.TrimPrefix(name, "-"), "[]")
	if _, ok := fields[bare]; ok || name == "*" {
		return true
	}
	names := slices.Sorted(maps.Keys(fields))
	if near := nearest(bare, names); near != "" {
		d.fault(n, "there is no field %q; did you mean %s?", bare, near)
	} else {
		d.fault(n, "there is no field %q; the fields are %s", bare, strings.Join(names, ", "))
	}
	return false
}

func readIndexes(d *document, n ast.Node, fields map[string]string) []repo.Index {
	indexes := []repo.Index{}
	for _, item := range d.list(n, "indexes") {
		m, ok := d.mapping(item, "the index")
		if !ok {
			continue
		}
		x := repo.Index{
			Name:      m.text("name"),
			Partition: m.texts("partition"),
			Sort:      m.texts("sort"),
			Unique:    m.truth("unique"),
			Covers:    m.texts("covers"),
			Buckets:   m.integer("buckets", 0, 0, limit.MaxBuckets),
			Kind:      m.text("kind"),
		}
		checkNames(d, m, fields, "partition", "sort", "covers")
		checkCovers(d, m, x.Covers)
		m.done()
		indexes = append(indexes, x)
	}
	return indexes
}

// checkCovers refuses what would be measured as if it were not there.
func checkCovers(d *document, m *mapping, covers []string) {
	if len(covers) > 0 && !slices.Contains(covers, "*") {
		d.faultIn(m.placeOf("covers"), "the index covers some fields, but the queries of a workload read whole records, so they would never use that; write covers: [\"*\"], or leave it out")
	}
}

// checkSchema reports what the library finds wrong with a schema. It is left out
// when the file has faults already, which would be told twice.
func checkSchema(d *document, at place, s repo.Schema) {
	if len(d.faults) > 0 {
		return
	}
	for _, err := range causes(repo.Check[map[string]any](anyStore, s)) {
		d.faultIn(at, "%s", strings.TrimSuffix(err.Error(), ": "+repo.ErrSchema.Error()))
	}
}

// causes returns the faults that the library joined into one error.
func causes(err error) []error {
	if err == nil {
		return nil
	}
	var e *repo.Error
	if errors.As(err, &e) {
		err = e.Err
	}
	var many interface{ Unwrap() []error }
	if errors.As(err, &many) {
		return many.Unwrap()
	}
	return []error{err}
}

// Schemas reads the schemas of a file: one alone, or those of the collections of a
// workload file, whose other parts are not looked at. What is wrong is returned as
// Faults.
func Schemas(file string) ([]repo.Schema, error) {
	src, err := readLimited(file)
	if err != nil {
		return nil, err
	}
	d, root := parseYAML(file, src)
	if root == nil {
		return nil, d.faults.asError()
	}
	m, ok := d.mapping(root, "the schema")
	if !ok {
		return nil, d.faults.asError()
	}
	var list []repo.Schema
	if n := m.get("collections"); n != nil {
		for _, item := range d.list(n, "collections") {
			if cm, ok := d.mapping(item, "the collection"); ok {
				list = append(list, readSchema(d, cm))
			}
		}
	} else {
		list = append(list, readSchema(d, m))
		m.done()
	}
	if err := d.faults.asError(); err != nil {
		return nil, err
	}
	return list, nil
}
