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

// Get returns a node, or ErrNotFound.
func (t *Tree[T]) Get(ctx context.Context, id string) (rec T, err error) {
	err = t.documents.from(ctx, func(s source[T]) (err error) {
		rec, err = s.get(ctx, id)
		return err
	})
	return rec, t.failed("get", id, err)
}

// present returns the Node of a node that is there.
func (t records[T]) present(ctx context.Context, id string) (*Node, error) {
	n, err := t.forest.links.Get(ctx, t.key(id))
	if err == nil && n.State == gone {
		err = errGone
	}
	return &n, err
}

// pair is present, and returns another node too: nil if that is "" or not there.
func (t records[T]) pair(ctx context.Context, id, other string) (n, of *Node, err error) {
	if other == "" {
		n, err = t.present(ctx, id)
		return n, nil, err
	}
	list, found, err := t.forest.links.GetMany(ctx, []repo.Key{t.key(id), t.key(other)})
	switch {
	case err != nil:
		return nil, nil, err
	case !found[0]:
		return nil, nil, repo.ErrNotFound
	case list[0].State == gone:
		return nil, nil, errGone
	case found[1]:
		of = &list[1]
	}
	return &list[0], of, nil
}

// open returns the Node of a node below which others may come.
func (t records[T]) open(ctx context.Context, id string) (n *Node, err error) {
	err = t.again(ctx, func() error {
		n, err = t.present(ctx, id)
		if err == nil && n.Place == "" {
			err = driver.Errorf("node %q has no place among its siblings, as if another program had written it; see Repair: %w", driver.Private(id), repo.ErrCorrupt)
		}
		if err != nil || n.State == "" {
			return err
		}
		if err := t.writes.endClosing(ctx, n); err != nil && !errors.Is(err, ErrHasChildren) {
			return err
		}
		return errAgain
	})
	return n, err
}

// children returns the query of the children of a node; "" stands for the roots.
func (t records[T]) childrenOf(id string) repo.Query {
	return t.byPlace.Where("parent", id)
}

// lastOf is childrenOf with the last child first.
func (t records[T]) lastOf(id string) repo.Query {
	return t.fromLast.Where("parent", id)
}

// Children yields the children of a node in their order; those of "" are the roots. A node that is not there has
// none.
func (t *Tree[T]) Children(ctx context.Context, id string) iter.Seq2[T, error] {
	return t.listing.listed(ctx, "children", id, false)
}

// Reversed is Children in the reverse order.
func (t *Tree[T]) Reversed(ctx context.Context, id string) iter.Seq2[T, error] {
	return t.listing.listed(ctx, "children", id, true)
}

// listing reads several nodes.
type listing[T any] struct{ *base[T] }

func (t listing[T]) listed(ctx context.Context, op, id string, reversed bool) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		if err := t.made(); err != nil {
			yield(*new(T), t.failed(op, id, err))
			return
		}
		list := t.records.children(ctx, id, reversed)
		if t.forest.schema.has(Document) { // or where the nodes are changes meanwhile
			list = t.held(ctx, id, reversed)
		}
		some := false
		for rec, err := range list {
			if some = true; !yield(rec, t.failed(op, id, err)) || err != nil {
				return
			}
		}
		if !some {
			if err := t.guards.known(ctx); err != nil {
				yield(*new(T), t.failed(op, id, err))
			}
		}
	}
}

// held yields the children of a node that were read at once.
func (t listing[T]) held(ctx context.Context, id string, reversed bool) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var list []T
		err := t.documents.from(ctx, func(s source[T]) (err error) {
			list, err = repo.Collect(s.children(ctx, id, reversed))
			return err
		})
		for _, rec := range list {
			if err == nil && !yield(rec, nil) {
				return
			}
		}
		if err != nil {
			var none T
			yield(none, err)
		}
	}
}

// ChildrenPage returns a page of at most limit children of a node, in their order, as [repo.Repo.Page] does: 50 if
// limit is 0. A cursor of a [Document] is ErrCursor where the child is gone after which the page ended, and so is every
// cursor of a tree that was converted to a document or from one since.
func (t *Tree[T]) ChildrenPage(ctx context.Context, id string, limit int, cursor string) (page repo.Page[T], err error) {
	err = t.documents.from(ctx, func(s source[T]) (err error) {
		if page, err = s.page(ctx, id, limit, cursor); err == nil && len(page.Items) == 0 {
			err = t.guards.known(ctx)
		}
		return err
	})
	return page, t.failed("children", id, err)
}

// HasChildren reports of each node whether it has a child, in the order of the IDs; "" stands for the roots. A node that
// is not there has none, and a child that is being deleted counts until it is removed.
func (t *Tree[T]) HasChildren(ctx context.Context, ids ...string) (has []bool, err error) {
	err = t.documents.from(ctx, func(s source[T]) error {
		found, err := together(len(ids), func(i int) ([]bool, error) {
			has, err := s.hasChild(ctx, ids[i])
			return []bool{has}, err
		})
		if has = slices.Concat(found...); err == nil && !slices.Contains(has, true) {
			err = t.guards.known(ctx)
		}
		return err
	})
	if err != nil {
		return nil, t.failed("has children", "", err)
	}
	return has, nil
}

