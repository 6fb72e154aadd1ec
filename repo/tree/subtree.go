package tree

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// An Item is a node as a walk through a tree yields it.
type Item[T any] struct {
	Node  T
	Depth int // below the node where the walk began: 1 of its children
}

// held is how many nodes of a walk are held back until it is sure that they are of one state of the tree.
const held = 4096

var (
	errEnded   = errors.New("the loop has ended")
	errChanged = fmt.Errorf("the structure changed while the nodes were read: %w", repo.ErrContention)
)

// Descendants yields what lies below a node in depth-first order, down to a depth; 0 is all of it. "" stands for all
// roots and what lies below them. Of a node that is not there it is ErrNotFound.
//
// What is yielded is of one state of the structure: where a move or a deletion comes in between, the walk begins
// again. A walk of more than some thousand nodes, of which some were yielded, ends with ErrContention then.
func (t *Tree[T]) Descendants(ctx context.Context, id string, depth int) iter.Seq2[Item[T], error] {
	return func(yield func(Item[T], error) bool) {
		if depth < 0 {
			yield(Item[T]{}, t.failed("descendants", id, fmt.Errorf("depth %d: %w", depth, repo.ErrInvalid)))
			return
		}
		items, ok, err := t.following.below(ctx, id, depth)
		if ok || err != nil {
			for _, item := range items {
				if !yield(item, nil) {
					return
				}
			}
			if err != nil {
				yield(Item[T]{}, t.failed("descendants", id, err))
			}
			return
		}
		w := walk[T]{yield: yield}
		err = t.again(ctx, func() error { return t.listing.walk(ctx, &w, id, depth) })
		if err != nil && !errors.Is(err, errEnded) {
			yield(Item[T]{}, t.failed("descendants", id, err))
		}
	}
}

// A walk holds nodes back until they are known to be of one state.
type walk[T any] struct {
	yield func(Item[T], error) bool
	items [][]Item[T] // in parts, so that none is moved to make room
	held  int
	begun bool // some were yielded
}

// The least and the largest part of what a walk holds.
const (
	leastPart   = 16
	largestPart = 256
)

func (w *walk[T]) hold(rec *T, depth int) {
	last := len(w.items) - 1
	if last < 0 || len(w.items[last]) == cap(w.items[last]) {
		last++
		w.items = append(w.items, make([]Item[T], 0, min(leastPart<<last, largestPart)))
	}
	w.items[last] = append(w.items[last], Item[T]{*rec, depth})
	w.held++
}

func (w *walk[T]) drop() { w.items, w.held = nil, 0 }

// walk makes an attempt at a walk: errAgain if it may begin again.
func (t listing[T]) walk(ctx context.Context, w *walk[T], id string, depth int) error {
	w.drop()
	g, err := t.guards.calm(ctx)
	if err != nil {
		return err
	}
	s := strategyOf[T](&g)
	top, err := t.top(ctx, &g, id)
	if errors.Is(err, repo.ErrNotFound) { // or the tree has become a document
		return t.guards.stillSo(ctx, &g, err)
	}
	if err != nil {
		return err
	}
	failed := s.below(ctx, t.base, &g, top, depth, func(rec *T, depth int) error {
		if w.hold(rec, depth); w.held < held {
			return nil
		}
		return t.flush(ctx, w, &g)
	})
	if failed != nil {
		w.drop()
		switch {
		case errors.Is(failed, errAgain) && w.begun:
			return errChanged
		case !errors.Is(failed, repo.ErrNotFound) && !errors.Is(failed, repo.ErrCorrupt): // that may have been moved
			return failed
		}
		if err := t.flush(ctx, w, &g); err != nil {
			return err
		}
		return failed
	}
	return t.flush(ctx, w, &g)
}

// top returns the node where a walk begins, nil for all roots.
func (t listing[T]) top(ctx context.Context, g *guard, id string) (*Node, error) {
	switch {
	case id == "":
		return nil, nil
	case g.Strategy != Document:
		return t.records.present(ctx, id)
	}
	d, err := t.documents.documentOf(g)
	if err != nil {
		return nil, err
	}
	i, err := d.must(id)
	if err != nil {
		return nil, err
	}
	return d.node(i), nil
}

// flush yields what is held back if the structure is as it was.
func (t listing[T]) flush(ctx context.Context, w *walk[T], was *guard) error {
	still, err := t.guards.isStill(ctx, was)
	switch {
	case err != nil:
		return err
	case still:
	case w.begun:
		return errChanged
	default:
		return errAgain
	}
	for _, part := range w.items {
		for i := range part {
			if w.begun = true; !w.yield(part[i], nil) {
				return errEnded
			}
		}
	}
	w.drop()
	return nil
}

// Count returns how many nodes lie below a node; "" stands for the whole tree.
func (t *Tree[T]) Count(ctx context.Context, id string) (int, error) {
	n := 0
	for _, err := range t.Descendants(ctx, id, 0) {
		if err != nil {
			return 0, t.failed("count", id, err)
		}
		n++
	}
	return n, nil
}

// DeleteSubtree removes a node with all that is below it. From the first commit on the node is gone for all readers
// who come to it from above; nodes below it may be found by their ID until the call returns. If the call ends early,
// the next one that changes the structure does the rest.
func (t *Tree[T]) DeleteSubtree(ctx context.Context, id string) error {
	err := t.documents.either(ctx, func(d *document[T]) error { return d.delete(id, false) }, func() error { return t.writes.deleteSubtree(ctx, id) })
	return t.failed("delete subtree", id, err)
}

func (t writes[T]) deleteSubtree(ctx context.Context, id string) error {
	return t.again(ctx, func() error {
		was, err := t.guards.settled(ctx)
		if err != nil {
			return err
		}
		n, err := t.records.present(ctx, id)
		if err != nil {
			return err
		}
		g := t.forest.group()
		t.guards.decide(g, &was, &pending{Do: doRemove, Node: id, From: n.Path})
		t.forest.nodes.In(g).Update(n.key(), func(rec *T) error {
			nodeOf(rec).State = gone
			return nil
		}, repo.IfVersion(n.Version))
		if err := t.commit(ctx, g, id); err != nil {
			return err
		}
		_, err = t.guards.settled(ctx)
		return decided(err)
	})
}

// finish ends the pending change of a guard, which others may end, too.
func (t guards[T]) finish(ctx context.Context, was *guard) error {
	p := was.Pending
	if err := t.writable(); err != nil {
		return driver.Errorf("a %s of %q was left half done, which a program that opens the forest ends: %w", p.Do, driver.Private(p.Node), err)
	}
	if p.Do == doConvert && !t.forest.schema.has(p.Strategy) {
		return fmt.Errorf("the tree is being converted to %q, which the schema lacks; name it in Also: %w", p.Strategy, repo.ErrSchema)
	}
	if p.Do == doConvert || p.Do == doForget || p.Do == doErase {
		return t.conversion.finishConversion(ctx, was)
	}
	if p.Do != doNumber || was.Strategy == NestedSets {
		if err := strategyOf[T](was).finish(ctx, t.base, was); err != nil {
			return err
		}
	}
	g := t.forest.group()
	t.decide(g, was, nil)
	if p.Do == doRemove {
		t.forest.nodes.In(g).Delete(t.key(p.Node))
	}
	err := t.forest.done(ctx, g)
	if !errors.Is(err, repo.ErrContention) && (errors.Is(err, repo.ErrConflict) || errors.Is(err, repo.ErrNotFound)) {
		return nil // others did it
	}
	return err
}
