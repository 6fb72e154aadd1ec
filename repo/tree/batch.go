package tree

import (
	"cmp"
	"context"
	"errors"

	"github.com/polystore/polystore/repo"
)

// batch does a part of what is pending in one commit, if the guard is still as it was read: who was slow, and does it
// after others have ended it, changes nothing. Where a node is gone or has another version than is asked for, or the
// commit is too large, it does the halves. It returns errAgain if a node had another version.
func (t guards[T]) batch(ctx context.Context, was *guard, list []Node, add func(w repo.Writes[T], n *Node)) error {
	if err := t.writable(); err != nil || len(list) == 0 {
		return err
	}
	g := t.forest.group()
	t.forest.guards.In(g).Check(t.guardKey(), repo.IfVersion(was.Version))
	w := t.forest.nodes.In(g)
	for i := range list {
		add(w, &list[i])
	}
	err := t.forest.done(ctx, g)
	e, ok := asError(err)
	switch {
	case !ok || errors.Is(err, repo.ErrContention) || errors.Is(err, repo.ErrUnknownOutcome):
		return err
	case errors.Is(err, repo.ErrTooLarge) && len(list) > 1:
	case errors.Is(err, repo.ErrConflict) && (len(list) == 1 || e.Collection != t.forest.schema.Collection):
		return errAgain
	case e.Collection != t.forest.schema.Collection:
		return err
	case len(list) == 1 && errors.Is(err, repo.ErrNotFound):
		return nil // it is gone
	case len(list) == 1 || !errors.Is(err, repo.ErrNotFound) && !errors.Is(err, repo.ErrConflict):
		return err
	}
	half := len(list) / 2
	first := t.batch(ctx, was, list[:half], add)
	if first != nil && !errors.Is(first, errAgain) {
		return first
	}
	return cmp.Or(t.batch(ctx, was, list[half:], add), first)
}

// deleteAll removes nodes as they were read: a node that was removed may have been inserted elsewhere since.
func (t guards[T]) deleteAll(ctx context.Context, was *guard, list []Node) error {
	return t.batch(ctx, was, list, func(w repo.Writes[T], n *Node) { w.Delete(n.key(), repo.IfVersion(n.Version)) })
}

// rewrite changes nodes.
func (t guards[T]) rewrite(ctx context.Context, was *guard, list []Node, change func(n *Node)) error {
	fn := func(rec *T) error {
		change(nodeOf(rec))
		return nil
	}
	return t.batch(ctx, was, list, func(w repo.Writes[T], n *Node) { w.Update(n.key(), fn) })
}

// goneChildren says of some children of a node that they are gone, and returns them as they are then.
func (t guards[T]) goneChildren(ctx context.Context, was *guard, id string) (all []Node, err error) {
	var fresh []Node
	for n, err := range t.forest.links.Find(ctx, t.records.childrenOf(id).Limit(t.forest.most)) {
		if err != nil {
			return nil, err
		}
		if all = append(all, n); n.State != gone {
			fresh = append(fresh, n)
		}
	}
	marked := map[string]*Node{}
	err = t.batch(ctx, was, fresh, func(w repo.Writes[T], n *Node) {
		w.Update(n.key(), func(rec *T) error {
			is := nodeOf(rec)
			is.State, marked[n.ID] = gone, is // the commit sets its version
			return nil
		}, repo.IfVersion(n.Version))
	})
	for i := range all {
		if is := marked[all[i].ID]; is != nil {
			all[i].Version = is.Version
		}
	}
	return all, err
}
