package tree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/polystore/polystore/repo"
)

// nested is the strategy of nested sets: the numbers of a node lie between those of its parent, and those of a sibling
// that comes later are greater. An insert takes numbers from the gap where it comes. What is moved gets numbers anew,
// from the parents and places below the node, and where a gap is too narrow the whole tree does: so whoever does a
// part of this writes the same numbers.
type nested[T any] struct{ adjacency[T] }

// mostNumber is above all numbers, and 0 below them.
const mostNumber = 1 << 62

// share is how many times less than there is between its neighbours a node gets.
const share = 1 << 10

// A gap is the numbers between two neighbours, or up to the ends of a parent.
type gap struct {
	low, high   int64
	first, last bool // there is no sibling before it, or none after it
}

// part returns numbers of a node: near the sibling beside which others will come, or in the middle.
func (g gap) part() (left, right int64) {
	step := max(1, (g.high-g.low)/share)
	switch {
	case g.last:
		left = g.low + step
	case g.first:
		left = g.high - 2*step
	default:
		left = g.low + max(1, (g.high-g.low-step)/2)
	}
	left = max(left, g.low+1)
	return left, left + step
}

func (nested[T]) moves(was, _ *Node) *pending { return &pending{Do: doNumber, Node: was.ID} }

func (nested[T]) outside(_ context.Context, _ *base[T], n, parent *Node) error {
	if parent != nil && n.Left <= parent.Left && parent.Right <= n.Right {
		return ErrBelowItself
	}
	return nil
}

func (nested[T]) below(ctx context.Context, t *base[T], _ *guard, n *Node, depth int, emit emitter[T]) error {
	q := repo.Where("tree", t.name).Order("left")
	if n != nil {
		q = q.Above("left", n.Left).Below("left", n.Right)
	}
	var rights []int64 // of the nodes above the next one
	rec := new(T)      // one for all
	at := nodeOf(rec)
	for found, err := range t.forest.reads.Find(ctx, q) {
		if err != nil {
			return err
		}
		*rec = found
		for len(rights) > 0 && rights[len(rights)-1] < at.Left {
			rights = rights[:len(rights)-1]
		}
		if rights = append(rights, at.Right); at.State == gone || depth > 0 && len(rights) > depth {
			continue
		}
		if err := emit(rec, len(rights)); err != nil {
			return err
		}
	}
	return nil
}

func (s nested[T]) finish(ctx context.Context, t *base[T], g *guard) error {
	if g.Pending.Do == doRemove {
		return s.adjacency.finish(ctx, t, g)
	}
	return t.numbering.numberAll(ctx, g)
}

// numbering gives nodes their numbers.
type numbering[T any] struct{ *base[T] }

// number gives numbers to a node that is to come to its place below a parent, nil of a root. Where there is no room it
// makes some, and returns errAgain.
func (t numbering[T]) number(ctx context.Context, is *guard, n, parent *Node) error {
	at, err := t.gap(ctx, n, parent)
	if err != nil {
		return err
	}
	if n.Left, n.Right = at.part(); n.Right < at.high {
		return nil
	}
	return t.numberFromRoots(ctx, is)
}

// numberFromRoots decides that all nodes get numbers anew, and returns errAgain.
func (t numbering[T]) numberFromRoots(ctx context.Context, was *guard) error {
	g := t.forest.group()
	t.guards.decide(g, was, &pending{Do: doNumber})
	return cmp.Or(t.writes.commit(ctx, g, ""), errAgain)
}

// gap returns the numbers between which those of a node have room that has its place below a parent.
func (t numbering[T]) gap(ctx context.Context, n, parent *Node) (gap, error) {
	id, g := "", gap{high: mostNumber, first: true, last: true}
	if parent != nil {
		id, g.low, g.high = parent.ID, parent.Left, parent.Right
	}
	for prev, err := range t.forest.links.Find(ctx, t.records.childrenOf(id).AtMost("place", n.Place).Order("-place")) {
		if err != nil {
			return gap{}, err
		}
		if prev.Place < n.Place || prev.ID < n.ID {
			g.low, g.first = prev.Right, false
			break
		}
	}
	for next, err := range t.forest.links.Find(ctx, t.records.childrenOf(id).AtLeast("place", n.Place).Order("place")) {
		if err != nil {
			return gap{}, err
		}
		if next.Place > n.Place || next.ID > n.ID {
			g.high, g.last = next.Left, false
			break
		}
	}
	return g, nil
}

