package tree

import (
	"cmp"

	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/internal/limit"
)

// An estimate follows what a call does.
type estimate[T any] struct {
	tree     *base[T]
	strategy Strategy
	size     Size
	commits  repo.WritePlan
	cost     Cost
	failed   error
}

// add counts what is done after what was counted.
func (e *estimate[T]) add(depth, requests int) {
	e.cost.Depth, e.cost.Requests = e.cost.Depth+depth, e.cost.Requests+requests
}

// get reads nodes, or the guard, by their keys.
func (e *estimate[T]) get(n int) { e.add(min(n, 1), n) }

// commit commits changes of so many rows. What is updated was read just before.
func (e *estimate[T]) commit(rows, updated int) {
	e.get(updated)
	e.add(e.commits.Depth, e.commits.Requests)
	e.cost.Rows += rows
}

func (e *estimate[T]) isDocument() bool { return e.strategy == Document }

// stable reads the guard before and after.
func (e *estimate[T]) stable(read func()) {
	e.get(1)
	if !e.isDocument() {
		read()
	}
	e.get(1)
}

// from is stable where the tree might be a document.
func (e *estimate[T]) from(read func()) {
	if e.mayBeDocument() {
		e.stable(read)
		return
	}
	read()
}

func (e *estimate[T]) mayBeDocument() bool { return e.tree.forest.schema.has(Document) }

// one reads a node.
func (e *estimate[T]) one() { e.from(func() { e.get(1) }) }

// list reads several nodes. If it finds none it reads the guard, too.
func (e *estimate[T]) list(n int, read func()) {
	if e.from(read); n == 0 && !e.mayBeDocument() {
		e.get(1)
	}
}

// find runs a query that finds so many nodes.
func (e *estimate[T]) find(q repo.Query, n int) {
	plan, err := e.tree.forest.nodes.Explain(q)
	if err != nil {
		e.failed = err
	}
	e.add(plan.Cost(n))
}

// some runs a query of which no more is read than the first of what it finds.
func (e *estimate[T]) some(q repo.Query, n int) { e.find(q, min(n, limit.BatchSize)) }

// places reads places of children.
func (e *estimate[T]) places(n int) {
	plan, err := e.tree.forest.places.Explain(e.tree.records.lastOf("x"))
	if err != nil {
		e.failed = err
	}
	e.add(plan.Cost(n))
}

func (e *estimate[T]) children(n int) { e.find(e.tree.records.childrenOf("x"), n) }

// siblings reads a node, and then its parent's children.
func (e *estimate[T]) siblings() {
	e.one()
	e.from(func() { e.children(e.size.Children) })
}

// next reads the first of some siblings, and finds the second.
func (e *estimate[T]) next() {
	e.from(func() {
		e.get(1)
		e.some(e.tree.records.childrenOf("x").AtLeast("place", "x").Order("place"), e.size.Children)
	})
}

// common finds the ancestors of two nodes, and reads one of them.
func (e *estimate[T]) common() {
	e.stable(func() {
		e.above()
		e.above()
		e.get(1)
	})
}

// written reads a node and what is below it.
func (e *estimate[T]) written() {
	e.one()
	e.descendants()
}

// verified reads all nodes.
func (e *estimate[T]) verified() {
	all := repo.Where("tree", "x")
	if e.get(1); e.isDocument() {
		e.find(all, 0)
		return
	}
	e.find(all, e.size.Below)
	e.get(1)
}

// childrenPage reads a page that has all children.
func (e *estimate[T]) childrenPage() {
	e.find(e.tree.records.childrenOf("x").Limit(max(1, e.size.Children)), e.size.Children)
}

func (e *estimate[T]) hasChild() {
	plan, err := e.tree.forest.places.Explain(e.tree.records.childrenOf("x").Limit(1))
	e.failed = cmp.Or(e.failed, err)
	e.add(plan.Cost(min(1, e.size.Children)))
}

