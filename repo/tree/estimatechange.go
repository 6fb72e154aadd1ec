package tree

import (
	"cmp"

	"github.com/polystore/polystore/repo"
)

// changeCost estimates calls that change a node.
type changeCost[T any] struct{ *estimate[T] }

// either looks first whether the tree is a document, and reports whether it is.
func (e *estimate[T]) either() bool {
	if e.mayBeDocument() {
		e.get(1)
	}
	if e.isDocument() {
		e.commit(1, 1)
	}
	return e.isDocument()
}

// spot reads a node, and finds the place after the last of some children of it.
func (e *estimate[T]) spot(children int) {
	e.get(1)
	e.last(children)
}

// last finds the last of some children, unless they have their places by themselves.
func (e *estimate[T]) last(children int) {
	if e.tree.forest.order == nil {
		e.places(min(1, children))
	}
}

func (e changeCost[T]) insert() { e.insertAt(e.size.Depth, e.size.Children) }

// insertAt inserts a node at a depth, after some siblings.
func (e changeCost[T]) insertAt(depth, siblings int) {
	if e.either() {
		return
	}
	e.spot(siblings)
	rows := 1 + e.rows(depth)
	if e.strategy != NestedSets {
		e.commit(rows, 0)
		return
	}
	e.get(1)
	e.spot(siblings)
	e.gap(siblings, 0)
	e.commit(1+rows, 1) // and the parent
}

// gap reads the siblings before a place and after it, of which one may be the node itself.
func (e changeCost[T]) gap(before, after int) {
	e.some(e.tree.records.childrenOf("x").AtMost("place", "x").Order("-place"), before)
	e.some(e.tree.records.childrenOf("x").AtLeast("place", "x").Order("place"), after)
}

func (e changeCost[T]) update() {
	if !e.either() {
		e.commit(1, 1)
	}
}

func (e changeCost[T]) move() {
	if !e.either() {
		e.moveTo(2*e.size.Depth, e.size.Children+1, 1, false)
	}
}

// moveTo moves a node where it has other ancestors, old and new ones, and siblings before and after it, with itself. A
// child that is lifted was found before, comes beside a sibling, and is read again with the guard for the commit.
func (e changeCost[T]) moveTo(ancestors, before, after int, lifted bool) {
	e.get(1) // the guard
	again := 0
	if lifted {
		e.get(1) // the sibling
		e.spot(e.size.Children)
		again = 2
	} else {
		e.get(2) // the node and its new parent
		e.last(e.size.Children)
	}
	rows := 4 // the guard, the node, and its rows among the siblings
	if e.tree.forest.schema.Name != "" {
		rows += 2
	}
	switch e.strategy {
	case Adjacency:
		above := max(0, e.size.Depth-1)
		if e.tree.forest.follows {
			above = min(above, 1)
		}
		e.add(above, above)
	case Path:
		rows += 2
	case Ancestors:
		rows += ancestors
	}
	e.together(rows, again)
	switch e.strategy {
	case Adjacency:
		return // nothing is pending
	case Path:
		e.get(1)
		e.portions(e.tree.records.under("x"), 0, 3)
	case Ancestors:
		e.get(1)
		e.find(e.tree.records.beneath("x"), e.size.Below)
		if e.batches(e.size.Below, 1+ancestors); e.size.Below > 0 {
			e.find(e.tree.records.beneath("x"), e.size.Below)
		}
	case NestedSets:
		e.get(1)
		e.get(1) // the node
		e.get(1) // its parent
		e.gap(before, after)
		e.lists()
		e.get(1) // the guard
		e.batches(e.size.Below+1, 3)
	}
	e.conclude(0)
}

// together commits changes of rows, for which so many records are read before at once.
func (e *estimate[T]) together(rows, read int) {
	e.get(read)
	e.commit(rows, 0)
}

// conclude writes the guard in one commit with other rows, and reads it again.
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

// portions changes what a query finds, so many rows for each, until nothing is found but a number of nodes.
func (e changeCost[T]) portions(q repo.Query, others, rows int) {
	most := e.tree.forest.most
	for n := e.size.Below; n > 0; n -= most {
		e.names(q.Limit(most+1), min(n+others, most+1))
		e.get(min(n, most))
		e.batches(min(n, most), rows)
	}
	e.names(q.Limit(most+1), others)
}

// names reads the rows of an index alone.
func (e *estimate[T]) names(q repo.Query, n int) {
	plan, err := e.tree.forest.names.Explain(q)
	e.failed = cmp.Or(e.failed, err)
	e.add(plan.Cost(n))
}

func (e changeCost[T]) deleteLeaf() {
	if !e.either() {
		e.deleteLast()
	}
}

// deleteLast removes a node that has no children.
func (e changeCost[T]) deleteLast() {
	e.get(1) // the guard
	e.commit(1, 1)
	e.get(1)
	e.find(e.tree.records.childrenOf("x").Limit(1), 0)
	e.together(2+e.rows(e.size.Depth), 2)
}

// lift moves the children of a node after it, from the last on, and removes the node, which is the last of its siblings.
func (e changeCost[T]) lift() {
	if e.either() {
		return
	}
	most, n := e.tree.forest.most, min(e.size.Children, e.size.Below)
	child := func(e *estimate[T], i int) {
		e.size.Below = (i+1)*(e.size.Below-n)/n - i*(e.size.Below-n)/n
		e.size.Levels--
		changeCost[T]{e}.moveTo(1, e.size.Children+1, i+1, true)
	}
	for done := 0; ; {
		some := min(n-done, most)
		e.get(1) // the guard
		if e.find(e.tree.records.childrenOf("x").Order("-place").Limit(most), some); some == 0 {
			break
		}
		for range some {
			e.repeat(1, func(e *estimate[T]) { child(e, done) })
			done++
		}
	}
	e.deleteLast()
}

// copied reads a node and what is below it, and inserts the copies one by one.
func (e changeCost[T]) copied() {
	e.one()
	if parent := *e.estimate; e.size.Depth > 0 {
		parent.size.Depth--
		parent.stable(parent.above)
		e.cost = parent.cost
	}
	e.descendants()
	e.insert()
	e.size.families(func(level, parents, children int) {
		for i := range children {
			e.repeat(parents, func(e *estimate[T]) { changeCost[T]{e}.insertAt(e.size.Depth+level+1, i) })
		}
	})
}

func (e changeCost[T]) deleteSubtree() {
	if e.either() {
		return
	}
	e.get(1) // the guard
	e.get(1) // the node
	e.together(2, 2)
	e.get(1)
	rows := 1 + e.rows(e.size.Depth)
	switch e.strategy {
	case Path:
		e.portions(e.tree.records.under("x"), 1, rows)
	case Ancestors:
		for level, n := range e.size.widths()[1:] {
			e.cost.Rows += n * (rows + level + 1)
		}
		e.portions(e.tree.records.beneath("x"), 0, 0)
	default:
		e.upwards(rows)
	}
	e.conclude(rows)
}

// upwards removes what lies below a node from the leaves up, so many rows for each.
func (e changeCost[T]) upwards(rows int) {
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
