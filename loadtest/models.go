package loadtest

import (
	"slices"

	"github.com/goccy/go-yaml/ast"

	"github.com/polystore/polystore/repo"
)

// readModels reads the models, each a difference against the base schemas. A
// workload without any has one: the schemas as they are.
func (w *Workload) readModels(d *document, m *mapping) {
	n := m.get("models")
	if n == nil {
		w.models = []*model{w.baseModel("as declared")}
		return
	}
	for _, item := range d.list(n, "models") {
		mm, ok := d.mapping(item, "the model")
		if !ok {
			continue
		}
		w.readModel(d, mm)
	}
	if len(w.models) == 0 && len(d.faults) == 0 {
		d.fault(n, "there is no model; leave models out to measure the collections as they are declared")
	}
}

func (w *Workload) baseModel(name string) *model {
	mo := &model{name: name}
	for _, c := range w.collections {
		s := c.schema
		s.Indexes = slices.Clone(s.Indexes)
		mo.schemas = append(mo.schemas, s)
	}
	return mo
}

func (w *Workload) readModel(d *document, m *mapping) {
	name := d.name(m.need("name", "name: index table, covering"), "the model: name")
	mo := w.baseModel(name)
	mo.place = m.at
	m.what = "model " + name
	if slices.ContainsFunc(w.models, func(o *model) bool { return o.name == name }) {
		d.faultIn(m.placeOf("name"), "there is a model %q already; take another name", name)
	}
	mo.scan = m.truth("scan")
	covers, replaced := m.texts("covers"), m.get("indexes")
	kind := readKind(d, m)
	checkCovers(d, m, covers)
	for i := range mo.schemas {
		if replaced != nil {
			w.replaceIndexes(d, replaced, &mo.schemas[i])
		}
		mo.change(i, covers, kind)
	}
	w.readModelCollections(d, m, mo)
	m.done()
	for _, s := range mo.schemas {
		checkSchema(d, m.at, s)
	}
	w.models = append(w.models, mo)
}

// replaceIndexes gives a schema other indexes. For all collections at once that
// is only possible with none.
func (w *Workload) replaceIndexes(d *document, n ast.Node, s *repo.Schema) {
	if seq, ok := n.(*ast.SequenceNode); ok && len(seq.Values) > 0 && len(w.collections) > 1 {
		if s.Collection == w.collections[0].schema.Collection {
			d.fault(n, "there are several collections, so say whose indexes these are: collections: {%s: {indexes: […]}}", s.Collection)
		}
		return
	}
	s.Indexes = readIndexes(d, n, s.Fields)
}

// readKind reads of which kind all indexes of a model or of a collection are, "" when it
// does not say.
func readKind(d *document, m *mapping) string {
	kind := m.text("kind")
	if kind != "" && !slices.Contains([]string{"auto", "table", "native"}, kind) {
		d.faultIn(m.placeOf("kind"), "kind %q of the indexes; want auto, table or native", kind)
	}
	return kind
}

// change sets what the indexes of a collection cover, and their kind, if that is said.
func (mo *model) change(i int, covers []string, kind string) {
	for j := range mo.schemas[i].Indexes {
		x := &mo.schemas[i].Indexes[j]
		if covers != nil {
			x.Covers = covers
		}
		if kind != "" {
			x.Kind = kind
		}
	}
}

// readModelCollections reads the differences of single collections.
func (w *Workload) readModelCollections(d *document, m *mapping, mo *model) {
	n := m.get("collections")
	if n == nil {
		return
	}
	cs, ok := d.mapping(n, m.what+": collections")
	if !ok {
		return
	}
	for _, e := range cs.entries {
		c := w.collectionNamed(e.key)
		if c == nil {
			d.faultIn(e.place, "there is no collection %q; the collections are %s", e.key, w.collectionNames())
			continue
		}
		cm, ok := d.mapping(e.value, m.what+": collection "+e.key)
		if !ok {
			continue
		}
		if x := cm.get("indexes"); x != nil {
			mo.schemas[c.at].Indexes = readIndexes(d, x, c.schema.Fields)
		}
		covers := cm.texts("covers")
		checkCovers(d, cm, covers)
		mo.change(c.at, covers, readKind(d, cm))
		cm.done()
	}
}
