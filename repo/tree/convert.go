package tree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// Convert brings a tree from its strategy to another one, which the schema must have. Meanwhile nodes are read by the
// old one, and inserted and updated as ever; a move or a deletion first ends the conversion. If the call ends early, the
// next of these does the rest, or the next Convert. Where some node cannot be what it would be, as one that lies too
// deep for a path, the error says so, and the tree is as it was. So it is where a document would not have all records of
// the tree, or they lie beside one, which is ErrCorrupt.
func (t *Tree[T]) Convert(ctx context.Context, to Strategy) error {
	return t.failed("convert", "", t.conversion.convert(ctx, to))
}

// Strategy returns the strategy of the tree: that of the schema if the tree has no nodes.
func (t *Tree[T]) Strategy(ctx context.Context) (Strategy, error) {
	g, err := t.guards.guard(ctx)
	return g.Strategy, t.failed("strategy", "", err)
}

// A conversion brings a tree to another strategy.
type conversion[T any] struct{ *base[T] }

func (t conversion[T]) convert(ctx context.Context, to Strategy) error {
	if err := t.writable(); err != nil {
		return err
	}
	if !slices.Contains(strategies, to) {
		return fmt.Errorf("strategy %q is none of %q: %w", to, strategies, repo.ErrSchema)
	}
	if !t.forest.schema.has(to) {
		return fmt.Errorf("the schema has no strategy %q; name it in Also: %w", to, repo.ErrSchema)
	}
	begun := int64(0) // the number of the change that this call has decided
	return t.again(ctx, func() error {
		for {
			was, back, err := t.guards.settle(ctx)
			switch {
			case err != nil && begun > 0:
				return decided(err)
			case err != nil || was.Strategy == to:
				return err
			case slices.Contains(was.Undone, begun): // maybe by another program
				return fmt.Errorf("the tree cannot be one of %q, and stays one of %q: %w", to, was.Strategy, cmp.Or(back, repo.ErrTooLarge))
			case begun > 0:
				return nil // another program has brought the tree elsewhere since
			}
			if err := t.alone(ctx, &was); err != nil {
				return err
			}
			g := t.forest.group()
			t.guards.decide(g, &was, &pending{Do: doConvert, Strategy: to})
			if err := t.writes.commit(ctx, g, ""); err != nil {
				return err
			}
			begun = was.Changes + 1
		}
	})
}

// alone is ErrCorrupt if records lie beside a document, in whose place its nodes would come.
func (t conversion[T]) alone(ctx context.Context, was *guard) error {
	if was.Strategy != Document {
		return nil
	}
	strays, err := t.records.strays(ctx, was)
	if err == nil && len(strays) > 0 {
		err = driver.Errorf("records lie beside the document, as %q; see Verify, and delete them by Forest.Nodes: %w", driver.Private(strays[0].ID), repo.ErrCorrupt)
	}
	return err
}

// keeps returns what new roots keep.
func (g *guard) keeps() string {
	list := []string{g.Strategy.keeps()}
	switch p := g.Pending; {
	case p == nil:
	case p.Do == doConvert:
		list = append(list, p.Strategy.keeps())
	}
	slices.Sort(list)
	return strings.Join(list, "")
}

// finishConversion does a conversion that is pending, and then takes away what the old strategy kept. A child of a
// node keeps what the node does: so nodes are written from the roots down, each before its children are listed.
func (t conversion[T]) finishConversion(ctx context.Context, was *guard) error {
	p := was.Pending
	next := *was
	switch {
	case p.Do == doErase:
		if err := t.erase(ctx, was); err != nil {
			return err
		}
		return t.conclude(ctx, &next, nil)
	case was.Strategy == Document:
		return t.unpack(ctx, was)
	}
	if p.Do == doForget {
		if err := t.topDown(ctx, was, func(n, _ *Node) { n.forget(p.Strategy.keeps()) }); err != nil {
			return err
		}
		return t.conclude(ctx, &next, nil)
	}
	keeps := was.keeps()
	err := t.topDown(ctx, was, func(n, parent *Node) {
		if n.Keeps != keeps {
			n.derive(parent, keeps)
		}
	})
	if err == nil && p.Strategy == Document {
		return t.packAll(ctx, was)
	}
	if err == nil && p.Strategy == NestedSets {
		numbering := *was
		numbering.Pending = &pending{Do: doNumber}
		err = t.numbering.numberAll(ctx, &numbering)
	}
	switch {
	case isRefused(err):
		return t.takeBack(ctx, &next, &pending{Do: doForget, Strategy: p.Strategy}, err)
	case err != nil:
		return err
	}
	next.Strategy = p.Strategy
	return t.conclude(ctx, &next, &pending{Do: doForget, Strategy: was.Strategy})
}

