package candidate

import (
	"context"
	"fmt"
	"iter"
	"maps"

	"github.com/polystore/polystore/loadtest/internal/failure"
	"github.com/polystore/polystore/loadtest/internal/format"
	"github.com/polystore/polystore/loadtest/internal/operation"
	"github.com/polystore/polystore/loadtest/internal/workload"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/tree"
)

// A forest is a collection of trees.
type forest struct {
	*tree.Forest[tree.Inspected]
	of *workload.Collection
}

// openForest opens the trees of a collection under another name.
func openForest(ctx context.Context, store *repo.Store, of *workload.Collection, s tree.Schema) (*forest, error) {
	f, err := tree.Open[tree.Inspected](ctx, store, s)
	if err != nil {
		return nil, err
	}
	return &forest{f, of}, nil
}

// address returns the name of the tree of a record, and the ID that the record has there. A collection that
// is one tree gives it its own name.
func (f *forest) address(key repo.Key) (name, id string) {
	id, _ = key[len(key)-1].(string)
	if name = f.of.Schema.Collection; len(key) > 1 {
		name, _ = key[0].(string)
	}
	return name, id
}

// node returns a record as a node, and the name of its tree.
func (f *forest) node(rec map[string]any) (string, tree.Inspected) {
	var key repo.Key
	for _, field := range f.of.Key() {
		key = append(key, rec[field])
	}
	var n tree.Inspected
	name, id := f.address(key)
	n.ID, n.Fields = id, maps.Clone(rec)
	n.Parent, _ = rec[f.of.Tree.Parent].(string)
	for _, field := range append(f.of.Key(), f.of.Tree.Parent) {
		delete(n.Fields, field)
	}
	return name, n
}

// The fields of answers that say how far a node lies below that where a walk began, and where in the walk it came.
const (
	depth = "_depth"
	place = "_place"
)

// record returns a node as a record, with its depth in a walk.
func (f *forest) record(n *tree.Inspected, below int) map[string]any {
	rec := map[string]any{f.of.Tree.ID: n.ID, depth: int64(below)}
	maps.Copy(rec, n.Fields)
	if n.Parent != "" {
		rec[f.of.Tree.Parent] = n.Parent
	}
	if f.of.Tree.Of != "" {
		rec[f.of.Tree.Of] = n.Tree
	}
	return rec
}

// do sends an operation to a tree.
func (f *forest) do(ctx context.Context, k *operation.Call, g *gatherer) error {
	if k.Q.Kind == "insert" {
		name, n := f.node(k.Record)
		return f.Tree(name).Insert(ctx, tree.Under(n.Parent), &n)
	}
	name, id := f.address(k.Key)
	t := f.Tree(name)
	switch k.Q.Kind {
	case "update":
		_, err := t.Update(ctx, id, func(n *tree.Inspected) error {
			if n.Fields = maps.Clone(n.Fields); n.Fields == nil {
				n.Fields = map[string]any{}
			}
			k.Change(n.Fields)
			return nil
		})
		return err
	case "transplant":
		return t.Move(ctx, id, tree.Under(k.To))
	case "delete":
		return t.Delete(ctx, id)
	}
	return f.read(ctx, t, id, k, g)
}

// read sends an operation that changes nothing to a tree.
func (f *forest) read(ctx context.Context, t *tree.Tree[tree.Inspected], id string, k *operation.Call, g *gatherer) error {
	switch k.Q.Kind {
	case "get", "exists":
		n, err := t.Get(ctx, id)
		if err == nil {
			f.take(g, &n, 0)
		}
		return err
	case "ancestors":
		list, err := t.Ancestors(ctx, id)
		for i := range list {
			f.take(g, &list[i], 0)
		}
		return err
	case "children":
		if k.Q.Limit == 0 {
			break
		}
		page, err := t.ChildrenPage(ctx, id, k.Q.Limit, "")
		for i := range page.Items {
			f.take(g, &page.Items[i], 1)
		}
		return err
	case "subtree":
		for item, err := range t.Descendants(ctx, id, k.Q.Depth) {
			if err != nil {
				return err
			}
			if f.take(g, &item.Node, item.Depth); g.N == k.Q.Limit {
				break
			}
		}
		return nil
	}
	for n, err := range t.Children(ctx, id) {
		if err != nil {
			return err
		}
		f.take(g, &n, 1)
	}
	return nil
}

// take takes a node into an answer.
func (f *forest) take(g *gatherer, n *tree.Inspected, below int) {
	if g.N++; g.keep {
		g.Records = append(g.Records, f.record(n, below))
	}
}

// load loads records of which those of a tree come together, and returns how many.
func (f *forest) load(ctx context.Context, records iter.Seq2[map[string]any, error]) (n int, err error) {
	next, stop := iter.Pull2(records)
	defer stop()
	rec, err, more := next()
	for more && err == nil {
		name, _ := f.node(rec)
		loaded, failed := f.Tree(name).Load(ctx, func(yield func(tree.Inspected, error) bool) {
			for more && err == nil {
				of, node := f.node(rec)
				if of != name || !yield(node, nil) {
					return
				}
				rec, err, more = next()
			}
		})
		if n += loaded; failed != nil {
			return n, failed
		}
	}
	return n, err
}

// all yields all nodes, tree by tree in no order, each in depth-first order.
func (f *forest) all(ctx context.Context) iter.Seq2[map[string]any, error] {
	return func(yield func(map[string]any, error) bool) {
		for name, err := range f.Trees(ctx) {
			if err != nil {
				yield(nil, err)
				return
			}
			at := int64(0)
			for item, err := range f.Tree(name).Descendants(ctx, "", 0) {
				var rec map[string]any
				if err == nil {
					rec = f.record(&item.Node, item.Depth)
					rec[place] = at
				}
				if !yield(rec, err) || err != nil {
					return
				}
				at++
			}
		}
	}
}

// verify makes sure that all trees are whole.
func (f *forest) verify(ctx context.Context, label string) error {
	for name, err := range f.Trees(ctx) {
		if err != nil {
			return err
		}
		problems, err := f.Tree(name).Verify(ctx)
		if err != nil {
			return err
		}
		if len(problems) > 0 {
			return &failure.WrongAnswers{Text: fmt.Sprintf("after the run the tree %q in %s of %s has %s, the first: %s",
				name, f.of.Schema.Collection, label, format.Plural(len(problems), "problem"), problems[0])}
		}
	}
	return nil
}