// countChildren asks the store, which does not count rows beside which the records lie apart.
func (e *estimate[T]) countChildren() {
	if f := e.tree.forest; f.schema.Spread || !f.store.Facts().Counts.Has {
		e.places(e.size.Children)
		return
	}
	e.add(1, 1)
}

// named finds a node by its name and those of its ancestors, no two siblings of which have the same.
func (e *estimate[T]) named() {
	s := &e.tree.forest.schema
	for range e.size.Depth + 1 {
		if s.Name == "" {
			e.get(1)
		} else {
			e.find(repo.Where("tree", "x").Where("parent", "x").Where(s.Name, "x").Order("place"), 1)
		}
	}
}

func (e *estimate[T]) ancestors() {
	if e.tree.forest.follows {
		if e.add(1, 1); !e.isDocument() {
			return
		}
	}
	if e.strategy == Path || e.strategy == Ancestors {
		e.get(1)
		e.get(1)
		e.get(e.size.Depth)
		return
	}
	e.stable(e.above)
}

func (e *estimate[T]) above() {
	if e.strategy == Adjacency && e.tree.forest.follows {
		e.add(1, 1)
		return
	}
	e.get(1)
	if e.strategy != Path && e.strategy != Ancestors {
		e.add(e.size.Depth, e.size.Depth)
	}
}

func (e *estimate[T]) descendants() {
	if e.tree.forest.follows && e.tree.forest.schema.Strategy == Adjacency {
		if e.add(1, 1); e.strategy == Adjacency {
			if e.size.Below == 0 {
				e.get(1)
			}
			return
		}
	}
	e.get(1)
	if !e.isDocument() {
		e.get(1)
		e.below()
	}
	for range e.size.Below/held + 1 {
		e.get(1)
	}
}

// below reads what lies below a node.
func (e *estimate[T]) below() {
	t := e.tree
	switch e.strategy {
	case Path:
		e.find(t.records.under("x"), e.size.Below+1)
	case Ancestors:
		e.find(t.records.beneath("x"), e.size.Below)
	case NestedSets:
		e.find(repo.Where("tree", "x").Above("left", 1).Below("left", 2).Order("left"), e.size.Below)
	default:
		e.lists()
	}
}

// lists reads the children of a node and of all below it, level by level.
func (e *estimate[T]) lists() {
	widths := append(e.size.widths(), 0)
	for i, width := range widths[:len(widths)-1] {
		depth, requests := e.of(func(e *estimate[T]) { e.children((widths[i+1] + width - 1) / width) })
		if one := requests * width; widths[i+1] > 0 {
			_, requests = e.of(func(e *estimate[T]) { e.children(widths[i+1]) })
			requests = min(one, requests+width-1)
		} else {
			requests = one
		}
		e.add(depth*parts(width, lists), requests)
	}
}

// of returns what a part of a call takes.
func (e *estimate[T]) of(part func(e *estimate[T])) (depth, requests int) {
	one := *e
	one.cost = Cost{}
	part(&one)
	e.failed = cmp.Or(e.failed, one.failed)
	return one.cost.Depth, one.cost.Requests
}

// repeat does a part of a call so many times.
func (e *estimate[T]) repeat(n int, part func(e *estimate[T])) {
	one := *e
	one.cost = Cost{}
	if n > 0 {
		part(&one)
	}
	e.failed = cmp.Or(e.failed, one.failed)
	e.add(n*one.cost.Depth, n*one.cost.Requests)
	e.cost.Rows += n * one.cost.Rows
}

// parts returns of how many parts a number is, each of at most so many.
func parts(n, most int) int { return (n + most - 1) / most }

// rows returns how many rows a node has at a depth beside its record.
func (e *estimate[T]) rows(depth int) int {
	s := &e.tree.forest.schema
	all := 1 + len(s.Indexes)
	if s.Name != "" {
		all++
	}
	if e.tree.forest.follows {
		all++
	}
	switch e.strategy {
	case Path, NestedSets:
		all++
	case Ancestors:
		all += depth
	}
	return all
}
