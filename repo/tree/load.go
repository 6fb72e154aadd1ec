package tree

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// Load adds nodes whose ID and Parent are set, parents before their children and siblings in their order, and returns
// how many it added. A parent is one that came before, or a node of the tree; roots, and children of a node of the tree,
// come after those that are there. It writes many nodes in a commit: so whatever ends it early, what was loaded is a
// tree, of the first nodes. It holds the IDs of the nodes in memory, and what the strategy keeps of them.
//
// Errors: ErrExists if the tree has an ID already, ErrNotFound if a parent is not there, and what nodes yields.
func (t *Tree[T]) Load(ctx context.Context, nodes iter.Seq2[T, error]) (n int, err error) {
	if err := t.writable(); err != nil {
		return 0, t.failed("load", "", err)
	}
	if t.forest.schema.has(Document) {
		list, n, err := t.documents.loadDocument(ctx, nodes)
		if n > 0 || err != nil {
			return n, t.failed("load", "", err)
		}
		if list != nil { // the tree was converted meanwhile
			nodes = func(yield func(T, error) bool) {
				for i := 0; i < len(list) && yield(list[i], nil); i++ {
				}
			}
		}
	}
	l := &loader[T]{tree: t, known: map[string]*loaded{}, most: t.forest.most}
	for rec, err := range nodes {
		if err == nil {
			err = l.add(ctx, &rec)
		}
		if err != nil {
			if before := l.flush(ctx); before != nil {
				err = before
			}
			return l.n, t.failed("load", "", err)
		}
	}
	if err = l.flush(ctx); err == nil {
		_, err = t.guards.settled(ctx)
	}
	return l.n, t.failed("load", "", err)
}

// loadDocument is Load where the tree is a document, all at once. It returns the nodes if it has read them.
func (t documents[T]) loadDocument(ctx context.Context, nodes iter.Seq2[T, error]) (list []T, n int, err error) {
	g, err := t.guards.settled(ctx)
	if err != nil || g.Strategy != Document {
		return nil, 0, err
	}
	if list, err = repo.Collect(nodes); err != nil {
		return nil, 0, err
	}
	was, err := t.onDocument(ctx, func(d *document[T]) error { return d.load(list) })
	if err != nil || was.Strategy != Document {
		return list, 0, err
	}
	return list, len(list), nil
}

// leaveNumbers returns the guard of a tree of numbers, when nothing is pending but that all nodes get some.
func (l *loader[T]) leaveNumbers(ctx context.Context) (is guard, err error) {
	t := l.tree
	if is, err = t.guards.guard(ctx); err == nil && (is.Pending == nil || is.Pending.Do != doNumber || is.Pending.Node != "") {
		is, err = t.guards.settled(ctx)
	}
	if err == nil && is.Strategy != NestedSets {
		err = errAgain // it was converted
	}
	return is, err
}

// A loaded is what is known of a node that was loaded.
type loaded struct {
	node Node
	last string // the place of its last child

	keeps string // what its children keep
}

// A loader collects nodes to commits.
type loader[T any] struct {
	tree  *Tree[T]
	known map[string]*loaded // by ID, "" for the roots
	list  []T                // of the next commit
	above []*loaded          // parents of those that are not among them
	n     int                // were committed

	most  int  // in a commit
	apart bool // the tree is a document: nodes are inserted one by one
}

// add gives a node what follows from its parent.
func (l *loader[T]) add(ctx context.Context, rec *T) error {
	n := nodeOf(rec)
	if n.ID == "" {
		return fmt.Errorf("node %d: a node without an ID: %w", l.n+len(l.list), repo.ErrInvalid)
	}
	above, err := l.parentOf(ctx, n)
	if err != nil {
		return err
	}
	if l.known[n.ID] != nil {
		return driver.Errorf("node %q came before: %w", driver.Private(n.ID), repo.ErrExists)
	}
	if err := l.derive(rec, above); err != nil {
		return driver.Errorf("node %q: %w", driver.Private(n.ID), err)
	}
	if (n.Parent == "" || !above.node.Version.IsZero()) && !slices.Contains(l.above, above) {
		l.above = append(l.above, above)
	}
	l.list = append(l.list, *rec)
	if l.known[n.ID] = (&loaded{node: *n, keeps: n.Keeps}); len(l.list)+len(l.above) < l.most {
		return nil
	}
	return l.flush(ctx)
}

// parentOf returns what is known of the parent of a node, which is read if it did not come before. Whether it is in a
// document is seen when that is written.
func (l *loader[T]) parentOf(ctx context.Context, n *Node) (*loaded, error) {
	if l.known[n.Parent] != nil {
		return l.known[n.Parent], nil
	}
	if n.Parent == "" {
		err := l.findRoots(ctx)
		return l.known[""], err
	}
	parent := &loaded{}
	l.known[n.Parent] = parent
	err := l.learn(ctx, n.Parent)
	if err == nil && parent.node.ID == "" {
		err = l.findRoots(ctx)
	}
	if err == nil && parent.node.ID == "" && !l.apart {
		err = driver.Errorf("node %q: %w", driver.Private(n.ID), errNoParent(n))
	}
	return parent, err
}

