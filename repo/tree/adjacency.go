package tree

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// adjacency is the strategy that keeps no field.
type adjacency[T any] struct{}

func (adjacency[T]) moves(*Node, *Node) *pending { return nil }

func (adjacency[T]) outside(ctx context.Context, t *base[T], n, parent *Node) error {
	if parent != nil && parent.Parent != "" && parent.ID != n.ID {
		if above, ok, err := t.following.above(ctx, parent.ID); err != nil {
			return err
		} else if ok && slices.Contains(above, n.ID) {
			return ErrBelowItself
		} else if ok {
			return nil
		}
	}
	for at := parent; at != nil; {
		if at.ID == n.ID {
			return ErrBelowItself
		}
		if at.Parent == "" {
			return nil
		}
		var err error
		if at, err = t.records.present(ctx, at.Parent); errors.Is(err, repo.ErrNotFound) {
			return errAgain // something was moved or removed meanwhile
		} else if err != nil {
			return err
		}
	}
	return nil
}

func (adjacency[T]) above(ctx context.Context, t *base[T], _ *guard, id string) (ids []string, err error) {
	if ids, ok, err := t.following.above(ctx, id); ok || err != nil {
		return ids, err
	}
	err = climb(ctx, id, func(ctx context.Context, id string) (*Node, error) {
		n, err := t.records.present(ctx, id)
		if err == nil && n.Parent != "" {
			ids = append(ids, n.Parent)
		}
		return n, err
	})
	slices.Reverse(ids)
	return ids, err
}

func (adjacency[T]) ancestors(ctx context.Context, t *base[T], _ *guard, id string) (list []T, err error) {
	list = make([]T, 0, usualDepth)
	err = climb(ctx, id, func(ctx context.Context, at string) (*Node, error) {
		if at == id {
			return t.records.present(ctx, at)
		}
		list = append(list, *new(T))
		rec := &list[len(list)-1]
		err := t.records.into(ctx, at, rec)
		return nodeOf(rec), err
	})
	slices.Reverse(list)
	return list, err
}

// usualDepth is for how many ancestors a list makes room at first.
const usualDepth = 8

// climb reads a node and its ancestors, up to the root.
func climb(ctx context.Context, id string, read func(ctx context.Context, id string) (*Node, error)) error {
	met := "" // one of the nodes: that which is 1, 2, 4, … above the first, after R. P. Brent
	for depth := 0; ; depth++ {
		n, err := read(ctx, id)
		if depth > 0 && id == met {
			return belowItself(id)
		}
		if depth&(depth-1) == 0 {
			met = id
		}
		switch {
		case err != nil && depth > 0:
			return driver.Errorf("the ancestor %q: %w", driver.Private(id), err)
		case err != nil || n.Parent == "":
			return err
		}
		id = n.Parent
	}
}

func belowItself(id string) error {
	return driver.Errorf("node %q lies below itself; see Verify: %w", driver.Private(id), repo.ErrCorrupt)
}

// lists is how many lists of children are read at the same time.
const lists = 16

// below reads the tree level by level, several lists at the same time, and holds what it reads in memory.
func (adjacency[T]) below(ctx context.Context, t *base[T], g *guard, n *Node, depth int, emit emitter[T]) error {
	top := ""
	if n != nil {
		top = n.ID
	}
	children := map[string][]*T{}
	for level, at := []string{top}, 0; len(level) > 0 && (depth == 0 || at < depth); at++ {
		found, err := t.records.lists(ctx, level)
		if err != nil {
			return err
		}
		for i, id := range level {
			children[id] = make([]*T, len(found[i]))
			for j := range found[i] {
				children[id][j] = &found[i][j]
			}
		}
		var next []string
		for _, parent := range level {
			for _, rec := range children[parent] {
				id := nodeOf(rec).ID
				if _, seen := children[id]; seen {
					return t.guards.stillSo(ctx, g, belowItself(id))
				}
				next = append(next, id)
			}
		}
		level = next
	}
	return emitAll(children, top, 0, emit)
}

// lists reads the children of nodes.
func (t records[T]) lists(ctx context.Context, ids []string) ([][]T, error) {
	return together(len(ids), func(i int) ([]T, error) { return repo.Collect(t.children(ctx, ids[i], false)) })
}

// together reads n lists, several at the same time.
func together[E any](n int, read func(i int) ([]E, error)) ([][]E, error) {
	found, errs := make([][]E, n), make([]error, min(lists, n))
	var readers sync.WaitGroup
	for r := range errs {
		readers.Go(func() {
			for i := r; i < n && errs[r] == nil; i += lists {
				found[i], errs[r] = read(i)
			}
		})
	}
	readers.Wait()
	return found, cmp.Or(errs...)
}

// emitAll emits what lies below a node, of which the children are known, in depth-first order, down to a depth.
func emitAll[T any](children map[string][]*T, top string, depth int, emit emitter[T]) error {
	for stack := [][]*T{children[top]}; len(stack) > 0; {
		at := len(stack)
		rest := stack[at-1]
		if len(rest) == 0 {
			stack = stack[:at-1]
			continue
		}
		rec := rest[0]
		stack[at-1] = rest[1:]
		if err := emit(rec, at); err != nil {
			return err
		}
		if depth == 0 || at < depth {
			stack = append(stack, children[nodeOf(rec).ID])
		}
	}
	return nil
}

// finish removes what lies below a node, from the leaves up, so that each node that is left is found from it. Each is
// gone before its children are listed, so that none comes after them.
func (adjacency[T]) finish(ctx context.Context, t *base[T], g *guard) error {
	type list struct {
		of   string
		rest []Node // children that are gone, below which nothing was looked for
		done []Node // children below which the lists are that come after this one
		more bool   // there may be others
	}
	listOf := func(id string, children []Node) list {
		full := len(children) == t.forest.most
		// Only another program can have put the node below itself.
		rest := slices.DeleteFunc(children, func(n Node) bool { return n.ID == g.Pending.Node })
		return list{of: id, rest: rest, more: full && len(rest) > 0}
	}
	for stack := []list{{of: g.Pending.Node, more: true}}; len(stack) > 0; {
		last := &stack[len(stack)-1]
		switch {
		case len(last.rest) > 0:
			some := last.rest[max(0, len(last.rest)-lists):]
			last.rest, last.done = last.rest[:len(last.rest)-len(some)], append(last.done, some...)
			found, err := together(len(some), func(i int) ([]Node, error) { return t.guards.goneChildren(ctx, g, some[i].ID) })
			if err != nil {
				return err
			}
			for i := range some {
				if len(found[i]) > 0 {
					stack = append(stack, listOf(some[i].ID, found[i]))
				}
			}
		case len(last.done) > 0:
			if err := t.guards.deleteAll(ctx, g, last.done); err != nil {
				return err
			}
			last.done = nil
		case last.more:
			children, err := t.guards.goneChildren(ctx, g, last.of)
			if err != nil {
				return err
			}
			*last = listOf(last.of, children)
		default:
			stack = stack[:len(stack)-1]
		}
	}
	return nil
}
