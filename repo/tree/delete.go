package tree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// Delete removes a node that has no children, else it is ErrHasChildren.
func (t *Tree[T]) Delete(ctx context.Context, id string) error {
	begun := false
	err := t.documents.either(ctx, func(d *document[T]) error { return d.delete(id, true) }, func() error { return t.writes.deleteLeaf(ctx, id, &begun) })
	return t.failed("delete", id, endedByOthers(begun, err))
}

// endedByOthers is the error of a deletion, none if it was begun and the node is gone: the tree may have become a document
// since, which does not say who removed the node.
func endedByOthers(begun bool, err error) error {
	if begun && errors.Is(err, repo.ErrNotFound) && !errors.Is(err, repo.ErrUnknownOutcome) {
		return nil
	}
	return err
}

// deleteLeaf closes the node, so that no child comes any more, looks whether it has one, and removes it or opens it
// again. Whoever else meets a closed node does the rest of this, too. It says whether it has begun.
func (t writes[T]) deleteLeaf(ctx context.Context, id string, begun *bool) error {
	was, err := t.guards.settled(ctx)
	if err == nil && was.Strategy == Document {
		err = errPacked
	}
	if err != nil {
		return err
	}
	rec, err := t.forest.nodes.Update(ctx, t.key(id), func(rec *T) error {
		n := nodeOf(rec)
		if n.State == gone {
			return errGone
		}
		if !n.isClosing() { // for another deletion
			n.State = closing + driver.NewToken().String()
		}
		return nil
	})
	if err != nil {
		return err
	}
	closed := nodeOf(&rec).Kept
	*begun = true
	return decided(t.again(ctx, func() error {
		n := nodeOf(&rec)
		err := t.endClosing(ctx, n)
		if !errors.Is(err, errAgain) {
			return err
		}
		// Another ended it or changed a field.
		rec, err = t.forest.reads.Get(ctx, t.key(id))
		if errors.Is(err, repo.ErrNotFound) || err == nil && n.State == "" {
			if is, failed := t.guards.guard(ctx); failed != nil || is.Conversions != was.Conversions {
				return cmp.Or(failed, errPacked) // where it may have come back from with no state
			}
		}
		switch {
		case errors.Is(err, repo.ErrNotFound):
			return nil // another ended this deletion
		case err != nil:
			return err
		case n.State == closed.State:
			return errAgain
		case n.State == gone:
			return nil // another deletes it, with what is above it
		case n.wasRefused(closed.State):
			return ErrHasChildren // as another saw
		case strings.Count(n.Refused, closing) < mostRefused:
			return nil // another ended this deletion, and a node with the same ID was inserted
		}
		return errMeddled
	}))
}

// errMeddled says that others were refused a deletion of the node, or of one that was inserted after this deletion.
var errMeddled = fmt.Errorf("others deleted and inserted the node: %w", repo.ErrContention)

// decided is the error of a change that was decided before, so that the next change of the tree ends it.
func decided(err error) error {
	if err == nil || errors.Is(err, ErrHasChildren) || errors.Is(err, repo.ErrTooLarge) || errors.Is(err, repo.ErrUnknownOutcome) || errors.Is(err, errPacked) || errors.Is(err, errMeddled) {
		return err
	}
	return fmt.Errorf("it was begun, and whoever comes next may end it: %w: %w", repo.ErrUnknownOutcome, err)
}

// endClosing removes a closing node if it has no children, else it opens it and returns ErrHasChildren. The removal is
// a change of the structure: a node that is inserted with the same ID comes after it for all who count changes.
func (t writes[T]) endClosing(ctx context.Context, n *Node) error {
	is, err := t.guards.settled(ctx)
	if err != nil {
		return err
	}
	has, err := t.records.hasChild(ctx, n.ID)
	if err != nil {
		return err
	}
	if !has {
		g := t.forest.group()
		t.guards.decide(g, &is, nil)
		t.forest.nodes.In(g).Delete(n.key(), repo.IfVersion(n.Version))
		return t.commit(ctx, g, n.ID)
	}
	_, err = t.forest.nodes.Update(ctx, n.key(), func(rec *T) error {
		is := nodeOf(rec)
		is.refuse()
		return nil
	}, repo.IfVersion(n.Version))
	switch {
	case err == nil:
		return ErrHasChildren
	case errors.Is(err, repo.ErrConflict) && !errors.Is(err, repo.ErrContention), errors.Is(err, repo.ErrNotFound):
		return errAgain
	}
	return err
}

// hasChild reports whether a node has a child, whatever its state.
func (t records[T]) hasChild(ctx context.Context, id string) (bool, error) {
	for _, err := range t.forest.places.Find(ctx, t.childrenOf(id).Limit(1)) {
		return err == nil, err
	}
	return false, nil
}