func errNoParent(n *Node) error {
	return driver.Errorf("its parent %q did not come before it, as ParentsFirst brings it, and is not in the tree: %w", driver.Private(n.Parent), repo.ErrNotFound)
}

// findRoots reads the guard, and then the last root that is there.
func (l *loader[T]) findRoots(ctx context.Context) error {
	t := l.tree
	g, err := t.guards.guard(ctx)
	if err != nil {
		return err
	}
	l.apart = g.Strategy == Document
	last, err := t.spots.outermost(ctx, "", "", true)
	l.known[""] = &loaded{node: Node{Version: g.Version}, last: last, keeps: g.keeps()}
	return err
}

func (l *loader[T]) derive(rec *T, above *loaded) (err error) {
	t, n := l.tree, nodeOf(rec)
	n.Tree, n.Version, n.Kept = t.name, repo.Version{}, Kept{}
	if t.forest.order != nil {
		n.Place, err = t.forest.order.placeOf(rec)
	} else {
		above.last = between(above.last, "")
		n.Place = above.last
	}
	parent := &above.node
	if n.Parent == "" {
		parent = nil
	}
	n.derive(parent, above.keeps)
	return err
}

// flush commits what was collected. Where others have changed what that was decided by, the nodes are inserted one by
// one, and what is known of their parents is read anew.
func (l *loader[T]) flush(ctx context.Context) error {
	if len(l.list) == 0 {
		return nil
	}
	err := errAgain
	if !l.apart {
		err = l.commit(ctx, l.list)
	}
	roots := l.known[""]
	switch {
	case errors.Is(err, repo.ErrTooLarge) && len(l.list) > 1:
		l.most = len(l.list) / 2
		err = l.oneByOne(ctx)
	case errors.Is(err, errAgain):
		err = l.oneByOne(ctx)
	case err == nil:
		for i := range l.list {
			l.know(&l.list[i])
		}
	}
	if err == nil && roots != nil && roots.node.Version.IsZero() {
		err = l.findRoots(ctx)
	}
	l.list, l.above = l.list[:0], l.above[:0]
	return err
}

// commit commits nodes.
func (l *loader[T]) commit(ctx context.Context, list []T) error {
	t, g := l.tree, l.tree.forest.group()
	w := t.forest.nodes.In(g)
	numbered, is := slices.ContainsFunc(list, func(rec T) bool { return nodeOf(&rec).isNumbered() }), guard{}
	if numbered { // who gives numbers to all at the same time begins again
		var err error
		if is, err = l.leaveNumbers(ctx); err != nil {
			return err
		}
		t.guards.decide(g, &is, &pending{Do: doNumber})
	}
	for i := range list {
		w.Insert(&list[i])
	}
	for _, above := range l.above {
		switch v := above.node.Version; {
		case above.node.ID != "":
			w.Check(above.node.key(), repo.IfVersion(v))
		case numbered && above.keeps != is.keeps():
			return errAgain // a conversion has begun or ended since
		case numbered: // the guard is as it was
		case v.IsZero(): // the first node of the tree
			t.forest.guards.In(g).Insert(&guard{Tree: t.name, Strategy: t.forest.schema.Strategy})
		default:
			t.forest.guards.In(g).Check(t.guards.guardKey(), repo.IfVersion(v))
		}
	}
	return t.writes.commit(ctx, g, "")
}

// oneByOne inserts what was collected; into a document it goes at once.
func (l *loader[T]) oneByOne(ctx context.Context) error {
	if l.apart {
		was, err := l.tree.documents.onDocument(ctx, func(d *document[T]) error { return d.load(l.list) })
		if err == nil && was.Strategy == Document {
			for i := range l.list {
				l.know(&l.list[i])
			}
		}
		if err != nil || was.Strategy == Document {
			return err
		}
	}
	for i := range l.list {
		n := nodeOf(&l.list[i])
		if err := l.tree.Insert(ctx, Under(n.Parent), &l.list[i]); err != nil {
			return err
		}
		l.know(&l.list[i])
	}
	if l.known[""] != nil {
		if err := l.findRoots(ctx); err != nil {
			return err
		}
	}
	if l.apart {
		return nil
	}
	parents := map[string]bool{"": true}
	for i := range l.list {
		if id := nodeOf(&l.list[i]).Parent; !parents[id] {
			parents[id] = true
			if err := l.learn(ctx, id); err != nil {
				return err
			}
		}
	}
	return nil
}

// know notes a node that was committed.
func (l *loader[T]) know(rec *T) {
	n := nodeOf(rec)
	l.known[n.ID].node, l.known[n.ID].keeps = *n, n.Keeps
	l.n++
}

// learn reads anew what is known of a parent.
func (l *loader[T]) learn(ctx context.Context, id string) error {
	n, err := l.tree.records.open(ctx, id)
	if errors.Is(err, repo.ErrNotFound) {
		return nil // which its next child is told of
	}
	if err != nil {
		return err
	}
	last, err := l.tree.spots.outermost(ctx, id, "", true)
	*l.known[id] = loaded{node: *n, last: last, keeps: n.Keeps}
	return err
}
