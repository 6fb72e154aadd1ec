package tree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/limit"
	"github.com/polystore/polystore/repo/internal/store"
)

// Insert adds a node at a position. The record's ID must be set, and new in the tree; Insert sets the other fields of
// its Node. Errors: ErrExists if the tree has the ID, ErrNotFound if it lacks the node that the position names.
// Inserts below different parents do not meet, and those below one parent only begin again where the parent changed.
func (t *Tree[T]) Insert(ctx context.Context, pos Position, rec *T) error {
	if rec == nil {
		return t.failed("insert", "", fmt.Errorf("the record is a nil pointer: %w", repo.ErrInvalid))
	}
	n := nodeOf(rec)
	if n.ID == "" {
		return t.failed("insert", "", fmt.Errorf("a node without an ID: %w", repo.ErrInvalid))
	}
	if !n.Version.IsZero() {
		return t.failed("insert", n.ID, fmt.Errorf("the record has a version, as one that was read or inserted has; Update changes the node, and Move its position; clear the version to insert a copy: %w", repo.ErrInvalid))
	}
	var paper *document[T]
	err := t.documents.either(ctx, func(d *document[T]) error {
		paper = d
		return d.insert(pos, rec)
	}, func() error {
		paper = nil
		return t.writes.insert(ctx, pos, rec)
	})
	if err == nil && paper != nil {
		n.Version = paper.version
	}
	return t.failed("insert", n.ID, err)
}

// writes changes nodes that are records.
type writes[T any] struct{ *base[T] }

func (t writes[T]) insert(ctx context.Context, pos Position, rec *T) error {
	n := nodeOf(rec)
	return t.again(ctx, func() error {
		ctx := ctx
		if t.forest.uncertain {
			ctx = store.NewRecall().Checks(ctx)
		}
		s, is, err := t.quietSpot(ctx, pos, n.ID)
		if err != nil {
			return err
		}
		if s.id() == n.ID {
			return repo.ErrExists
		}
		n.Tree, n.Parent, n.Kept = t.name, s.id(), Kept{Place: s.place}
		if t.forest.order != nil {
			if n.Place, err = t.forest.order.placeOf(rec); err != nil {
				return err
			}
		}
		n.derive(s.parent, s.keeps)
		if n.isNumbered() {
			if err := t.numbering.number(ctx, &is, n, s.parent); err != nil {
				return err
			}
		}
		g := t.forest.group()
		t.forest.nodes.In(g).Insert(rec)
		t.join(g, &s, &is)
		return t.guards.unlessRemoved(ctx, n.tooDeep(t.commit(ctx, g, n.ID)))
	})
}

// tooDeep says of an error that the node is refused for its depth, if it is.
func (n *Node) tooDeep(err error) error {
	if !errors.Is(err, repo.ErrTooLarge) {
		return err
	}
	if long := n.tooLong(); long != nil {
		return long
	}
	key, _ := driver.AppendParts(nil, []driver.Column{{Name: "path", Kind: driver.String}}, []driver.Value{driver.StringValue(n.Path)})
	if len(key)+len(n.Tree)+len(n.ID) < limit.MaxKey*9/10 && len(n.Ancestors) < limit.MaxRows*9/10 {
		return err
	}
	return fmt.Errorf("the node would lie too deep, or the IDs down to it are too long; Convert the tree to a strategy without that bound: %w", err)
}

// quietSpot is spot and, where nodes are strict, the guard after what was pending and before the spot.
func (t writes[T]) quietSpot(ctx context.Context, pos Position, id string) (s spot[T], is guard, err error) {
	if s, err = t.spots.spot(ctx, pos, id, nil); err != nil || !isStrict(s.keeps) {
		return s, is, err
	}
	if is, err = t.guards.settled(ctx); err == nil && is.Strategy == Document {
		err = errPacked
	}
	if err == nil {
		s, err = t.spots.spot(ctx, pos, id, nil)
	}
	return s, is, err
}

