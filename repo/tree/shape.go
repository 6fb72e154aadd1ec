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

// An Annotated is a node as it is written into a nested list: with First a list begins, and after the node as many
// lists end as Ends says.
type Annotated[T any] struct {
	Item[T]
	First       bool // of its siblings
	HasChildren bool // that are part of the walk
	Ends        int
}

// Annotated is Descendants with what a nested list needs to know of each node.
func (t *Tree[T]) Annotated(ctx context.Context, id string, depth int) iter.Seq2[Annotated[T], error] {
	return annotated(t.Descendants(ctx, id, depth))
}

func annotated[T any](items iter.Seq2[Item[T], error]) iter.Seq2[Annotated[T], error] {
	return func(yield func(Annotated[T], error) bool) {
		var last *Annotated[T]
		for item, err := range items {
			if err != nil {
				yield(Annotated[T]{}, err)
				return
			}
			next := &Annotated[T]{Item: item, First: last == nil || item.Depth > last.Depth}
			if last != nil {
				last.HasChildren, last.Ends = next.First, max(0, last.Depth-item.Depth)
				if !yield(*last, nil) {
					return
				}
			}
			last = next
		}
		if last != nil {
			last.Ends = last.Depth
			yield(*last, nil)
		}
	}
}

// Leaves yields the nodes below a node that have no children, in depth-first order; "" stands for the whole tree.
func (t *Tree[T]) Leaves(ctx context.Context, id string) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for item, err := range t.Annotated(ctx, id, 0) {
			if (err != nil || !item.HasChildren) && !yield(item.Node, err) {
				return
			}
		}
	}
}

// CountChildren returns how many children each node has, in the order of the IDs; "" stands for the roots. The store
// counts as for [repo.Repo.Count], but in trees that are Spread: those are read. As by [Tree.HasChildren] a node that is
// not there has none, and a child that is being deleted counts until it is removed.
func (t *Tree[T]) CountChildren(ctx context.Context, ids ...string) (counts []int, err error) {
	err = t.documents.from(ctx, func(s source[T]) error {
		found, err := together(len(ids), func(i int) ([]int, error) {
			n, err := s.countChildren(ctx, ids[i])
			return []int{n}, err
		})
		if counts = slices.Concat(found...); err == nil && !slices.ContainsFunc(counts, func(n int) bool { return n > 0 }) {
			err = t.guards.known(ctx)
		}
		return err
	})
	if err != nil {
		return nil, t.failed("count children", "", err)
	}
	return counts, nil
}

func (t records[T]) countChildren(ctx context.Context, id string) (int, error) {
	return t.forest.reads.Count(ctx, t.childrenOf(id))
}

func (d *document[T]) countChildren(_ context.Context, id string) (int, error) {
	return len(d.childrenOf(id)), nil
}

// Find returns the node to which a path of names leads, from a root on: the first of the siblings that have the name.
// The name of a node is the field that the schema's Name names.
func (t *Tree[T]) Find(ctx context.Context, names ...string) (found T, err error) {
	if len(names) == 0 {
		return found, t.failed("find", "", fmt.Errorf("no names: %w", repo.ErrInvalid))
	}
	err = t.guards.stable(ctx, func(g *guard) error {
		s, err := t.documents.sourceOf(g)
		if err != nil {
			return err
		}
		found = *new(T)
		parent, last := "", *new(T)
		for i, name := range names {
			rec, ok, err := s.named(ctx, parent, name)
			if err != nil {
				return err
			}
			if !ok {
				return driver.Errorf("below %s no node has the name %q: %w", driver.Private(fmt.Sprintf("%q", names[:i])), driver.Private(name), repo.ErrNotFound)
			}
			last, parent = rec, nodeOf(&rec).ID
		}
		found = last
		return nil
	})
	return found, t.failed("find", "", err)
}

// Lift removes a node and puts its children in its place. Each child is moved by itself, and then the node is deleted:
// so if Lift ends early some children are moved, and calling it again moves the others. Where a unique index refuses a
// child there, as beside the node or a sibling of it with the same name, the others go back: that is ErrExists.
func (t *Tree[T]) Lift(ctx context.Context, id string) error {
	var l lifting
	err := t.documents.either(ctx, func(d *document[T]) error { return d.lift(id) }, func() error { return t.writes.lift(ctx, id, &l) })
	if err = endedByOthers(l.deletes, err); err != nil && len(l.moved) > 0 {
		err = fmt.Errorf("some children were moved, and calling it again moves the others: %w: %w", repo.ErrUnknownOutcome, err)
	}
	return t.failed("lift", id, err)
}

// A lifting says how far a Lift has come.
type lifting struct {
	moved   []*Node // children, as they were
	deletes bool    // the deletion of the node was begun
}

