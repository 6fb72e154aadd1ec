package tree

import (
	"context"
	"errors"
	"fmt"

	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// A Position is where a node comes to lie. Make one with [Under], [FirstUnder], [Before] or [After].
type Position struct {
	parent  string
	sibling string
	where   byte
}

const (
	atEnd   = 'e'
	atStart = 's'
	before  = 'b'
	after   = 'a'
)

// Under is the position after the last child of a node; "" stands for the roots.
func Under(parent string) Position { return Position{parent: parent, where: atEnd} }

// FirstUnder is the position before the first child of a node; "" stands for the roots.
func FirstUnder(parent string) Position { return Position{parent: parent, where: atStart} }

// Before is the position just before a node, with the same parent.
func Before(sibling string) Position { return Position{sibling: sibling, where: before} }

// After is the position just after a node, with the same parent.
func After(sibling string) Position { return Position{sibling: sibling, where: after} }

// String returns the position for people.
func (p Position) String() string {
	switch p.where {
	case atEnd:
		return fmt.Sprintf("under %q", p.parent)
	case atStart:
		return fmt.Sprintf("first under %q", p.parent)
	case before:
		return fmt.Sprintf("before %q", p.sibling)
	case after:
		return fmt.Sprintf("after %q", p.sibling)
	}
	return "no position"
}

// A spot is a position as it was read: the parent, nil of a root, and the place, "" where siblings are sorted.
type spot[T any] struct {
	parent *Node
	beside *Node // the sibling that the position names
	place  string
	guard  repo.Version // where there is no parent
	keeps  string       // what a node keeps there
	alone  bool         // no other child may come to the parent at the same time
}

func (s *spot[T]) id() string {
	if s.parent == nil {
		return ""
	}
	return s.parent.ID
}

// spots finds spots.
type spots[T any] struct{ *base[T] }

// spot finds a position for a node, which may be there already. Parent is the one that the position names, if it was
// read before.
func (t spots[T]) spot(ctx context.Context, pos Position, id string, parent *Node) (spot[T], error) {
	s := spot[T]{parent: parent}
	low, high := "", ""
	if t.forest.order != nil {
		return t.sortedSpot(ctx, pos, parent)
	}
	sibling := (*Node)(nil)
	switch pos.where {
	case atEnd, atStart:
	case before, after:
		if pos.sibling == id {
			return s, errBesideItself
		}
		var err error
		if sibling, err = t.records.present(ctx, pos.sibling); errors.Is(err, repo.ErrNotFound) {
			err = driver.Errorf("the sibling %q: %w", driver.Private(pos.sibling), repo.ErrNotFound)
		}
		if err != nil {
			return s, err
		}
		pos.parent = sibling.Parent
	default:
		return s, errNoPosition
	}
	var err error // the parent is read before the places
	if sibling != nil {
		err = t.setParentOf(ctx, &s, sibling)
	} else {
		err = t.setParent(ctx, &s, pos.parent)
	}
	if err != nil {
		return s, err
	}
	switch pos.where {
	case atEnd:
		low, err = t.outermost(ctx, pos.parent, id, true)
	case atStart:
		high, err = t.outermost(ctx, pos.parent, id, false)
	default:
		low, high, err = t.beside(ctx, sibling, pos.where, id)
	}
	if err != nil {
		return s, err
	}
	s.beside = sibling
	switch s.place = between(low, high); {
	case s.place == "":
		return s, driver.Errorf("no place between %q and %q: %w", driver.Private(low), driver.Private(high), repo.ErrCorrupt)
	case len(s.place) > longPlace:
		if err := t.makeRoom(ctx, pos.parent, s.place); !errors.Is(err, repo.ErrTooLarge) {
			return s, err
		}
	}
	return s, nil
}

// setParent reads the parent of a spot, unless it is there and open, or the guard in place of one: the places of children do not change but with it.
func (t spots[T]) setParent(ctx context.Context, s *spot[T], id string) (err error) {
	if id != "" {
		if s.parent != nil && s.parent.State == "" && s.parent.Place != "" {
			s.keeps = s.parent.Keeps
			return nil
		}
		if s.parent, err = t.records.open(ctx, id); errors.Is(err, repo.ErrNotFound) {
			err = driver.Errorf("the parent %q: %w", driver.Private(id), repo.ErrNotFound)
		}
		if err == nil {
			s.keeps = s.parent.Keeps
		}
		return err
	}
	g, err := t.guards.guard(ctx)
	if s.guard, s.keeps = g.Version, g.keeps(); err == nil && g.Strategy == Document {
		err = errPacked
	}
	return err
}

// setParentOf is setParent for the parent that a node had when it was read. It returns errAgain if that is gone and the
// node has changed since, as one does that is moved.
func (t spots[T]) setParentOf(ctx context.Context, s *spot[T], n *Node) error {
	refused := t.setParent(ctx, s, n.Parent)
	if !errors.Is(refused, repo.ErrNotFound) {
		return refused
	}
	is, err := t.forest.links.Get(ctx, n.key())
	switch {
	case err != nil && !errors.Is(err, repo.ErrNotFound):
		return err
	case is.Version != n.Version:
		return errAgain
	}
	return refused
}

// sortedSpot finds a position among siblings that have the places of their fields.
func (t spots[T]) sortedSpot(ctx context.Context, pos Position, parent *Node) (s spot[T], err error) {
	if pos.where != atEnd {
		return s, t.unsorted(pos)
	}
	s.parent = parent
	err = t.setParent(ctx, &s, pos.parent)
	return s, err
}

func (t spots[T]) unsorted(pos Position) error {
	return driver.Errorf("position %s: siblings are sorted by %q; want Under: %w", driver.Private(pos.String()), t.forest.schema.Sorted, repo.ErrInvalid)
}

var (
	errBesideItself = fmt.Errorf("a node has no place beside itself: %w", repo.ErrInvalid)
	errNoPosition   = fmt.Errorf("a zero Position; make one with Under, FirstUnder, Before or After: %w", repo.ErrInvalid)
)

// A placed is what the index of children says of one of them.
type placed struct {
	Place string `repo:"place"`
	ID    string `repo:"id"`
}

// outermost returns the place of the last or the first child of a node that is another one than a given node.
func (t spots[T]) outermost(ctx context.Context, parent, but string, last bool) (string, error) {
	var q repo.Query
	if last {
		q = t.records.lastOf(parent)
	} else {
		q = t.records.childrenOf(parent)
	}
	first, err := t.forest.places.First(ctx, q)
	switch {
	case errors.Is(err, repo.ErrNotFound):
		return "", nil
	case err == nil && first.ID == but:
		return t.second(ctx, q, but)
	}
	return first.Place, err
}

// second returns the place of the first child that a query finds which is another one than a given node.
func (t spots[T]) second(ctx context.Context, q repo.Query, but string) (string, error) {
	for p, err := range t.forest.places.Find(ctx, q.Limit(2)) {
		if err != nil || p.ID != but {
			return p.Place, err
		}
	}
	return "", nil
}

// beside returns the bounds of the place before or after a node, another node than a given one beyond it. Where the
// neighbour has the same place, which inserts at the same time make, all of these but one are moved on first.
func (t spots[T]) beside(ctx context.Context, n *Node, where byte, but string) (low, high string, err error) {
	q, own := t.records.childrenOf(n.Parent).AtLeast("place", n.Place).Order("place"), false
	if where == before {
		q = t.records.childrenOf(n.Parent).AtMost("place", n.Place).Order("-place")
	}
	next := ""
	for p, err := range t.forest.places.Find(ctx, q) {
		if err != nil {
			return "", "", err
		}
		if own && p.ID != but {
			next = p.Place
			break
		}
		own = own || p.ID == n.ID
	}
	switch {
	case !own:
		return "", "", errAgain // it was moved meanwhile
	case next == n.Place:
		return "", "", t.part(ctx, n.Parent, n.Place)
	case where == before:
		return next, n.Place, nil
	}
	return n.Place, next, nil
}

// part gives the children of a node that have the same place others, but for the first. If it succeeds it returns
// errAgain, with which the caller looks again.
func (t spots[T]) part(ctx context.Context, parent, place string) error {
	var same []placed
	next := ""
	for p, err := range t.forest.places.Find(ctx, t.records.childrenOf(parent).AtLeast("place", place).Order("place")) {
		if err != nil {
			return err
		}
		if p.Place != place {
			next = p.Place
			break
		}
		same = append(same, p)
	}
	if len(same) < 2 {
		return errAgain // others did it
	}
	return t.replace(ctx, parent, same[1:], evenly(nil, place, next, len(same)-1))
}
