package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/tree"
)

// A treeModel is what a candidate should hold: nodes, and children in their order.
type treeModel struct {
	nodes    map[string]*node
	children map[string][]string
	ids      []string
}

func (m *treeModel) add(n node) {
	m.nodes[n.id] = &n
	m.children[n.parent] = append(m.children[n.parent], n.id)
	m.ids = append(m.ids, n.id)
}

func (m *treeModel) above(id string) (list []node) {
	for at := m.nodes[id].parent; at != ""; at = m.nodes[at].parent {
		list = append(list, *m.nodes[at])
	}
	slices.Reverse(list)
	return list
}

func (m *treeModel) below(id string, depth int) (list []node) {
	for _, child := range m.children[id] {
		n := *m.nodes[child]
		n.depth = depth
		list = append(append(list, n), m.below(child, depth+1)...)
	}
	return list
}

func (m *treeModel) move(id, to string) {
	n := m.nodes[id]
	m.children[n.parent] = slices.DeleteFunc(m.children[n.parent], func(one string) bool { return one == id })
	n.parent = to
	m.children[to] = append(m.children[to], id)
}

func (m *treeModel) isBelow(id, top string) bool {
	for ; id != ""; id = m.nodes[id].parent {
		if id == top {
			return true
		}
	}
	return false
}

// checkTree loads a tree and does random operations on it, whose answers it holds against a model, and then lets
// goroutines race. Writes are checked where they are measured.
func checkTree(ctx context.Context, c *candidate, s subject, e effort, seed uint64) error {
	t, r := s.(trees), rand.New(rand.NewPCG(seed, 1))
	m := treeModel{nodes: map[string]*node{}, children: map[string][]string{}}
	var list []node
	for i := range 60 {
		parent := ""
		if i > 0 {
			parent = list[r.IntN(min(i, 12))].id
		}
		list = append(list, newNode(i, parent))
		m.add(list[i])
	}
	if err := t.load(ctx, list); err != nil {
		return err
	}
	for i := range e.steps / 2 {
		if !c.reads {
			if err := m.write(ctx, t, r); err != nil {
				return fmt.Errorf("seed %d, operation %d: %w", seed, i, err)
			}
		}
		if err := m.read(ctx, t, r, !c.reads); err != nil {
			return fmt.Errorf("seed %d, operation %d: %w", seed, i, err)
		}
	}
	if c.reads {
		return nil
	}
	return m.race(ctx, t, e.updates)
}

// write inserts or moves a node, sometimes one that cannot be.
func (m *treeModel) write(ctx context.Context, t trees, r *rand.Rand) error {
	some := func() string { return m.ids[r.IntN(len(m.ids))] }
	id, to, want := some(), some(), error(nil)
	if r.IntN(8) == 0 {
		to, want = "nobody", repo.ErrNotFound
	}
	if r.IntN(2) == 0 {
		n := newNode(len(m.ids), to)
		if want == nil && r.IntN(8) == 0 {
			n.id, want = id, repo.ErrExists
		}
		if err := t.insert(ctx, &n); !errors.Is(err, want) {
			return fmt.Errorf("insert %s under %s: %s, want %w %s", n.id, to, fmt.Sprint(err), errWrongTree, fmt.Sprint(want))
		}
		if want == nil {
			m.add(n)
		}
		return nil
	}
	if want == nil && m.isBelow(to, id) {
		want = tree.ErrBelowItself
	}
	if err := t.move(ctx, id, to); !errors.Is(err, want) {
		return fmt.Errorf("move %s under %s: %s, want %w %s", id, to, fmt.Sprint(err), errWrongTree, fmt.Sprint(want))
	}
	if want == nil {
		m.move(id, to)
	}
	return nil
}

func (m *treeModel) read(ctx context.Context, t trees, r *rand.Rand, lists bool) error {
	id := m.ids[r.IntN(len(m.ids))]
	got, err := collect(func(visit func(node)) error { return t.ancestors(ctx, id, visit) })
	if err := sameNodes("ancestors", got, m.above(id), err); err != nil {
		return err
	}
	got, err = collect(func(visit func(node)) error { return t.subtree(ctx, id, visit) })
	if err := sameNodes("subtree", got, m.below(id, 1), err); err != nil || !lists {
		return err
	}
	n, more := 1+r.IntN(5), false
	var want []node
	for _, child := range m.children[id][:min(n, len(m.children[id]))] {
		want = append(want, *m.nodes[child])
	}
	got, err = collect(func(visit func(node)) (err error) {
		more, err = t.children(ctx, id, n, visit)
		return err
	})
	if err := sameNodes("children", got, want, err); err != nil {
		return err
	}
	if more != (n < len(m.children[id])) {
		return fmt.Errorf("children: %w: more %v of %d, %d asked", errWrongTree, more, len(m.children[id]), n)
	}
	return nil
}

// race lets goroutines insert below one node and move two nodes below each other: then each node is there once.
func (m *treeModel) race(ctx context.Context, t trees, times int) error {
	top := m.children[""][0]
	before := len(m.below(top, 1))
	a, b := newNode(len(m.ids), top), newNode(len(m.ids)+1, top)
	if err := errors.Join(t.insert(ctx, &a), t.insert(ctx, &b)); err != nil {
		return err
	}
	err := together(4, func(worker int) error {
		for i := range times {
			n := newNode(len(m.ids)+2+worker*times+i, a.id)
			if err := t.insert(ctx, &n); err != nil {
				return err
			}
		}
		return nil
	}, func(worker int) error {
		id, to := a.id, b.id
		if worker%2 > 0 {
			id, to = to, id
		}
		for range times {
			if err := t.move(ctx, id, to); err != nil && !errors.Is(err, tree.ErrBelowItself) {
				return err
			}
			if err := t.move(ctx, id, top); err != nil && !errors.Is(err, tree.ErrBelowItself) {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	got, err := collect(func(visit func(node)) error { return t.subtree(ctx, top, visit) })
	seen := map[string]bool{}
	for _, n := range got {
		seen[n.id] = true
	}
	if want := before + 2 + 4*times; err != nil || len(got) != want || len(seen) != want {
		return fmt.Errorf("after a race: %w: %d nodes, %d IDs, %s, want %d", errWrongTree, len(got), len(seen), fmt.Sprint(err), want)
	}
	return nil
}
