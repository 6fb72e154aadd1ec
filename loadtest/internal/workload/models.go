package workload

import (
	"slices"

	"github.com/goccy/go-yaml/ast"

	"github.com/polystore/polystore/loadtest/internal/document"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/tree"
)

// readModels reads the models, each a difference against the base schemas. A
// workload without any has one: the schemas as they are.
func (w *Workload) readModels(d *document.File, m *document.Mapping) {
	n := m.Get("models")
	if n == nil {
		w.Models = []*Model{w.baseModel("as declared")}
		return
	}
	for _, item := range d.List(n, "models") {
		mm, ok := d.Mapping(item, "the model")
		if !ok {
			continue
		}
		w.readModel(d, mm)
	}
	if len(w.Models) == 0 && len(d.Faults) == 0 {
		d.Fault(n, "there is no model; leave models out to measure the collections as they are declared")
	}
}

func (w *Workload) baseModel(name string) *Model {
	mo := &Model{Name: name, Series: make([]*Series, len(w.Collections))}
	for _, c := range w.Collections {
		s := c.Schema
		s.Indexes = slices.Clone(s.Indexes)
		mo.Schemas = append(mo.Schemas, s)
		var f *tree.Schema
		if c.Tree != nil {
			f = c.Tree.schema(s.Collection)
		}
		mo.Forests, mo.Copies, mo.Hosts = append(mo.Forests, f), append(mo.Copies, nil), append(mo.Hosts, nil)
	}
	return mo
}

func (w *Workload) readModel(d *document.File, m *document.Mapping) {
	name := d.Label(m.Need("name", "name: index table, covering"), "the model: name")
	mo := w.baseModel(name)
	mo.place = m.At
	m.What = "model " + name
	if slices.ContainsFunc(w.Models, func(o *Model) bool { return o.Name == name }) {
		d.FaultIn(m.PlaceOf("name"), "there is a model %q already; take another name", name)
	}
	mo.Scan = m.Truth("scan")
	covers, replaced := m.Texts("covers"), m.Get("indexes")
	kind := readKind(d, m)
	checkCovers(d, m, covers)
	w.readOwnKey(d, m, mo)
	for i := range mo.Schemas {
		if replaced != nil {
			w.replaceIndexes(d, replaced, &mo.Schemas[i])
		}
		mo.change(i, covers, kind)
	}
	w.plantAll(d, m, mo)
	w.readModelCollections(d, m, mo)
	mo.embed(w.Collections)
	m.Done()
	modelChecker{d, w, mo}.all()
	w.Models = append(w.Models, mo)
}

// A modelChecker reports what is wrong with a model that was read.
type modelChecker struct {
	d  *document.File
	w  *Workload
	mo *Model
}

func (r modelChecker) all() {
	r.joins()
	r.copies()
	r.series()
	for i, f := range r.mo.Forests {
		if f != nil {
			checkForest(r.d, r.mo.place, *f)
			continue
		}
		checkSchema(r.d, r.mo.place, r.mo.Schemas[i])
		r.lies(i)
	}
	r.embedded()
	r.mixtures()
}

// readOwnKey reads the key that a model gives the only collection.
func (w *Workload) readOwnKey(d *document.File, m *document.Mapping, mo *Model) {
	if !m.Has("partition") && !m.Has("sort") {
		return
	}
	if c := w.Collections[0]; len(w.Collections) == 1 && c.Tree == nil {
		readKey(d, m, c, &mo.Schemas[0])
		return
	}
	d.FaultIn(m.At, "%s has partition or sort, which is the key of one collection without trees; write collections: {%s: {partition: […]}}", m.What, w.Collections[0].Schema.Collection)
	m.Texts("partition")
	m.Texts("sort")
}

// replaceIndexes gives a schema other indexes. For all collections at once that
// is only possible with none.
func (w *Workload) replaceIndexes(d *document.File, n ast.Node, s *repo.Schema) {
	if seq, ok := n.(*ast.SequenceNode); ok && len(seq.Values) > 0 && len(w.Collections) > 1 {
		if s.Collection == w.Collections[0].Schema.Collection {
			d.Fault(n, "there are several collections, so say whose indexes these are: collections: {%s: {indexes: […]}}", s.Collection)
		}
		return
	}
	s.Indexes = readIndexes(d, n, s.Fields)
}

// readKind reads of which kind all indexes of a model or of a collection are, "" when it
// does not say.
func readKind(d *document.File, m *document.Mapping) string {
	kind := m.Text("kind")
	if kind != "" && !slices.Contains([]string{"auto", "table", "native"}, kind) {
		d.FaultIn(m.PlaceOf("kind"), "kind %q of the indexes; want auto, table or native", kind)
	}
	return kind
}

// change sets what the indexes of a collection cover, and their kind, if that is said.
func (mo *Model) change(i int, covers []string, kind string) {
	for j := range mo.Schemas[i].Indexes {
		x := &mo.Schemas[i].Indexes[j]
		if covers != nil {
			x.Covers = covers
		}
		if kind != "" {
			x.Kind = kind
		}
	}
}

// readModelCollections reads the differences of single collections.
func (w *Workload) readModelCollections(d *document.File, m *document.Mapping, mo *Model) {
	n := m.Get("collections")
	if n == nil {
		return
	}
	cs, ok := d.Mapping(n, m.What+": collections")
	if !ok {
		return
	}
	for _, e := range cs.Entries {
		c := w.collectionNamed(e.Key)
		if c == nil {
			d.FaultIn(e.Place, "there is no collection %q; the collections are %s", e.Key, w.collectionNames())
			continue
		}
		cm, ok := d.Mapping(e.Value, m.What+": collection "+e.Key)
		if !ok {
			continue
		}
		if c.Tree != nil {
			readForest(d, cm, mo.Forests[c.At])
			cm.Done()
			continue
		}
		readKey(d, cm, c, &mo.Schemas[c.At])
		w.readPlace(d, cm, c, mo)
		if x := cm.Get("indexes"); x != nil {
			mo.Schemas[c.At].Indexes = readIndexes(d, x, c.Schema.Fields)
		}
		covers := cm.Texts("covers")
		checkCovers(d, cm, covers)
		mo.change(c.At, covers, readKind(d, cm))
		if x := cm.Get("series"); x != nil {
			mo.Series[c.At] = readSeries(d, x, cm.What)
		}
		w.readCopies(d, cm, c, mo)
		cm.Done()
	}
}