// Parent returns the parent of a node. A root has none: that is ErrNotFound.
func (t *Tree[T]) Parent(ctx context.Context, id string) (parent T, err error) {
	err = t.again(ctx, func() error {
		return t.documents.from(ctx, func(s source[T]) error {
			rec, err := s.get(ctx, id)
			if err != nil {
				return err
			}
			n := nodeOf(&rec)
			if n.Parent == "" {
				return fmt.Errorf("a root has no parent: %w", repo.ErrNotFound)
			}
			if parent, err = s.get(ctx, n.Parent); !errors.Is(err, repo.ErrNotFound) {
				return err
			}
			if is, same := s.get(ctx, id); same == nil && nodeOf(&is).Version == n.Version {
				return driver.Errorf("its parent %q is not there, as below a node that is being deleted; else see Verify: %w", driver.Private(n.Parent), repo.ErrNotFound)
			}
			return errAgain // it was moved, or removed, after it was read
		})
	})
	return parent, t.failed("parent", id, err)
}

// Next returns the sibling after a node, or ErrNotFound if it is the last.
func (t *Tree[T]) Next(ctx context.Context, id string) (T, error) {
	return t.listing.neighbour(ctx, "next", id, after)
}

// Previous returns the sibling before a node, or ErrNotFound if it is the first.
func (t *Tree[T]) Previous(ctx context.Context, id string) (T, error) {
	return t.listing.neighbour(ctx, "previous", id, before)
}

var errNoSibling = fmt.Errorf("there is no sibling: %w", repo.ErrNotFound)

func (t listing[T]) neighbour(ctx context.Context, op, id string, where byte) (found T, err error) {
	err = t.again(ctx, func() error {
		return t.documents.from(ctx, func(s source[T]) (err error) {
			found, err = s.beside(ctx, id, where)
			return err
		})
	})
	return found, t.failed(op, id, err)
}

// Siblings yields the other children of a node's parent, in their order.
func (t *Tree[T]) Siblings(ctx context.Context, id string) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		rec, err := t.Get(ctx, id)
		if err != nil {
			yield(rec, t.failed("siblings", id, err))
			return
		}
		for rec, err := range t.listing.listed(ctx, "siblings", nodeOf(&rec).Parent, false) {
			if err == nil && nodeOf(&rec).ID == id {
				continue
			}
			if !yield(rec, err) {
				return
			}
		}
	}
}

// Ancestors returns the nodes from the root to a node's parent: none of a root.
func (t *Tree[T]) Ancestors(ctx context.Context, id string) (list []T, err error) {
	list, ok, err := t.following.chain(ctx, id)
	if ok || err != nil {
		return list[:max(0, len(list)-1)], t.failed("ancestors", id, err)
	}
	err = t.guards.stable(ctx, func(g *guard) (err error) {
		s := strategyOf[T](g)
		list, err = s.ancestors(ctx, &t.base, g, id)
		return err
	})
	if err != nil {
		return nil, t.failed("ancestors", id, err)
	}
	return list, nil
}

// above returns the IDs of the ancestors of a node, from the root on.
func (t listing[T]) above(ctx context.Context, g *guard, id string) ([]string, error) {
	s := strategyOf[T](g)
	return s.above(ctx, t.base, g, id)
}

// Depth returns how many ancestors a node has.
func (t *Tree[T]) Depth(ctx context.Context, id string) (depth int, err error) {
	err = t.guards.stable(ctx, func(g *guard) error {
		above, err := t.listing.above(ctx, g, id)
		depth = len(above)
		return err
	})
	return depth, t.failed("depth", id, err)
}

// IsBelow reports whether a node is a descendant of another; each is one of "", which stands for the whole tree.
func (t *Tree[T]) IsBelow(ctx context.Context, id, ancestor string) (is bool, err error) {
	if id == "" { // the whole tree lies below nothing
		return false, t.failed("is below", id, t.made())
	}
	err = t.guards.stable(ctx, func(g *guard) error {
		above, err := t.listing.above(ctx, g, id)
		is = err == nil && ancestor == ""
		for _, one := range above {
			is = is || one == ancestor
		}
		return err
	})
	return is, t.failed("is below", id, err)
}

// CommonAncestor returns the node below or at which both nodes lie that is farthest from the root. If they are below
// different roots it is ErrNotFound.
func (t *Tree[T]) CommonAncestor(ctx context.Context, a, b string) (common T, err error) {
	err = t.guards.stable(ctx, func(g *guard) error {
		toA, err := t.listing.above(ctx, g, a)
		if err != nil {
			return err
		}
		toB, err := t.listing.above(ctx, g, b)
		if err != nil {
			return err
		}
		toA, toB = append(toA, a), append(toB, b)
		same := 0
		for same < min(len(toA), len(toB)) && toA[same] == toB[same] {
			same++
		}
		if same == 0 {
			return driver.Errorf("%q lies below another root: %w", driver.Private(b), repo.ErrNotFound)
		}
		s, err := t.documents.sourceOf(g)
		if err != nil {
			return err
		}
		common, err = s.get(ctx, toA[same-1])
		return err
	})
	return common, t.failed("common ancestor", a, err)
}
