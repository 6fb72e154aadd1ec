package tree

import (
	"fmt"

	"github.com/polystore/polystore/repo"
)

// A Size is how much of a tree a call is about.
type Size struct {
	Depth    int // how many ancestors the node has, there and where it moves to
	Children int // of the node, of its siblings and of the node where it moves to
	Below    int // nodes below the node
	Levels   int // in which they lie: 1 if all are children
}

// A Cost is what a call takes if nobody else writes the tree and nothing is pending.
type Cost struct {
	Call     string
	Depth    int // round trips, one after the other, as [repo.Event] counts them
	Requests int // rows that are read by key, pages of ranges, and commits
	Rows     int // records and index rows that are written, by the store too, each index of the schema's own as one
}

// Explain says what calls on a tree of a strategy cost. What lies below a node is taken for a regular tree.
func (f *Forest[T]) Explain(s Strategy, size Size) ([]Cost, error) {
	if err := f.Tree("x").made(); err != nil {
		return nil, (&Schema{}).failed("explain", err)
	}
	if !f.schema.has(s) {
		return nil, f.schema.failed("explain", fmt.Errorf("the schema has no strategy %q; name it in Also: %w", s, repo.ErrSchema))
	}
	if size.Depth < 0 || size.Children < 0 || size.Below < 0 || size.Levels < 0 {
		return nil, f.schema.failed("explain", fmt.Errorf("%+v is no size: %w", size, repo.ErrInvalid))
	}
	e := estimate[T]{tree: &f.Tree("x").base, strategy: s, size: size}
	if f.nodes == nil {
		return nil, f.schema.failed("explain", f.Tree("x").writable())
	}
	for _, w := range f.nodes.ExplainWrites() {
		if w.Write == "insert" {
			e.commits = w
		}
	}
	calls := []struct {
		name string
		of   func(e *estimate[T])
	}{
		{"Get", func(e *estimate[T]) { e.from(func() { e.get(1) }) }},
		{"Parent", func(e *estimate[T]) { e.from(func() { e.get(1); e.get(1) }) }},
		{"Children", func(e *estimate[T]) { e.from(func() { e.children(size.Children) }) }},
		{"Ancestors", (*estimate[T]).ancestors},
		{"Depth", func(e *estimate[T]) { e.stable(e.above) }},
		{"HasChildren", func(e *estimate[T]) { e.from(func() { e.hasChild() }) }}, // of one node
		{"ChildrenPage", func(e *estimate[T]) { e.from(func() { e.childrenPage() }) }},
		{"Find", func(e *estimate[T]) { e.stable(e.named) }},
		{"Descendants", (*estimate[T]).descendants},
		{"Count", (*estimate[T]).descendants},
		{"Insert", (*estimate[T]).insert},
		{"Update", (*estimate[T]).update},
		{"Move", (*estimate[T]).move},
		{"Delete", (*estimate[T]).deleteLeaf},
		{"DeleteSubtree", (*estimate[T]).deleteSubtree},
	}
	var list []Cost
	for _, c := range calls {
		one := e
		if c.of(&one); one.failed != nil {
			return nil, f.schema.failed("explain", one.failed)
		}
		one.cost.Call = c.name
		list = append(list, one.cost)
	}
	return list, nil
}
