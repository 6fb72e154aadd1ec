package workload

import (
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/polystore/polystore/loadtest/internal/document"
	"github.com/polystore/polystore/loadtest/internal/limit"
)

// children reads which children are read with a record: of each collection a query, whose conditions take what they
// draw from the key of the parent.
func (r queryReader) children() {
	n := r.m.Get("children")
	if n == nil {
		return
	}
	m, ok := r.d.Mapping(n, r.m.What+": children")
	if !ok {
		return
	}
	if r.q.Collection.Tree != nil {
		r.d.FaultIn(m.At, "%s has children, and nodes of trees have those below them; make it kind: children", r.m.What)
	}
	for _, e := range m.Entries {
		c := r.w.collectionNamed(e.Key)
		if c == nil || c.Tree != nil {
			r.d.FaultIn(e.Place, "%s: there is no collection %q without trees; the collections are %s", m.What, e.Key, r.w.collectionNames())
			continue
		}
		cm, ok := r.d.Mapping(e.Value, m.What+": "+e.Key)
		if !ok {
			continue
		}
		own := queryReader{r.d, r.w, cm, &Query{Name: r.q.Name, Place: r.q.Place, Kind: "find", Collection: c}}
		own.q.Order, own.q.Limit = cm.Texts("order"), cm.Integer("limit", 0, 1, limit.MaxFound)
		checkNames(r.d, cm, c.Schema.Fields, "order")
		own.below(r.q.Collection)
		cm.Done()
		r.q.Children = append(r.q.Children, own.q)
	}
}

// below reads the conditions of children. Without any, their partition is the key of the parent.
func (r queryReader) below(parent *Collection) {
	n := r.m.Get("where")
	if n == nil {
		key := parent.Key()
		for i, f := range r.q.Collection.Schema.Partition {
			if len(key) != len(r.q.Collection.Schema.Partition) || parent.Kind(key[i]) != r.q.Collection.Kind(f) {
				r.d.FaultIn(r.m.At, "%s does not say which children are a record's, and their partition (%s) is not its key (%s); add where, e.g. where: {%s: $%s}",
					r.m.What, strings.Join(r.q.Collection.Schema.Partition, ", "), strings.Join(key, ", "), f, key[0])
				return
			}
			r.q.Where = append(r.q.Where, Condition{Field: f, From: key[i]})
		}
		return
	}
	m, ok := r.d.Mapping(n, r.m.What+": where")
	if !ok {
		return
	}
	for _, e := range m.Entries {
		if c := r.ofParent(parent, e.Key, e.Place, e.Value); c != nil {
			r.q.Where = append(r.q.Where, *c)
		}
	}
	if !slices.ContainsFunc(r.q.Where, func(c Condition) bool { return c.From != "" }) {
		r.d.FaultIn(m.At, "%s names nothing of the parent; add a condition as {post: $%s}", m.What, parent.Key()[0])
	}
}

// ofParent reads the value of a condition on children: a literal, "$" or "$field" for a field of the parent's key.
func (r queryReader) ofParent(parent *Collection, field string, at document.Place, n ast.Node) *Condition {
	kind := r.compared(field, at)
	if kind == "" {
		return nil
	}
	c := &Condition{Field: field}
	s, ok := n.(*ast.StringNode)
	if !ok || !strings.HasPrefix(s.Value, "$") || strings.HasPrefix(s.Value, "$$") {
		c.Literal = r.literal(n, "the value of "+field, kind)
		return c
	}
	if c.From = s.Value[1:]; c.From == "" {
		c.From = strings.TrimSuffix(field, "[]")
	}
	if !slices.Contains(parent.Key(), c.From) || parent.Kind(c.From) != kind {
		r.d.Fault(n, "%s should be a field of kind %s in the key of the parent, which is (%s)", s.Value, kind, strings.Join(parent.Key(), ", "))
	}
	return c
}
