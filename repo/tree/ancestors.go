package tree

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/polystore/polystore/repo"
)

// ancestors is the strategy that keeps the IDs from the root to the parent of each node, and an index of them.
type ancestors[T any] struct{}

func (n *Node) ancestorsBelow(parent *Node) []string {
	if parent == nil {
		return nil
	}
	return append(slices.Clip(parent.Ancestors), parent.ID)
}

func (ancestors[T]) moves(was, next *Node) *pending {
	if slices.Equal(was.Ancestors, next.Ancestors) {
		return nil
	}
	return &pending{Do: doMove, Node: was.ID, Place: was.Place, Above: next.Ancestors, Was: was.Ancestors}
}

func (ancestors[T]) outside(_ context.Context, _ *base[T], n, parent *Node) error {
	if parent != nil && (parent.ID == n.ID || slices.Contains(parent.Ancestors, n.ID)) {
		return ErrBelowItself
	}
	return nil
}

// isBelow reports whether the last of some IDs is that of the parent. It is not where a conversion takes away what a
// node keeps.
func (n *Node) isBelow(above []string) bool {
	if len(above) == 0 {
		return n.Parent == ""
	}
	return n.Parent == above[len(above)-1]
}

// ancestorsOf returns the ancestors of a node as they are when what is pending is done.
func (p *pending) ancestorsOf(n *Node) ([]string, error) {
	if p == nil {
		return n.Ancestors, nil
	}
	at := slices.Index(n.Ancestors, p.Node)
	switch {
	case at < 0:
		return n.Ancestors, nil
	case p.Do == doRemove:
		return nil, errGone
	}
	return append(slices.Clip(p.Above), n.Ancestors[at:]...), nil
}

func (ancestors[T]) above(ctx context.Context, t *base[T], g *guard, id string) ([]string, error) {
	n, err := t.records.present(ctx, id)
	if err != nil {
		return nil, err
	}
	return g.Pending.ancestorsOf(n)
}

func (s ancestors[T]) ancestors(ctx context.Context, t *base[T], g *guard, id string) ([]T, error) {
	n, err := t.records.present(ctx, id)
	if err != nil {
		return nil, err
	}
	above, err := g.Pending.ancestorsOf(n)
	if err != nil {
		return nil, err
	}
	list, err := t.records.all(ctx, above)
	g.oneState = g.Pending == nil && n.isBelow(above)
	for i := range list { // as with paths
		at := nodeOf(&list[i])
		g.oneState = g.oneState && at.State != gone && slices.Equal(at.Ancestors, above[:i])
	}
	return list, err
}

// beneath returns the query of the nodes that have an ancestor.
func (t records[T]) beneath(id string) repo.Query {
	return repo.Where("tree", t.name).Where("ancestors[]", id)
}

// below reads the nodes that have the ancestor, in any order, and holds them in memory. While a move is pending what
// lies below the node that is moved is read first: so it is seen whether its ancestors are the old or the new ones.
func (ancestors[T]) below(ctx context.Context, t *base[T], g *guard, n *Node, depth int, emit emitter[T]) error {
	if n == nil && t.forest.schema.Spread {
		return adjacency[T]{}.below(ctx, t, g, n, depth, emit)
	}
	q, top := repo.Where("tree", t.name), ""
	if n != nil {
		q, top = t.records.beneath(n.ID), n.ID
	}
	queries := []repo.Query{q}
	if p := g.Pending; p != nil && slices.Contains(p.Above, top) {
		queries = []repo.Query{t.records.beneath(p.Node), q}
	}
	children, seen := map[string][]*T{}, map[string]bool{}
	for _, q := range queries {
		for rec, err := range t.forest.reads.Find(ctx, q) {
			if err != nil {
				return err
			}
			at := nodeOf(&rec)
			above, err := g.Pending.ancestorsOf(at)
			if at.State == gone || err != nil || seen[at.ID] || n != nil && !slices.Contains(above, top) {
				continue
			}
			seen[at.ID] = true
			children[at.Parent] = append(children[at.Parent], &rec)
		}
	}
	for _, list := range children {
		slices.SortFunc(list, func(a, b *T) int {
			x, y := nodeOf(a), nodeOf(b)
			return cmp.Or(cmp.Compare(x.Place, y.Place), cmp.Compare(x.ID, y.ID))
		})
	}
	return emitAll(children, top, depth, emit)
}

// finish rewrites or removes what lies below a node. A child that comes meanwhile has the old ancestors if its parent
// has: so it looks at all of them again until it had seen each with the new ones before it looked.
func (s ancestors[T]) finish(ctx context.Context, t *base[T], g *guard) error {
	p := g.Pending
	if p.Do == doRemove {
		has := func(n *Node) bool { return slices.Contains(n.Ancestors, p.Node) }
		return t.guards.leave(ctx, g, t.records.beneath(p.Node), has, func(list []Node) error { return t.guards.deleteAll(ctx, g, list) })
	}
	fresh := map[string]bool{}
	for {
		var list []Node
		var seen []string
		left := false
		flush := func() error {
			err := t.guards.rewrite(ctx, g, list, func(n *Node) {
				if above, err := p.ancestorsOf(n); err == nil {
					n.Ancestors = above
				}
			})
			list = list[:0]
			return err
		}
		for n, err := range t.forest.links.Find(ctx, t.records.beneath(p.Node)) {
			if err != nil {
				return err
			}
			left, seen = left || !fresh[n.ID], append(seen, n.ID)
			if above, err := p.ancestorsOf(&n); err == nil && slices.Equal(above, n.Ancestors) {
				continue
			}
			left, list = true, append(list, n)
			if len(list) == t.forest.most {
				if err := flush(); err != nil {
					return err
				}
			}
		}
		if !left {
			return nil
		}
		if err := flush(); err != nil {
			return err
		}
		for _, id := range seen {
			fresh[id] = true
		}
	}
}

// all returns nodes in the order of their IDs given.
func (t records[T]) all(ctx context.Context, ids []string) ([]T, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	keys, parts := make([]repo.Key, len(ids)), make([]any, 2*len(ids))
	for i, id := range ids {
		keys[i] = parts[2*i : 2*i+2]
		keys[i][0], keys[i][1] = t.boxed, id
	}
	list, found, err := t.forest.reads.GetMany(ctx, keys)
	if err == nil && slices.Contains(found, false) {
		err = errors.Join(repo.ErrNotFound)
	}
	return list, err
}