// packAll brings the nodes into a document, since no node of any comes, goes or changes any more.
func (t conversion[T]) packAll(ctx context.Context, was *guard) error {
	var ids []string
	err := adjacency[T]{}.below(ctx, t.base, was, nil, 0, func(rec *T, _ int) error {
		ids = append(ids, nodeOf(rec).ID)
		return nil
	})
	if err != nil {
		return err
	}
	next := *was
	next.Strategy, next.Conversions = Document, next.Conversions+1
	if next.Nodes, err = t.wholeNodes(ctx, ids); err == nil {
		err = t.conclude(ctx, &next, &pending{Do: doErase})
	}
	if isRefused(err) || errors.Is(err, repo.ErrCorrupt) {
		next = *was
		return t.takeBack(ctx, &next, &pending{Do: doForget, Strategy: Document}, err)
	}
	return err
}

// isRefused reports whether an error says that nodes cannot be what they would be.
func isRefused(err error) bool {
	return errors.Is(err, repo.ErrTooLarge) || errors.Is(err, repo.ErrExists) || errors.Is(err, repo.ErrInvalid)
}

// takeBack decides that a conversion is not done.
func (t conversion[T]) takeBack(ctx context.Context, next *guard, p *pending, why error) error {
	next.forgo()
	if err := t.conclude(ctx, next, p); err != nil {
		return err
	}
	return takenBack{why}
}

// wholeNodes reads all nodes with all their fields, but for what follows from a document, and returns them in the order
// of their IDs. It is ErrCorrupt if others are there, which the document would lack.
func (t conversion[T]) wholeNodes(ctx context.Context, ids []string) ([]map[string]any, error) {
	all := map[any]map[string]any{}
	for n, err := range t.forest.whole.Find(ctx, repo.Where("tree", t.name)) {
		if err != nil {
			return nil, err
		}
		all[n["id"]] = n
		maps.DeleteFunc(n, func(name string, _ any) bool { return name != "parent" && (isOwn(name) || name[0] == '_') })
	}
	nodes := make([]map[string]any, len(ids))
	for i, id := range ids {
		if nodes[i] = all[id]; nodes[i] == nil {
			return nil, errAgain
		}
		delete(all, id)
	}
	for id := range all {
		return nil, driver.Errorf("node %q does not lie below a root; see Verify: %w", driver.Private(fmt.Sprint(id)), repo.ErrCorrupt)
	}
	return nodes, nil
}

// erase removes the records of all nodes.
func (t conversion[T]) erase(ctx context.Context, was *guard) error {
	for {
		list, err := repo.Collect(t.forest.links.Find(ctx, repo.Where("tree", t.name).Limit(t.forest.most)))
		if err != nil || len(list) == 0 {
			return err
		}
		if err := t.guards.deleteAll(ctx, was, list); err != nil {
			return err
		}
	}
}

// unpack makes records of the nodes of a document. Whoever does it makes the same.
func (t conversion[T]) unpack(ctx context.Context, was *guard) error {
	next, to := *was, was.Pending.Strategy
	err := t.putAll(ctx, was, to)
	if err == nil && to == NestedSets {
		numbering := *was
		numbering.Pending = &pending{Do: doNumber}
		err = t.numbering.numberAll(ctx, &numbering)
	}
	switch {
	case isRefused(err):
		return t.takeBack(ctx, &next, &pending{Do: doErase}, err)
	case err != nil:
		return err
	}
	next.Strategy, next.Nodes, next.Conversions = to, nil, next.Conversions+1
	return t.conclude(ctx, &next, nil)
}

func (t conversion[T]) putAll(ctx context.Context, was *guard, to Strategy) error {
	d, err := t.documents.documentOf(was)
	if err != nil {
		return err
	}
	nodes, last := map[string]*Node{}, map[string]string{}
	for i := range d.list {
		n := d.node(i)
		if n.Place = between(last[n.Parent], ""); t.forest.order != nil {
			if n.Place, err = t.forest.order.placeOf(&d.list[i]); err != nil {
				return err
			}
		}
		last[n.Parent], nodes[n.ID] = n.Place, n
		n.derive(nodes[n.Parent], to.keeps())
	}
	for from := 0; from < len(d.list); from += t.forest.most {
		list := map[string]map[string]any{}
		for i := from; i < min(from+t.forest.most, len(d.list)); i++ {
			rec := maps.Clone(was.Nodes[i])
			d.node(i).addTo(rec)
			list[d.node(i).ID] = rec
		}
		if err := t.putMissing(ctx, was, list); err != nil {
			return err
		}
	}
	return nil
}