// join adds to a group that the parent of a spot, or the guard where there is none, is as it was read, and the sibling.
func (t writes[T]) join(g *repo.Group, s *spot[T], is *guard) {
	nodes, guards := t.forest.nodes.In(g), t.forest.guards.In(g)
	if s.beside != nil {
		nodes.Check(s.beside.key(), repo.IfVersion(s.beside.Version))
	}
	switch {
	case isStrict(s.keeps) && s.parent == nil:
		t.guards.decide(g, is, nil)
	case isStrict(s.keeps): // two inserts at the same time would take the same numbers
		nodes.Update(s.parent.key(), func(*T) error { return nil }, repo.IfVersion(s.parent.Version))
		guards.Check(t.guards.guardKey(), repo.IfVersion(is.Version))
	case s.parent != nil:
		nodes.Check(s.parent.key(), repo.IfVersion(s.parent.Version))
	case s.guard.IsZero(): // the first node of the tree
		guards.Insert(&guard{Tree: t.name, Strategy: t.forest.schema.Strategy})
	default:
		guards.Check(t.guards.guardKey(), repo.IfVersion(s.guard))
	}
}

// errAgain says that others were faster with what a write was decided by.
var errAgain = errors.New("others were faster")

// again calls try until the error is another one than errAgain.
func (t *base[T]) again(ctx context.Context, try func() error) error {
	if err := t.made(); err != nil {
		return err
	}
	for n := range mostTries {
		if err := store.Pause(ctx, n); err != nil {
			return err
		}
		if err := try(); !errors.Is(err, errAgain) {
			return err
		}
	}
	return errBusy
}

// commit commits a group by which a node comes to be or is changed. What it met at other nodes, or at the guard, has
// changed since it was read.
func (t writes[T]) commit(ctx context.Context, g *repo.Group, id string) error {
	err := t.forest.done(ctx, g)
	e, ok := asError(err)
	if !ok || errors.Is(err, repo.ErrUnknownOutcome) || errors.Is(err, repo.ErrContention) {
		return err
	}
	own := e.Collection == t.forest.schema.Collection && id != ""
	if errors.Is(err, repo.ErrConflict) || errors.Is(err, repo.ErrNotFound) || errors.Is(err, repo.ErrExists) && !own {
		return errAgain
	}
	return err
}

// Update changes a node by fn, as [repo.Repo.Update] does. Fn must leave the fields of [Node] alone: that is
// ErrInvalid. Fn must not write the tree: Update may begin again after each such write, and is ErrContention then.
func (t *Tree[T]) Update(ctx context.Context, id string, fn func(*T) error) (T, error) {
	var rec T
	if fn == nil {
		return rec, t.failed("update", id, fmt.Errorf("the function is nil: %w", repo.ErrInvalid))
	}
	var paper *document[T]
	err := t.documents.either(ctx, func(d *document[T]) (err error) {
		paper = d
		rec, err = d.update(id, fn)
		return err
	}, func() (err error) {
		paper = nil
		return t.again(ctx, func() error {
			rec, err = t.writes.update(ctx, id, fn)
			return t.guards.unlessRemoved(ctx, err)
		})
	})
	if err == nil && paper != nil {
		nodeOf(&rec).Version = paper.version
	}
	return rec, t.failed("update", id, err)
}

func (t writes[T]) update(ctx context.Context, id string, fn func(*T) error) (T, error) {
	var met *Node
	rec, err := t.forest.nodes.Update(ctx, t.key(id), func(rec *T) error {
		switch met = nodeOf(rec); {
		case met.isPacked():
			return errPacked
		case met.isClosing():
			return errClosing
		}
		if err := t.changed(rec, fn); err != nil || t.forest.order == nil {
			return err
		}
		place, err := t.forest.order.placeOf(rec)
		if err == nil && place != nodeOf(rec).Place {
			return errReorder
		}
		return err
	})
	switch {
	case errors.Is(err, errReorder):
		return t.reorder(ctx, id, fn)
	case errors.Is(err, errClosing): // else the deletion would take the change with it
		if err := t.endClosing(ctx, met); err != nil && !errors.Is(err, errAgain) && !errors.Is(err, ErrHasChildren) {
			return rec, err
		}
		return rec, errAgain
	}
	return rec, err
}

var (
	errReorder = errors.New("the node gets another place")
	errClosing = errors.New("the node is closing")
)

// changed changes a record by a function, but for what is the tree's.
func (t writes[T]) changed(rec *T, fn func(*T) error) error {
	was := *nodeOf(rec)
	if was.State == gone {
		return errGone
	}
	if err := fn(rec); err != nil {
		return err
	}
	if !nodeOf(rec).same(&was) {
		return fmt.Errorf("the function changed a field of the Node; a node moves by Move: %w", repo.ErrInvalid)
	}
	return nil
}

