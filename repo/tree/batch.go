package tree

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/internal/store"
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

// A named is a node of which no more is known than that it is there.
type named struct {
	Tree string `repo:"tree"`
	ID   string `repo:"id"`
}

// leave changes the nodes that an index finds by a query, but that of the pending change, so that it finds them no more;
// some at a time, until there is none. That is for the rows of the index to say. Of rows that were read before others
// changed the nodes, none may be left when the nodes are read, though a child of one of them came in between.
func (t guards[T]) leave(ctx context.Context, was *guard, q repo.Query, has func(*Node) bool, change func(list []Node) error) error {
	for stray := 0; stray < mostTries; {
		var keys []repo.Key
		for n, err := range t.forest.names.Find(ctx, q.Limit(t.forest.most+1)) {
			if err != nil {
				return err
			}
			if n.ID != was.Pending.Node && len(keys) < t.forest.most {
				keys = append(keys, t.key(n.ID))
			}
		}
		if len(keys) == 0 {
			return nil
		}
		list, _, err := t.forest.links.GetMany(ctx, keys)
		if err != nil {
			return err
		}
		if list = slices.DeleteFunc(list, func(n Node) bool { return n.ID == "" || !has(&n) }); len(list) > 0 {
			stray = 0
			if err := change(list); err != nil {
				return err
			}
			continue
		}
		stray++ // others were faster, or an index has rows without records
		if err := store.Pause(ctx, stray); err != nil {
			return err
		}
	}
	return nil
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
