package tree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/store"
)

// A guard is the record of a tree. It lies with the nodes, and each change of the structure that is more than a new
// leaf or one leaf less writes it, in one commit with what it decides: so of two such changes at the same time one
// begins again. While a change takes several commits, Pending says which it is, and who comes next ends it.
type guard struct {
	Tree    string       `repo:"tree"`
	Version repo.Version `repo:",version"`
	Changes int64        `repo:"changes"` // of the structure
	Undone  []int64      `repo:"undone"`  // the last of the changes that could not be done and were taken back
	Pending *pending     `repo:"pending"`

	Strategy Strategy         `repo:"strategy"`
	Nodes    []map[string]any `repo:"nodes"` // of Document, in depth-first order

	Conversions int64 `repo:"conversions"` // to and from a document

	Sorted []string `repo:"sorted"` // of the guard without a tree: the schema's

	oneState bool // what was read since the guard was is of one state of the structure, whatever the guard is now
}

// A guardVersion is what tells whether a guard is as it was.
type guardVersion struct {
	Version repo.Version `repo:",version"`
}

// A pending change is decided, and not all of its records are written.
type pending struct {
	Do   string `repo:"do"`
	Node string `repo:"node"`
	From string `repo:"from,omitempty"` // the path that nodes below Node may still have
	Late string `repo:"late,omitempty"` // another such path, of a move that was taken back
	To   string `repo:"to,omitempty"`   // the path that they are to have

	Place string         `repo:"place,omitempty"` // that Node had
	Had   map[string]any `repo:"had"`             // the fields that changed with the place, as Node had them
	Hadnt []string       `repo:"hadnt"`           // and those that it did not have
	Has   map[string]any `repo:"has"`             // the fields of these two that Node has since

	Strategy Strategy `repo:"strategy,omitempty"`

	Above []string `repo:"above"` // the ancestors that Node has, of Ancestors
	Was   []string `repo:"was"`   // the ancestors that Node had, from the root on
}

// mostUndone is how many changes the guard remembers that were taken back.
const mostUndone = 32

// What a pending change does.
const (
	doRemove = "remove" // Node and what is below it
	doMove   = "move"   // what is below Node, which is moved
	doNumber = "number" // Node and what is below it get numbers, or all nodes if it is ""

	doConvert = "convert" // all nodes get what Strategy keeps, which is that of the tree then
	doForget  = "forget"  // all nodes lose what Strategy keeps
	doErase   = "erase"   // the records of all nodes are removed: the tree is a document
)

// guards reads and writes the guard of a tree.
type guards[T any] struct{ *base[T] }

func (t guards[T]) guardKey() repo.Key { return repo.Key{t.boxed} }

// guard reads the guard. A tree that never had a node has none: then its version is zero.
func (t guards[T]) guard(ctx context.Context) (guard, error) {
	if err := t.made(); err != nil {
		return guard{}, err
	}
	g, err := t.forest.guards.Get(ctx, t.guardKey())
	if errors.Is(err, repo.ErrNotFound) {
		return guard{Tree: t.name, Strategy: t.forest.schema.Strategy}, nil
	}
	if err == nil && !t.forest.schema.has(g.Strategy) {
		err = fmt.Errorf("the tree is one of %q, which the schema lacks; name it in Also: %w", g.Strategy, repo.ErrSchema)
	}
	return g, err
}

// isStill reports whether the guard is as it was read.
func (t guards[T]) isStill(ctx context.Context, was *guard) (bool, error) {
	is, err := t.forest.versions.Get(ctx, t.guardKey())
	if errors.Is(err, repo.ErrNotFound) {
		err = nil
	}
	return is.Version == was.Version, err
}

// known is ErrSchema if a tree without nodes has them where the schema does not look.
func (t guards[T]) known(ctx context.Context) error {
	if t.forest.schema.has(Document) {
		return nil
	}
	if _, err := t.guard(ctx); errors.Is(err, repo.ErrSchema) {
		return err
	}
	return nil
}

// Settle ends a change of the structure that a program left half done when it ended. Whoever changes the structure
// next does so anyway.
func (t *Tree[T]) Settle(ctx context.Context) error {
	_, err := t.guards.settled(ctx)
	return t.failed("settle", "", err)
}

// settled is guard after a change that was pending has been ended.
func (t guards[T]) settled(ctx context.Context) (guard, error) {
	g, _, err := t.settle(ctx)
	return g, err
}

// A takenBack says why a change was not done that was decided.
type takenBack struct{ error }

func (e takenBack) Unwrap() error { return e.error }

// settle is settled, and says why a conversion was taken back.
func (t guards[T]) settle(ctx context.Context) (g guard, back error, err error) {
	for same := 0; ; { // times that a change was found pending as before
		was := g.Version
		g, err = t.guard(ctx)
		if err != nil || g.Pending == nil {
			return g, back, err
		}
		if same++; g.Version != was {
			same = 0
		}
		if same == mostTries {
			return g, back, driver.Errorf("a %s of %q was begun, and %d attempts to end it failed: %w", g.Pending.Do, driver.Private(g.Pending.Node), mostTries, repo.ErrContention)
		}
		if err := store.Pause(ctx, same); err != nil {
			return g, back, err
		}
		err = t.finish(ctx, &g)
		if why, ok := errors.AsType[takenBack](err); ok {
			back, err = why.error, nil
		}
		if errors.Is(err, repo.ErrTooLarge) && g.Pending.Do == doMove {
			err = t.takeBack(ctx, &g)
		}
		if errors.Is(err, repo.ErrNotFound) || errors.Is(err, repo.ErrCorrupt) {
			err = t.stillSo(ctx, &g, err) // others may have ended it, and changed the tree since
		}
		if err != nil && !errors.Is(err, errAgain) {
			return g, back, err
		}
	}
}