var errGone = fmt.Errorf("the node is being deleted: %w", repo.ErrNotFound)

// Move brings a node, with all that is below it, to a position. Errors: ErrNotFound if the tree lacks the node or the
// one that the position names, ErrBelowItself if the position is below the node.
func (t *Tree[T]) Move(ctx context.Context, id string, pos Position) error {
	err := t.documents.either(ctx, func(d *document[T]) error { return d.move(id, pos) }, func() error { return t.writes.move(ctx, id, pos) })
	return t.failed("move", id, err)
}

func (t writes[T]) move(ctx context.Context, id string, pos Position) error {
	return t.again(ctx, func() error {
		read := store.NewRecall()
		changed := read.Changes(ctx)
		g, err := t.guards.settled(changed)
		if err != nil {
			return err
		}
		n, parent, err := t.records.pair(changed, id, pos.parent)
		if err != nil {
			return err
		}
		s, err := t.spots.spot(t.checks(ctx, read), pos, id, parent)
		if err != nil {
			return err
		}
		return t.moveTo(read.Writes(ctx), &g, n, s, nil)
	})
}

// checks is the context of the reads of what a write only checks: where the outcome of every commit is known it needs
// nothing but the version.
func (t *base[T]) checks(ctx context.Context, r *store.Recall) context.Context {
	if t.forest.uncertain {
		return r.Checks(ctx)
	}
	return ctx
}

// moveTo moves a node, if the structure is as the guard says.
func (t writes[T]) moveTo(ctx context.Context, was *guard, n *Node, s spot[T], e *edit[T]) error {
	if n.Keeps != was.Strategy.keeps() {
		return t.guards.foreign(ctx, was, n)
	}
	if s.id() == n.ID {
		return t.guards.stillSo(ctx, was, ErrBelowItself)
	}
	if n.Parent != s.id() {
		strategy := strategyOf[T](was)
		if err := strategy.outside(ctx, t.base, n, s.parent); err != nil {
			return t.guards.stillSo(ctx, was, err)
		}
	}
	if more, err := t.write(ctx, was, n, s, e); err != nil || !more {
		return err
	}
	is, err := t.guards.settled(ctx)
	if err == nil && slices.Contains(is.Undone, was.Changes+1) {
		return fmt.Errorf("what lies below the node would lie too deep there; Convert the tree to a strategy without that bound: %w", repo.ErrTooLarge)
	}
	return decided(err)
}

// write writes a node at another spot, with an edit if that is not nil, and reports whether more is to be written then.
func (t writes[T]) write(ctx context.Context, was *guard, n *Node, s spot[T], e *edit[T]) (more bool, err error) {
	if n.State == gone {
		return false, errAgain // its removal was decided since the guard was read
	}
	next := *n
	next.Parent, next.Place = s.id(), cmp.Or(s.place, n.Place)
	next.derive(s.parent, n.Keeps)
	strategy := strategyOf[T](was)
	g := t.forest.group()
	p := strategy.moves(n, &next)
	if p != nil && e != nil {
		p.Had, p.Hadnt, p.Has = e.had, e.hadnt, e.has
	}
	if p != nil && was.Pending != nil && was.Pending.From != p.To {
		p.Late = was.Pending.From
	}
	t.guards.decide(g, was, p)
	if is := repo.IfVersion(n.Version); e != nil && e.back != nil { // with fields that T lacks
		t.forest.whole.In(g).Update(n.key(), func(rec *map[string]any) error {
			e.back.restore(*rec)
			next.addTo(*rec)
			return nil
		}, is)
	} else {
		t.forest.nodes.In(g).Update(n.key(), func(rec *T) error {
			if e != nil {
				*rec = *e.to
			}
			nodeOf(rec).Parent, nodeOf(rec).Kept = next.Parent, next.Kept
			return nil
		}, is)
	}
	switch {
	case s.parent == nil:
	case s.alone:
		t.forest.nodes.In(g).Update(s.parent.key(), func(*T) error { return nil }, repo.IfVersion(s.parent.Version))
	default:
		t.forest.nodes.In(g).Check(s.parent.key(), repo.IfVersion(s.parent.Version))
	}
	return p != nil, next.tooDeep(t.commit(ctx, g, n.ID))
}
