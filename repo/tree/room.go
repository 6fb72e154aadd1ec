package tree

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/polystore/polystore/repo"
)

// Places between the same two nodes get longer with each node that comes there, by a byte for about six of them. Where
// one would be longer than longPlace, the nodes around it get other places, as many as it takes for these to be no
// longer than shortPlace. Nodes change their places one by one, in an order that keeps theirs: so each step is a
// change of the structure like any, and nothing is pending when the program ends in between.
const (
	longPlace  = 24
	shortPlace = 12
	fewest     = 32 // nodes at first, and twice as many then
)

// makeRoom gives the children of a node around a place others. If it succeeds it returns errAgain, with which the
// caller looks again.
func (t spots[T]) makeRoom(ctx context.Context, parent, place string) error {
	for n := fewest; ; n *= 2 {
		before, err := t.around(ctx, t.records.childrenOf(parent).AtMost("place", place).Order("-place"), n)
		if err != nil {
			return err
		}
		after, err := t.around(ctx, t.records.childrenOf(parent).AtLeast("place", place).Order("place"), n)
		if err != nil {
			return err
		}
		low, high := "", ""
		if len(before) > n {
			low, before = before[n].Place, before[:n]
		}
		if len(after) > n {
			high, after = after[n].Place, after[:n]
		}
		slices.Reverse(before)
		list := append(before, after...)
		fresh := evenly(nil, low, high, len(list))
		if longest(fresh) > shortPlace && (low != "" || high != "") {
			continue
		}
		return t.replace(ctx, parent, list, fresh)
	}
}

// around returns a child more than a number, if there are so many.
func (t spots[T]) around(ctx context.Context, q repo.Query, n int) ([]placed, error) {
	return repo.Collect(t.forest.places.Find(ctx, q.Limit(n+1)))
}

func longest(places []string) (n int) {
	for _, p := range places {
		n = max(n, len(p))
	}
	return n
}

// evenly appends places between two.
func evenly(dst []string, low, high string, n int) []string {
	switch {
	case n == 0:
		return dst
	case high == "":
		for range n {
			low = between(low, "")
			dst = append(dst, low)
		}
		return dst
	case low == "":
		for range n {
			high = between("", high)
			dst = append(dst, high)
		}
		slices.Reverse(dst[len(dst)-n:])
		return dst
	}
	mid, left := between(low, high), (n-1)/2
	dst = append(evenly(dst, low, mid, left), mid)
	return evenly(dst, mid, high, n-1-left)
}

// replace gives children their new places: those that go back from the first on, and those that go on from the last.
func (t spots[T]) replace(ctx context.Context, parent string, list []placed, fresh []string) error {
	for i := range list {
		if fresh[i] < list[i].Place {
			if err := t.shift(ctx, parent, &list[i], fresh[i]); err != nil {
				return err
			}
		}
	}
	for i := len(list) - 1; i >= 0; i-- {
		if fresh[i] > list[i].Place {
			if err := t.shift(ctx, parent, &list[i], fresh[i]); err != nil {
				return err
			}
		}
	}
	return errAgain
}

// shift gives a child another place, up to which there is no other child. It writes the parent, so that an insert that
// has read the places before begins again. It returns errAgain if the child or its neighbours are no longer as they
// were.
func (t spots[T]) shift(ctx context.Context, parent string, p *placed, place string) error {
	g, err := t.guards.settled(ctx)
	if err != nil {
		return err
	}
	s := spot[T]{place: place, alone: true}
	err = t.setParent(ctx, &s, parent)
	n, failed := t.records.present(ctx, p.ID)
	switch err = cmp.Or(err, failed); {
	case errors.Is(err, repo.ErrNotFound):
		return errAgain
	case err != nil:
		return err
	case n.Parent != parent || n.Place != p.Place:
		return errAgain
	}
	way := t.records.childrenOf(parent).AtLeast("place", min(p.Place, place)).AtMost("place", max(p.Place, place))
	for other, err := range t.forest.places.Find(ctx, way.Limit(2)) {
		if err != nil {
			return err
		}
		if other.ID != p.ID && (other.Place != p.Place || (other.ID > p.ID) == (place > p.Place)) {
			return errAgain
		}
	}
	return t.writes.moveTo(ctx, &g, n, s, nil)
}