// calm is the guard as a reader needs it: numbers are right only when nothing is pending.
func (t guards[T]) calm(ctx context.Context) (guard, error) {
	g, err := t.guard(ctx)
	if err == nil && g.Strategy == NestedSets && g.Pending != nil {
		return t.settled(ctx)
	}
	return g, err
}

// decide adds to a group that the guard is still as it was read, and counts a change, which may then be pending.
// What it returns has the version of the guard when the group was committed.
func (t guards[T]) decide(g *repo.Group, was *guard, p *pending) *guard {
	next := *was
	next.Changes++
	next.Pending = p
	if was.Version.IsZero() {
		t.forest.guards.In(g).Insert(&next)
		return &next
	}
	t.forest.guards.In(g).Replace(&next, repo.IfVersion(was.Version))
	return &next
}

// forgo notes that the pending change is not done.
func (g *guard) forgo() {
	g.Undone = append(slices.Clone(g.Undone[max(0, len(g.Undone)-mostUndone+1):]), g.Changes)
}

// takeBack decides that a node goes back from where what is below it has no room: to its old place or, where a unique
// index has another node there by now, below the next ancestor. The old parent is there, since who removes it ends this
// first, and who has closed it looks for children after this.
func (t guards[T]) takeBack(ctx context.Context, was *guard) error {
	p := was.Pending
	undone := *was
	undone.forgo()
	n, err := t.forest.links.Get(ctx, t.key(p.Node))
	if errors.Is(err, repo.ErrNotFound) { // as if another program had deleted the record
		g := t.forest.group()
		t.decide(g, &undone, nil)
		return t.writes.commit(ctx, g, "")
	}
	if err != nil {
		return err
	}
	var restore *edit[T]
	if t.forest.order != nil {
		restore = &edit[T]{back: p}
	}
	for i := len(p.Was) - 1; ; i-- {
		s := spot[T]{place: p.Place}
		if i >= 0 {
			s.parent, err = t.records.present(ctx, p.Was[i])
			if errors.Is(err, repo.ErrNotFound) {
				continue
			}
			if err != nil {
				return err
			}
		}
		if i < len(p.Was)-1 && restore == nil {
			low, err := t.spots.outermost(ctx, s.id(), n.ID, true)
			if err != nil {
				return err
			}
			s.place = between(low, "")
		}
		if _, err = t.writes.write(ctx, &undone, &n, s, restore); !errors.Is(err, repo.ErrExists) || i < 0 {
			return err
		}
	}
}

// stillSo returns what is wrong, or errAgain if the structure has changed since it was read: then the nodes may have
// been read at different times.
func (t guards[T]) stillSo(ctx context.Context, was *guard, refused error) error {
	is, err := t.guard(ctx)
	switch {
	case err != nil:
		return err
	case is.Version != was.Version:
		return errAgain
	}
	return refused
}

// foreign is ErrCorrupt for a node that does not keep what those of the strategy do though nothing is pending, or
// errAgain if it does now.
func (t guards[T]) foreign(ctx context.Context, was *guard, n *Node) error {
	is, err := t.forest.links.Get(ctx, n.key())
	if errors.Is(err, repo.ErrNotFound) || err == nil && is.Version != n.Version {
		return errAgain
	}
	return cmp.Or(err, t.stillSo(ctx, was, fmt.Errorf("its fields do not follow from its parent, as if another program had put it; see Repair, which needs its parent to be there: %w", repo.ErrCorrupt)))
}

// unlessRemoved returns the error of a write, or errAgain if what was in its way may have been what another program
// began to remove, and is removed now.
func (t guards[T]) unlessRemoved(ctx context.Context, failed error) error {
	if !errors.Is(failed, repo.ErrExists) {
		return failed
	}
	is, err := t.guard(ctx)
	if err != nil || is.Pending == nil || is.Pending.Do != doRemove {
		return cmp.Or(err, failed)
	}
	_, err = t.settled(ctx)
	return cmp.Or(err, errAgain)
}

// stable calls read until the structure is the same before and after it, or what was read is of one state by itself.
func (t guards[T]) stable(ctx context.Context, read func(g *guard) error) error {
	return t.again(ctx, func() error {
		before, err := t.calm(ctx)
		if err != nil {
			return err
		}
		failed := read(&before)
		if failed == nil && before.oneState {
			return nil
		}
		still, err := t.isStill(ctx, &before)
		switch {
		case err != nil:
			return err
		case still:
			return failed
		case failed != nil && !errors.Is(failed, repo.ErrNotFound) && !errors.Is(failed, repo.ErrCorrupt):
			return failed
		}
		return errAgain
	})
}
