package tree

import "github.com/polystore/polystore/repo"

// treeCost estimates calls that change a whole tree.
type treeCost[T any] struct{ *estimate[T] }

// load adds nodes to a tree that has none.
func (e treeCost[T]) load() {
	if e.mayBeDocument() {
		e.get(1)
	}
	if e.isDocument() {
		e.get(1)
		e.commit(1, 0)
		return
	}
	begun := false
	e.portionsLoaded(func(rows int) {
		if !begun {
			e.findRoots(0)
		}
		if e.strategy == NestedSets { // the guard says that all nodes are to be numbered
			e.get(1)
		}
		switch {
		case begun && e.strategy == NestedSets:
			e.together(rows+1, 1)
		case begun:
			e.commit(rows, 0)
		default:
			if e.strategy == NestedSets {
				e.get(1)
			}
			e.commit(rows+1, 0)
			e.findRoots(2)
		}
		begun = true
	})
	if e.get(1); e.strategy == NestedSets && begun {
		e.numberAll()
		e.conclude(0)
	}
}

// findRoots reads the guard and the last of some roots.
func (e treeCost[T]) findRoots(n int) {
	e.get(1)
	e.places(n)
}

// portionsLoaded calls commit with how many rows are in each commit of a load: it has checks of the parents, too, that
// are in none of its nodes.
func (e treeCost[T]) portionsLoaded(commit func(rows int)) {
	widths := e.size.widths()
	in := make([]int, len(widths))      // in which commit the last node of each level is
	checked := make([]int, len(widths)) // and in which the last check of it
	n, ops, rows := 1, 0, 0
	e.size.walk(func(level int) {
		if parent := level - 1; in[parent] < n && checked[parent] < n {
			checked[parent] = n
			ops++
		}
		in[level], checked[level] = n, 0
		rows += 1 + e.rows(level-1)
		if e.strategy == NestedSets {
			rows-- // it has no numbers so far
		}
		if ops++; ops >= e.tree.forest.most {
			commit(rows)
			n, ops, rows = n+1, 0, 0
		}
	})
	if ops > 0 {
		commit(rows)
	}
}

// numberAll gives all nodes numbers.
func (e treeCost[T]) numberAll() {
	e.lists()
	e.get(1)
	e.batches(e.size.Below, 2)
}

// convert brings the tree to another strategy.
func (e treeCost[T]) convert(to Strategy) {
	e.get(1)
	if e.isDocument() {
		e.find(repo.Where("tree", "x"), 0)
	}
	e.conclude(0)
	switch {
	case e.isDocument():
		e.unpack(to)
		return
	case to == Document:
		e.topDown(func(int) int { return 1 })
		e.pack()
		return
	}
	e.topDown(to.rows)
	if to == NestedSets {
		e.numberAll()
	}
	e.conclude(0)
	from := e.strategy
	e.topDown(func(depth int) int {
		if from == NestedSets {
			return 2
		}
		return from.rows(depth)
	})
	e.conclude(0)
}

// rows returns how many rows of a node change at a depth where it gets or loses what the strategy keeps. Numbers it
// gets later.
func (s Strategy) rows(depth int) int {
	switch s {
	case Path:
		return 2
	case Ancestors:
		return 1 + depth
	case NestedSets:
		return 1
	}
	return 0
}

// topDown reads all lists of children, and changes so many rows of each node at a depth.
func (e treeCost[T]) topDown(rows func(depth int) int) {
	e.size.families(func(level, parents, children int) {
		e.repeat(parents, func(e *estimate[T]) {
			e.children(children)
			if rows := rows(level); rows > 0 {
				e.batches(children, rows)
			}
		})
	})
}

// allRows returns how many rows the nodes of the tree have.
func (e treeCost[T]) allRows() (rows int) {
	for depth, n := range e.size.widths()[1:] {
		rows += n * (1 + e.rows(depth))
	}
	return rows
}

// pack makes a document of the nodes, and removes their records.
func (e treeCost[T]) pack() {
	most, all := e.tree.forest.most, repo.Where("tree", "x")
	e.lists()
	e.find(all, e.size.Below)
	e.conclude(0)
	all = all.Limit(most)
	for n := e.size.Below; n > 0; n -= most {
		e.find(all, min(n, most))
		e.batches(min(n, most), 0)
	}
	e.find(all, 0)
	e.cost.Rows += e.allRows()
	e.conclude(0)
}

// unpack makes records of the nodes of a document.
func (e treeCost[T]) unpack(to Strategy) {
	e.strategy = to
	for n := e.size.Below; n > 0; n -= e.tree.forest.most {
		e.get(min(n, e.tree.forest.most))
		e.commit(0, 0)
	}
	if e.cost.Rows += e.allRows(); to == NestedSets {
		e.cost.Rows -= e.size.Below // they have no numbers so far
		e.numberAll()
	}
	e.conclude(0)
}
