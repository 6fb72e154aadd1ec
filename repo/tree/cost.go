package tree

import (
	"context"
	"fmt"

	"github.com/polystore/polystore/repo"
)

// A Cost is what a call takes if nobody else writes the tree and nothing is pending. Each list of children that it reads
// has a [repo.Event] of its own, so the Depths of these together are more where lists are read at the same time.
type Cost struct {
	Call     string // the method, and of Convert the strategy: "Convert to path"
	Depth    int    // round trips, one after the other; lists that are read at the same time are one
	Requests int    // rows that are read by key, pages of ranges, and commits
	Rows     int    // records and index rows that are written, by the store too, each index of the schema's own as one
	Leaves   string // what stays if the program ends in the middle, "" if that is nothing
}

// String returns the cost as one line.
func (c Cost) String() string {
	text := fmt.Sprintf("%s: %d deep, %d requests", c.Call, c.Depth, c.Requests)
	switch {
	case c.Rows > 0 && c.Leaves == "":
		return fmt.Sprintf("%s, %d rows written; who stops in the middle leaves nothing behind", text, c.Rows)
	case c.Rows > 0:
		return fmt.Sprintf("%s, %d rows written; who stops in the middle leaves %s", text, c.Rows, c.Leaves)
	}
	return text
}

// mostNodes bounds a Size: what a tree costs is found by going through it.
const mostNodes = 10_000_000

// Explain says what each call costs on a tree of the strategy that a schema names, so that strategies are compared
// before one is taken. It sends nothing to the store: the forest need not be there, nor have the strategy. A size that
// no tree of the strategy has, whatever its IDs, is ErrInvalid, and a Convert to one that has none is left out.
//
// Positions are taken for Under a node, and the node for the last of its siblings, but by Next for the first. Load adds
// nodes in depth-first order to a tree that has none. Not counted is what makes room between the numbers of
// [NestedSets], and between two nodes where Lift brings more than some 80 children. Of Verify and Repair nothing is said
// where trees are Spread: they read the whole forest.
func Explain[T any](store *repo.Store, schema Schema, size Size) ([]Cost, error) {
	for _, n := range []int{size.Depth, size.Children, size.Below, size.Levels} {
		if n < 0 || n > mostNodes {
			return nil, schema.failed("explain", fmt.Errorf("%+v is no size, of which each number is from 0 to %d: %w", size, mostNodes, repo.ErrInvalid))
		}
	}
	imagined := imaginedBy(store)
	f, err := Open[T](context.Background(), imagined, schema)
	if err != nil {
		return nil, schema.failed("explain", err)
	}
	defer func() { _ = imagined.Close() }()
	if err := size.misfit(f.schema.Strategy); err != nil {
		return nil, schema.failed("explain", err)
	}
	e := estimate[T]{tree: &f.Tree("x").base, strategy: f.schema.Strategy, size: size}
	for _, w := range f.nodes.ExplainWrites() {
		if w.Write == "insert" {
			e.commits = w
		}
	}
	var list []Cost
	for _, c := range calls[T](&f.schema, e.strategy, size) {
		one := e
		if c.of(&one); one.failed != nil {
			return nil, f.schema.failed("explain", one.failed)
		}
		one.cost.Call, one.cost.Leaves = c.name, c.leaves
		if one.cost.Rows == 0 || e.isDocument() && one.cost.Rows == 1 {
			one.cost.Leaves = ""
		}
		list = append(list, one.cost)
	}
	return list, nil
}

// A call is how a call of a tree is estimated.
type call[T any] struct {
	name   string
	of     func(e *estimate[T])
	leaves string
}

// calls returns how each call is estimated.
func calls[T any](s *Schema, strategy Strategy, size Size) []call[T] {
	guard := func(e *estimate[T]) { e.get(1) }
	children := func(e *estimate[T]) { e.list(e.size.Children, func() { e.children(e.size.Children) }) }
	list := []call[T]{
		{"Exists", guard, ""}, {"Strategy", guard, ""}, {"Settle", guard, ""},
		{"Get", (*estimate[T]).one, ""},
		{"Parent", func(e *estimate[T]) { e.from(func() { e.get(1); e.get(1) }) }, ""},
		{"Children", children, ""},
		{"Reversed", children, ""},
		{"Siblings", (*estimate[T]).siblings, ""},
		{"Next", (*estimate[T]).next, ""},
		{"Previous", (*estimate[T]).next, ""},
		{"Ancestors", (*estimate[T]).ancestors, ""},
		{"Depth", func(e *estimate[T]) { e.stable(e.above) }, ""},
		{"IsBelow", func(e *estimate[T]) { e.stable(e.above) }, ""},
		{"CommonAncestor", (*estimate[T]).common, ""},                                                  // of two nodes of this depth
		{"HasChildren", func(e *estimate[T]) { e.list(e.size.Children, func() { e.hasChild() }) }, ""}, // of one node
		{"CountChildren", func(e *estimate[T]) { e.list(e.size.Children, func() { e.countChildren() }) }, ""},
		{"ChildrenPage", func(e *estimate[T]) { e.list(e.size.Children, func() { e.childrenPage() }) }, ""},
		{"Find", func(e *estimate[T]) { e.stable(e.named) }, ""},
		{"Descendants", (*estimate[T]).descendants, ""}, {"Annotated", (*estimate[T]).descendants, ""},
		{"Leaves", (*estimate[T]).descendants, ""}, {"Count", (*estimate[T]).descendants, ""},
		{"WriteLines", (*estimate[T]).written, ""}, {"WriteNested", (*estimate[T]).written, ""},
	}
	return append(list, writingCalls[T](s, strategy, size)...)
}

func writingCalls[T any](s *Schema, strategy Strategy, size Size) []call[T] {
	const ended = "a change half done, which the next writer ends"
	moved := ended
	if strategy == Adjacency {
		moved = ""
	}
	change := func(of func(changeCost[T])) func(e *estimate[T]) {
		return func(e *estimate[T]) { of(changeCost[T]{e}) }
	}
	list := []call[T]{
		{"Insert", change(changeCost[T].insert), ""},
		{"Update", change(changeCost[T].update), ""},
		{"Move", change(changeCost[T].move), moved},
		{"Delete", change(changeCost[T].deleteLeaf), ended},
		{"DeleteSubtree", change(changeCost[T].deleteSubtree), ended},
		{"Lift", change(changeCost[T].lift), "some children moved, and the next Lift moves the others"},
		{"Copy", change(changeCost[T].copied), "a part of the copy"},
		{"Load", func(e *estimate[T]) { treeCost[T]{e}.load() }, "the first of the nodes, which are a tree"},
	}
	if !s.Spread {
		list = append(list, call[T]{"Verify", (*estimate[T]).verified, ""}, call[T]{"Repair", (*estimate[T]).verified, ""})
	}
	for _, to := range strategies {
		if to != strategy && s.has(to) && size.misfit(to) == nil {
			list = append(list, call[T]{"Convert to " + string(to), func(e *estimate[T]) { treeCost[T]{e}.convert(to) }, ended})
		}
	}
	return list
}