func (t writes[T]) lift(ctx context.Context, id string, l *lifting) error {
	return t.again(ctx, func() error {
		for {
			if _, err := t.guards.settled(ctx); err != nil {
				return err
			}
			// From the last one on, each after the node, so that their order is kept whenever this ends.
			children, err := repo.Collect(t.forest.links.Find(ctx, t.records.lastOf(id).Limit(t.forest.most)))
			if err != nil {
				return err
			}
			if len(children) == 0 {
				if err = t.deleteLeaf(ctx, id, &l.deletes); errors.Is(err, ErrHasChildren) {
					return errAgain // one was inserted meanwhile
				}
				return err
			}
			for i := range children {
				err := t.liftChild(ctx, id, &children[i])
				if errors.Is(err, ErrBelowItself) {
					return errAgain // it was a child
				}
				if e, ok := asError(err); ok && errors.Is(err, repo.ErrExists) && !errors.Is(err, repo.ErrUnknownOutcome) {
					return t.lower(ctx, id, l, e)
				}
				if err != nil {
					return err
				}
				l.moved = append(l.moved, &children[i])
			}
		}
	})
}

// lower brings the children that were moved back below the node, since one of them was refused, but for those that
// others have moved or removed.
func (t writes[T]) lower(ctx context.Context, id string, l *lifting, refused *repo.Error) error {
	for ; len(l.moved) > 0; l.moved = l.moved[:len(l.moved)-1] {
		err := t.again(ctx, func() error { return t.lowerChild(ctx, id, l.moved[len(l.moved)-1]) })
		if err != nil {
			return errors.Join(refused, err)
		}
	}
	out := *refused
	out.Err = fmt.Errorf("a child cannot take the place of the node, and no child has: %w", refused.Err)
	return &out
}

// lowerChild moves a node back that was a child of another one, if it is beside that.
func (t writes[T]) lowerChild(ctx context.Context, id string, was *Node) error {
	g, err := t.guards.settled(ctx)
	if err != nil {
		return err
	}
	parent, err := t.records.present(ctx, id)
	if err != nil {
		return err
	}
	n, err := t.records.present(ctx, was.ID)
	switch {
	case errors.Is(err, repo.ErrNotFound) || err == nil && n.Parent != parent.Parent:
		return nil
	case err != nil:
		return err
	}
	s, err := t.spots.spot(ctx, Under(id), n.ID, nil)
	if err != nil {
		return err
	}
	return t.moveTo(ctx, &g, n, s, nil)
}

// liftChild moves a child of a node after the node.
func (t writes[T]) liftChild(ctx context.Context, id string, child *Node) error {
	was, err := t.guards.settled(ctx)
	if err != nil {
		return err
	}
	var s spot[T]
	if t.forest.order == nil {
		s, err = t.spots.spot(ctx, After(id), child.ID, nil)
	} else if n, failed := t.records.present(ctx, id); failed != nil {
		err = failed
	} else {
		err = t.spots.setParentOf(ctx, &s, n)
	}
	if err != nil {
		return err
	}
	return t.moveTo(ctx, &was, child, s, nil)
}

// apart is ErrBelowItself if a position is below a node.
func (t *Tree[T]) apart(ctx context.Context, id string, pos Position) error {
	at := pos.parent
	if pos.sibling != "" {
		sibling, err := t.Get(ctx, pos.sibling)
		if err != nil {
			return err
		}
		at = nodeOf(&sibling).Parent
	}
	below := at == id
	if at != "" && !below {
		var err error
		if below, err = t.IsBelow(ctx, at, id); err != nil {
			return err
		}
	}
	if below {
		return ErrBelowItself
	}
	return nil
}

// Copy copies a node with all that is below it to a position, and returns how many nodes it made. NewID gives the ID
// of the copy of a node, and is called once for each. The position must not be in the tree below the node, which is
// ErrBelowItself. Fields that T lacks are not copied. Nodes are copied parents first, so that what an error leaves is
// a part of the copy.
func (t *Tree[T]) Copy(ctx context.Context, id string, pos Position, newID func(id string) string) (n int, err error) {
	if newID == nil {
		return 0, t.failed("copy", id, fmt.Errorf("newID is nil: %w", repo.ErrInvalid))
	}
	top, err := t.Get(ctx, id)
	if err == nil {
		err = t.apart(ctx, id, pos)
	}
	if err != nil {
		return 0, t.failed("copy", id, err)
	}
	list := []Item[T]{{Node: top}}
	for item, err := range t.Descendants(ctx, id, 0) {
		if err != nil {
			return 0, t.failed("copy", id, err)
		}
		list = append(list, item)
	}
	copies := map[string]string{}
	for i := range list {
		rec := list[i].Node
		node := nodeOf(&rec)
		if i > 0 {
			pos = Under(copies[node.Parent])
		}
		copies[node.ID] = newID(node.ID)
		node.ID, node.Version = copies[node.ID], repo.Version{}
		if err := t.Insert(ctx, pos, &rec); err != nil {
			return n, t.failed("copy", id, err)
		}
		n++
	}
	return n, nil
}