// numberAll gives the nodes numbers that a pending change is about, evenly.
func (t numbering[T]) numberAll(ctx context.Context, g *guard) error {
	low, high, top := int64(0), int64(mostNumber), (*Node)(nil)
	if id := g.Pending.Node; id != "" {
		n, err := t.records.present(ctx, id)
		switch {
		case errors.Is(err, repo.ErrNotFound):
			return nil // it had no children, and was deleted
		case err != nil:
			return err
		}
		at, err := t.gapOf(ctx, n)
		switch {
		case errors.Is(err, repo.ErrNotFound):
			return t.numberFromRoots(ctx, g) // as if another program had deleted its parent
		case err != nil:
			return err
		}
		low, high, top = at.low, at.high, n
	}
	list, err := t.numbersOf(ctx, g, top, low, high)
	if top != nil && (errors.Is(err, errNarrow) || errors.Is(err, repo.ErrCorrupt)) { // as if it lies below itself
		return t.numberFromRoots(ctx, g)
	}
	if err != nil {
		return err
	}
	for batch := range slices.Chunk(list, t.forest.most) {
		fresh, numbers := make([]Node, len(batch)), map[string]*renumbered{}
		for i := range batch {
			fresh[i], numbers[batch[i].ID] = batch[i].Node, &batch[i]
		}
		err := t.guards.rewrite(ctx, g, fresh, func(n *Node) { n.Left, n.Right = numbers[n.ID].left, numbers[n.ID].right })
		if err != nil {
			return err
		}
	}
	return nil
}

// gapOf is gap for a node that is there.
func (t numbering[T]) gapOf(ctx context.Context, n *Node) (gap, error) {
	if n.Parent == "" {
		return t.gap(ctx, n, nil)
	}
	parent, err := t.records.present(ctx, n.Parent)
	if err != nil {
		return gap{}, err
	}
	return t.gap(ctx, n, parent)
}

var errNarrow = fmt.Errorf("more nodes than numbers: %w", repo.ErrTooLarge)

// A renumbered is a node with the numbers that it is to have.
type renumbered struct {
	Node
	left, right int64
}

// numbersOf returns a node, and what is below it, with even numbers between two, but for those that have theirs.
func (t numbering[T]) numbersOf(ctx context.Context, g *guard, top *Node, low, high int64) (list []renumbered, err error) {
	var depths []int
	if top != nil {
		list, depths = append(list, renumbered{Node: *top}), append(depths, 0)
	}
	err = adjacency[T]{}.below(ctx, t.base, g, top, 0, func(rec *T, depth int) error {
		list, depths = append(list, renumbered{Node: *nodeOf(rec)}), append(depths, depth)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if is, err := t.guards.guard(ctx); err != nil || is.Version != g.Version {
		return nil, cmp.Or(err, errAgain) // what was read may be of more than one state
	}
	step := (high - low) / int64(2*len(list)+1)
	if top != nil && step > 16*share { // and leave room beside it
		step /= 16
	}
	if step == 0 {
		return nil, errNarrow
	}
	at, above := low, []int{}
	end := func(depth int) {
		for len(above) > 0 && depths[above[len(above)-1]] >= depth {
			at += step
			list[above[len(above)-1]].right = at
			above = above[:len(above)-1]
		}
	}
	for i := range list {
		end(depths[i])
		at += step
		list[i].left = at
		above = append(above, i)
	}
	end(0)
	return slices.DeleteFunc(list, func(r renumbered) bool { return r.Left == r.left && r.Right == r.right }), nil
}

// misnumbered says which nodes below roots have numbers that do not lie as the parents and places do.
func (s *survey) misnumbered() (list []Problem) {
	children := map[string][]*Node{}
	for _, n := range s.nodes {
		children[n.Parent] = append(children[n.Parent], n)
	}
	type inside struct {
		of        string
		low, high int64
	}
	for gaps := []inside{{"", 0, mostNumber}}; len(gaps) > 0; {
		at := gaps[len(gaps)-1]
		gaps = gaps[:len(gaps)-1]
		slices.SortFunc(children[at.of], func(a, b *Node) int { return cmp.Or(cmp.Compare(a.Place, b.Place), cmp.Compare(a.ID, b.ID)) })
		for _, n := range children[at.of] {
			if n.Left <= at.low || n.Right <= n.Left || n.Right >= at.high {
				list = append(list, Problem{ID: n.ID, What: "its numbers do not lie between those of its parent and siblings", Repairable: true})
			}
			at.low = n.Right
			gaps = append(gaps, inside{n.ID, n.Left, n.Right})
		}
	}
	return list
}
