package tree

import (
	"cmp"

	"github.com/polystore/polystore/repo"
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
	if e.tree.forest.schema.has(Document) {
		e.stable(read)
		return
	}
	read()
}

// find runs a query that finds so many nodes.
func (e *estimate[T]) find(q repo.Query, n int) {
	plan, err := e.tree.forest.nodes.Explain(q)
	if err != nil {
		e.failed = err
	}
	e.add(plan.Cost(n))
}

// places reads places of children.
func (e *estimate[T]) places(n int) {
	plan, err := e.tree.forest.places.Explain(e.tree.records.lastOf("x"))
	if err != nil {
		e.failed = err
	}
	e.add(plan.Cost(n))
}

func (e *estimate[T]) children(n int) { e.find(e.tree.records.childrenOf("x"), n) }

// childrenPage reads a page that has all children.
func (e *estimate[T]) childrenPage() {
	e.find(e.tree.records.childrenOf("x").Limit(max(1, e.size.Children)), e.size.Children)
}

func (e *estimate[T]) hasChild() {
	plan, err := e.tree.forest.places.Explain(e.tree.records.childrenOf("x").Limit(1))
	e.failed = cmp.Or(e.failed, err)
	e.add(plan.Cost(min(1, e.size.Children)))
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

// widths returns how many nodes the levels below a node have, after the node itself.
func (z *Size) widths() []int {
	list, left := []int{1}, z.Below
	for left > 0 {
		next := min(list[len(list)-1]*max(1, z.Children), left)
		if len(list) >= z.Levels {
			next = left
		}
		list, left = append(list, next), left-next
	}
	return list
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

// parts returns of how many parts a number is, each of at most so many.
func parts(n, most int) int { return (n + most - 1) / most }

// rows returns how many rows a node has in the indexes, and how many of them change when it moves.
func (e *estimate[T]) rows() (all, moved int) {
	s := &e.tree.forest.schema
	all, moved = 1+len(s.Indexes), 1
	if s.Name != "" {
		all, moved = all+1, moved+1
	}
	if e.tree.forest.follows {
		all++
	}
	switch e.strategy {
	case Path, NestedSets:
		all, moved = all+1, moved+1
	case Ancestors:
		all, moved = all+e.size.Depth, moved+e.size.Depth
	}
	return all, moved
}

// either looks first whether the tree is a document, and reports whether it is.
func (e *estimate[T]) either() bool {
	if e.tree.forest.schema.has(Document) {
		e.get(1)
	}
	if e.isDocument() {
		e.commit(1, 1)
	}
	return e.isDocument()
}

// spot finds the place after the last child of a node.
func (e *estimate[T]) spot() {
	if e.get(1); e.tree.forest.order == nil {
		e.places(min(2, e.size.Children))
	}
}

func (e *estimate[T]) insert() {
	if e.either() {
		return
	}
	e.spot()
	rows, _ := e.rows()
	if e.strategy != NestedSets {
		e.commit(1+rows, 0)
		return
	}
	e.get(1)
	e.spot()
	e.gap(0)
	e.commit(2+rows, 1) // and the parent
}

// gap reads the siblings beside a place, at which there may be the node already.
func (e *estimate[T]) gap(own int) {
	e.find(e.tree.records.childrenOf("x").AtMost("place", "x").Order("-place"), e.size.Children+own)
	e.find(e.tree.records.childrenOf("x").AtLeast("place", "x").Order("place"), own)
}

func (e *estimate[T]) update() {
	if !e.either() {
		e.commit(1, 1)
	}
}

func (e *estimate[T]) move() {
	if e.either() {
		return
	}
	e.get(1) // the guard
	e.get(1) // the node
	e.spot()
	if e.strategy == Adjacency {
		above := max(0, e.size.Depth-1)
		if e.tree.forest.follows {
			above = min(above, 1)
		}
		e.add(above, above)
	}
	_, moved := e.rows()
	if e.strategy == NestedSets {
		moved-- // it keeps its numbers at first
	}
	if e.strategy == Ancestors {
		moved = 1 + e.size.Depth
	}
	e.together(2+2*moved, 2)
	switch e.get(1); e.strategy {
	case Adjacency:
		e.add(-1, -1) // nothing is pending
		return
	case Path:
		e.portions(0, 3)
	case Ancestors:
		e.find(e.tree.records.beneath("x"), e.size.Below)
		e.batches(e.size.Below, 1+2*e.size.Depth)
		e.find(e.tree.records.beneath("x"), e.size.Below)
	case NestedSets:
		e.get(1) // the node
		e.get(1) // its parent
		e.gap(1)
		e.lists()
		e.get(1) // the guard
		e.batches(e.size.Below+1, 3)
	}
	e.conclude(0)
}

// together commits changes of rows of which so many are read before at once.
func (e *estimate[T]) together(rows, read int) {
	e.add(1, read)
	e.commit(rows, 0)
}

// conclude writes that nothing is pending any more, in one commit with other rows.
func (e *estimate[T]) conclude(rows int) {
	e.together(1+rows, 1+min(rows, 1))
	e.get(1)
}

// batches changes nodes, so many rows for each.
func (e *estimate[T]) batches(n, rows int) {
	for most := e.tree.forest.most; n > 0; n -= most {
		e.together(min(n, most)*rows, min(n, most))
	}
}

// portions changes what has a path, so many rows for each, until nothing is found but a number of nodes.
func (e *estimate[T]) portions(others, rows int) {
	most := e.tree.forest.most
	for n := e.size.Below; n > 0; n -= most {
		e.find(e.tree.records.under("x").Limit(most+1), min(n+others, most+1))
		e.batches(min(n, most), rows)
	}
	e.find(e.tree.records.under("x").Limit(most+1), others)
}

func (e *estimate[T]) deleteLeaf() {
	if e.either() {
		return
	}
	e.get(1) // the guard
	e.commit(1, 1)
	e.get(1)
	e.find(e.tree.records.childrenOf("x").Limit(1), 0)
	rows, _ := e.rows()
	e.together(2+rows, 2)
}

func (e *estimate[T]) deleteSubtree() {
	if e.either() {
		return
	}
	e.get(1) // the guard
	e.get(1) // the node
	e.together(2, 2)
	e.get(1)
	rows, _ := e.rows()
	switch e.strategy {
	case Path:
		e.portions(1, 1+rows)
	case Ancestors:
		e.find(e.tree.records.beneath("x"), e.size.Below)
		e.batches(e.size.Below, 0)
		for level, n := range e.size.widths() {
			if level > 0 {
				e.cost.Rows += n * (1 + rows + level)
			}
		}
		e.find(e.tree.records.beneath("x"), 0)
	default:
		e.upwards(1 + rows)
	}
	e.conclude(1 + rows)
}

// upwards removes what lies below a node from the leaves up, so many rows for each.
func (e *estimate[T]) upwards(rows int) {
	most, widths := e.tree.forest.most, append(e.size.widths(), 0, 0)
	list := func(n int) (depth, requests int) { // and marks them
		return e.of(func(e *estimate[T]) {
			e.find(e.tree.records.childrenOf("x").Limit(most), n)
			e.batches(n, 0)
		})
	}
	e.add(list(min(widths[1], most)))
	for i, width := range widths[:len(widths)-3] {
		below := parts(widths[i+2], widths[i+1])
		depth, requests := list(min(below, most))
		one := func(e *estimate[T]) {
			for n := parts(widths[i+1], width); n >= 0; n -= most { // the children of a node
				e.add(parts(min(n, most), lists)*depth, min(n, most)*requests)
				e.batches(min(n, most), 0)
				if n >= most {
					e.add(list(min(n-most, most)))
				}
			}
		}
		d, r := e.of(one)
		e.add(width*d, width*r)
		e.cost.Rows += widths[i+1] * (rows + 1)
	}
}