// putMissing makes those records of nodes that are not there: others may have given numbers to those that are.
func (t conversion[T]) putMissing(ctx context.Context, was *guard, list map[string]map[string]any) error {
	if err := t.leaveOut(ctx, list); err != nil || len(list) == 0 {
		return err
	}
	missing := len(list)
	g := t.forest.group()
	t.forest.guards.In(g).Check(t.guards.guardKey(), repo.IfVersion(was.Version))
	for _, rec := range list {
		t.forest.whole.In(g).Insert(&rec)
	}
	err := t.forest.done(ctx, g)
	if e, ok := asError(err); ok && e.Collection != t.forest.schema.Collection && errors.Is(err, repo.ErrConflict) {
		return errAgain // others did it
	}
	if !errors.Is(err, repo.ErrExists) {
		return err
	}
	if failed := t.leaveOut(ctx, list); failed != nil || len(list) == missing {
		return cmp.Or(failed, err)
	}
	return errAgain // others have made some since
}

// leaveOut takes the nodes out of a list whose records are there.
func (t conversion[T]) leaveOut(ctx context.Context, list map[string]map[string]any) error {
	ids := slices.Sorted(maps.Keys(list))
	keys := make([]repo.Key, len(ids))
	for i, id := range ids {
		keys[i] = t.key(id)
	}
	_, found, err := t.forest.links.GetMany(ctx, keys)
	for i := range found {
		if found[i] {
			delete(list, ids[i])
		}
	}
	return err
}

// addTo sets the fields of a Node in a record that has no state and no numbers, or its own.
func (n *Node) addTo(rec map[string]any) {
	rec["tree"], rec["id"], rec["parent"], rec["place"] = n.Tree, n.ID, n.Parent, n.Place
	if rec["keeps"] = n.Keeps; n.Keeps == "" {
		delete(rec, "keeps")
	}
	if rec["path"] = n.Path; n.Path == "" {
		delete(rec, "path")
	}
	if rec["ancestors"] = n.Ancestors; n.Ancestors == nil {
		delete(rec, "ancestors")
	}
}

// conclude writes a guard with what is pending next.
func (t conversion[T]) conclude(ctx context.Context, next *guard, p *pending) error {
	g := t.forest.group()
	t.guards.decide(g, next, p)
	if err := t.writes.commit(ctx, g, ""); !errors.Is(err, errAgain) { // else others did it
		return err
	}
	return nil
}

// forget takes away what a node keeps of a strategy.
func (n *Node) forget(keeps string) {
	if n.Keeps = strings.ReplaceAll(n.Keeps, keeps, ""); keeps == "" {
		return
	}
	switch keeps {
	case keepsPath:
		n.Path = ""
	case keepsAncestors:
		n.Ancestors = nil
	case keepsNumbers:
		n.Left, n.Right = 0, 0
	}
}

// topDown changes all nodes, level by level.
func (t conversion[T]) topDown(ctx context.Context, was *guard, change func(n, parent *Node)) error {
	level := []*Node{nil}
	for len(level) > 0 {
		var next []*Node
		for _, parent := range level {
			children, err := t.changeChildren(ctx, was, parent, change)
			if err != nil {
				return err
			}
			next = append(next, children...)
		}
		level = next
	}
	return nil
}

// changeChildren changes the children of a node, nil for the roots, and returns them. A child that was inserted before
// its parent was changed is among them, and one that comes later has what its parent has.
func (t conversion[T]) changeChildren(ctx context.Context, was *guard, parent *Node, change func(n, parent *Node)) (list []*Node, err error) {
	id := ""
	if parent != nil {
		id = parent.ID
	}
	children, err := repo.Collect(t.forest.links.Find(ctx, t.records.childrenOf(id)))
	if err != nil {
		return nil, err
	}
	var rest []Node
	for i := range children {
		n := children[i]
		if change(&n, parent); !n.same(&children[i]) {
			rest = append(rest, children[i])
		}
		list = append(list, &n)
	}
	for batch := range slices.Chunk(rest, t.forest.most) {
		again := func(n *Node) {
			if n.Parent == id { // it might be another node of that ID
				change(n, parent)
			}
		}
		if err := t.guards.rewrite(ctx, was, batch, again); err != nil {
			return nil, err
		}
	}
	return list, nil
}
