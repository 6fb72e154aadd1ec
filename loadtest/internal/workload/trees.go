package workload

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/polystore/polystore/loadtest/internal/document"
	"github.com/polystore/polystore/loadtest/internal/failure"
	"github.com/polystore/polystore/loadtest/internal/limit"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/tree"
)

// A Tree says by which fields the records of a collection are nodes of trees.
type Tree struct {
	Of     string // names the tree; "" if the collection is one tree
	ID     string
	Parent string // the ID of the parent; a root has none

	Strategy tree.Strategy // of models that name none
	Spread   bool
}

// schema returns how the trees of a collection are kept.
func (t *Tree) schema(collection string) *tree.Schema {
	return &tree.Schema{Collection: collection, Strategy: t.Strategy, Spread: t.Spread}
}

// GuardsSuffix ends the name of the collection that a forest has beside its nodes.
const GuardsSuffix = "_trees"

var strategies = []string{string(tree.Adjacency), string(tree.Path), string(tree.Ancestors), string(tree.NestedSets), string(tree.Document)}

// readTree reads which fields make trees of a collection, and gives the schema the key of a node.
func readTree(d *document.File, n ast.Node, s *repo.Schema) *Tree {
	t := &Tree{}
	m, ok := d.Mapping(n, "tree")
	if !ok {
		return t
	}
	m.Need("id", "id: path, a field")
	m.Need("parent", "parent: folder, the field that has the id of the parent")
	t.Of, t.ID, t.Parent = m.Text("of"), m.Text("id"), m.Text("parent")
	own := map[string]bool{}
	for _, key := range []string{"of", "id", "parent"} {
		name := m.Text(key)
		if name == "" || !checkField(d, m.Get(key), name, s.Fields) {
			continue
		}
		if kind := s.Fields[name]; kind != "string" {
			d.Fault(m.Get(key), "tree: %s is field %s of kind %s; it must be a string", key, name, kind)
		}
		if own[name] {
			d.Fault(m.Get(key), "tree: %s is field %s, which is another part of the tree already", key, name)
		}
		own[name] = true
	}
	whole := t.ID != "" && t.Parent != "" // else one of the fields may be what is missing
	for name := range s.Fields {
		if whole && !own[name] && slices.Contains(nodeFields(), name) {
			d.FaultIn(m.At, "field %s has a name that a tree keeps for itself (%s); take another one, with map: {…: %s} under data", name, strings.Join(nodeFields(), ", "), name)
		}
	}
	var f tree.Schema
	readForest(d, m, &f)
	t.Strategy, t.Spread = f.Strategy, f.Spread
	m.Done()
	if s.Sort = []string{t.ID}; t.Of != "" {
		s.Partition = []string{t.Of}
	}
	return t
}

// nodeFields returns the names of the fields that a tree keeps of each node.
func nodeFields() (names []string) {
	for _, f := range reflect.VisibleFields(reflect.TypeFor[tree.Node]()) {
		if name, _, _ := strings.Cut(f.Tag.Get("repo"), ","); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// readForest reads how trees are kept, where a mapping says it.
func readForest(d *document.File, m *document.Mapping, f *tree.Schema) {
	if name := m.Text("strategy"); name != "" {
		f.Strategy = tree.Strategy(name)
		if !slices.Contains(strategies, name) {
			d.FaultIn(m.PlaceOf("strategy"), "strategy %q of %s is none of %s", name, m.What, strings.Join(strategies, ", "))
		}
	}
	if m.Get("spread") != nil {
		f.Spread = m.Truth("spread")
	}
}

// plantAll reads how a model keeps all trees.
func (w *Workload) plantAll(d *document.File, m *document.Mapping, mo *Model) {
	for _, key := range []string{"strategy", "spread"} {
		if m.Has(key) && !slices.ContainsFunc(w.Collections, func(c *Collection) bool { return c.Tree != nil }) {
			d.FaultIn(m.PlaceOf(key), "%s has a %s, and no collection has trees; give one tree: {id: …, parent: …}", m.What, key)
		}
	}
	for _, f := range mo.Forests {
		if f != nil {
			readForest(d, m, f)
		}
	}
}

// checkForest reports what the library finds wrong with how a model keeps trees.
func checkForest(d *document.File, at document.Place, f tree.Schema) {
	if len(d.Faults) > 0 {
		return
	}
	for _, err := range failure.Causes(tree.Check[tree.Inspected](anyStore, f)) {
		d.FaultIn(at, "%s", strings.TrimSuffix(err.Error(), ": "+repo.ErrSchema.Error()))
	}
}

// Bounds are the least and the greatest of a number.
type Bounds struct{ Min, Max int }

// unbounded is the greatest number where none is given.
const unbounded = math.MaxInt32

// String returns the bounds for people.
func (b Bounds) String() string {
	if b.Max == unbounded {
		return fmt.Sprintf("%d or more", b.Min)
	}
	return fmt.Sprintf("%d to %d", b.Min, b.Max)
}

// isTreeKind reports whether queries of a kind are for trees alone.
func isTreeKind(kind string) bool {
	switch kind {
	case "children", "ancestors", "subtree", "transplant":
		return true
	}
	return false
}

// ofTrees reports a query that is not for what its collection has, trees or other records.
func (r queryReader) ofTrees() {
	q := r.q
	flat := []string{"one", "find", "count", "page", "near", "groups", "distinct", "firsts", "put", "modify", "move", "group", "renew"}
	switch {
	case q.Collection.Tree == nil && isTreeKind(q.Kind):
		r.d.FaultIn(r.m.PlaceOf("kind"), "%s is of kind %s, which asks trees, and collection %s has none; give it tree: {id: …, parent: …}", r.m.What, q.Kind, q.Collection.Schema.Collection)
	case q.Collection.Tree != nil && slices.Contains(flat, q.Kind):
		r.d.FaultIn(r.m.PlaceOf("kind"), "%s is of kind %s, and collection %s has trees, of which there are get, exists, children, ancestors, subtree, insert, update, transplant and delete",
			r.m.What, q.Kind, q.Collection.Schema.Collection)
	}
}

// nodes reads which nodes are drawn, and how much of what is below them is read.
func (r queryReader) nodes() {
	q, c := r.q, r.q.Collection
	if c.Tree == nil {
		return
	}
	c.Needs[c.Tree.Parent] = true
	all := Bounds{0, unbounded}
	switch q.Kind {
	case "subtree", "children":
		all.Min = 1 // others have none
		q.Limit = r.m.Integer("limit", 0, 0, limit.MaxFound)
	case "delete":
		all.Max = 0 // others are refused
	case "ancestors", "transplant":
	default:
		q.Below = all
		return
	}
	if q.Kind == "subtree" {
		q.Depth = r.m.Integer("depth", 0, 0, limit.MaxLevels)
	}
	if q.Below = all; r.m.Get("below") == nil {
		return
	}
	m, ok := r.d.Mapping(r.m.Get("below"), r.m.What+": below")
	if !ok {
		return
	}
	q.Below = Bounds{m.Integer("min", all.Min, 0, unbounded), m.Integer("max", unbounded, 0, unbounded)}
	if q.Below.Min > q.Below.Max {
		r.d.FaultIn(m.PlaceOf("max"), "%s: max is less than min: %d and %d", m.What, q.Below.Max, q.Below.Min)
	}
	m.Done()
}
