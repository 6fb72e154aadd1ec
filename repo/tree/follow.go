package tree

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// following reads by one request of a store that follows references by itself: a [driver.Follower]. What it reads is of
// one instant, so that nobody has to read the guard before and after. The parents of nodes are the truth, whatever the
// strategy.
type following[T any] struct{ *base[T] }

// follows reports whether a store follows references in the trees of a schema.
func (s *Schema) follows(store *repo.Store) bool {
	facts := store.Facts()
	_, able := store.Driver().(driver.Follower)
	return able && !s.Spread && facts.Native.Has && facts.PrefersNative && len(facts.NativeLocal) == 0
}

// read reads what a trail reaches, and the guard. It is not ok where the nodes are to be read in another way.
func (t following[T]) read(ctx context.Context, trail repo.Trail) (list []T, g guard, ok bool, err error) {
	if t.made() != nil || !t.forest.follows {
		return nil, g, false, nil
	}
	return t.reached(ctx, trail)
}

// reached is read where the store follows references: apart, so that elsewhere no call pays for its variables.
func (t following[T]) reached(ctx context.Context, trail repo.Trail) (list []T, g guard, ok bool, err error) {
	var guards []guard
	err = t.forest.store.ReadPartition(ctx, repo.Key{t.name}, t.forest.nodes.Reached(&list, trail), t.forest.guards.Into(&guards))
	if errors.Is(err, repo.ErrUnsupported) {
		return nil, g, false, nil
	}
	if len(guards) > 0 {
		g = guards[0]
	} else {
		g.Strategy = t.forest.schema.Strategy
	}
	unsure := g.Pending != nil && g.Pending.Do != doMove && g.Pending.Do != doNumber && g.Pending.Do != doRemove
	return list, g, g.Strategy != Document && !unsure, err
}

// chain returns the nodes from the root to one, or none where it is not as it should be.
func (t following[T]) chain(ctx context.Context, id string) (list []T, ok bool, err error) {
	if id == "" {
		return nil, false, nil
	}
	found, _, ok, err := t.read(ctx, repo.Trail{Start: id, To: "id", From: "parent"})
	if !ok || err != nil {
		return nil, ok, err
	}
	nodes := map[string]*T{}
	for i := range found {
		nodes[nodeOf(&found[i]).ID] = &found[i]
	}
	for at := id; at != ""; {
		rec := nodes[at]
		if rec == nil || nodeOf(rec).State == gone || len(list) > len(found) {
			return nil, false, nil
		}
		list = append(list, *rec)
		at = nodeOf(rec).Parent
	}
	slices.Reverse(list)
	return list, true, nil
}

// above is the strategy's.
func (t following[T]) above(ctx context.Context, id string) (ids []string, ok bool, err error) {
	list, ok, err := t.chain(ctx, id)
	for i := 0; i < len(list)-1; i++ {
		ids = append(ids, nodeOf(&list[i]).ID)
	}
	return ids, ok, err
}

// below returns what lies below a node of a tree without fields of a strategy, in depth-first order.
func (t following[T]) below(ctx context.Context, id string, depth int) (items []Item[T], ok bool, err error) {
	if t.made() != nil || t.forest.schema.Strategy != Adjacency {
		return nil, false, nil
	}
	found, g, ok, err := t.read(ctx, repo.Trail{Start: id, To: "parent", From: "id", Depth: depth})
	if !ok || err != nil || g.Strategy != Adjacency || id != "" && g.Pending != nil && g.Pending.Do == doRemove && g.Pending.Node == id {
		return nil, false, err
	}
	switch items = inOrder(found, id); {
	case len(items) > len(found):
		return nil, true, belowItself(nodeOf(&items[len(found)].Node).ID)
	case len(items) == 0 && id != "":
		if _, err = t.records.present(ctx, id); errors.Is(err, repo.ErrNotFound) {
			return nil, false, nil // or the tree has become a document
		}
	}
	return items, true, err
}

// inOrder returns the nodes that lie below one, and are not being deleted, in depth-first order. It returns more than it
// is given if some lie below themselves.
func inOrder[T any](found []T, top string) []Item[T] {
	children := map[string][]*T{}
	for i := range found {
		if n := nodeOf(&found[i]); n.State != gone {
			children[n.Parent] = append(children[n.Parent], &found[i])
		}
	}
	for _, list := range children { // the last first
		slices.SortFunc(list, func(a, b *T) int {
			return -cmp.Or(cmp.Compare(nodeOf(a).Place, nodeOf(b).Place), cmp.Compare(nodeOf(a).ID, nodeOf(b).ID))
		})
	}
	items, stack := make([]Item[T], 0, len(found)), []Item[*T]{}
	push := func(id string, depth int) {
		for _, child := range children[id] {
			stack = append(stack, Item[*T]{child, depth})
		}
	}
	for push(top, 1); len(stack) > 0 && len(items) <= len(found); {
		last := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		items = append(items, Item[T]{*last.Node, last.Depth})
		push(nodeOf(last.Node).ID, last.Depth+1)
	}
	return items
}
