package tree

import (
	"fmt"

	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/internal/limit"
	"github.com/polystore/polystore/repo/internal/record"
)

// A Size is how much of a tree a call is about. What lies below a node is taken for a regular tree.
type Size struct {
	Depth    int // how many ancestors the node has, there and where it moves or is copied to
	Children int // of the node, of its parent, and of the node where it moves or is copied to
	Below    int // nodes below the node; of a call that is about a whole tree, its nodes
	Levels   int // in which they lie: 1 if all are children
}

// misfit is ErrInvalid if no tree of a strategy has a node of this size.
func (z *Size) misfit(s Strategy) error {
	levels, least, bound, what := z.Depth+len(z.widths()), 0, 0, ""
	switch s {
	case Path:
		n := Node{ID: "x", Kept: Kept{Place: firstPlace}}
		least, bound, what = levels*len(n.pathBelow(nil)), limit.MaxKey, "bytes in a path, which is a key"
	case Ancestors:
		least, bound, what = levels-1, limit.MaxRows, "ancestors of a node, each a row of an index"
	case Document:
		node, err := record.EncodeAny(map[string]any{"id": "x", "parent": "x"}, 0)
		if err != nil {
			return err
		}
		least, bound, what = z.Below*record.SizeOf(&node), limit.MaxRecord, "bytes in a record"
	}
	if least > bound {
		return fmt.Errorf("no tree of %q has the size %+v: it would have %d %s, and at most %d are possible: %w", s, *z, least, what, bound, repo.ErrInvalid)
	}
	return nil
}

// widths returns how many nodes the levels below a node have, after the node itself.
func (z *Size) widths() []int {
	list, left := []int{1}, z.Below
	for left > 0 {
		next, each := left, max(1, z.Children)
		if last := list[len(list)-1]; len(list) < z.Levels && last <= left/each { // else the product may be no int
			next = last * each
		}
		list, left = append(list, next), left-next
	}
	return list
}

// families calls do with how many nodes of a level, of which 0 is the node itself, have how many children.
func (z *Size) families(do func(level, parents, children int)) {
	widths := append(z.widths(), 0)
	for level, parents := range widths[:len(widths)-1] {
		few, more := widths[level+1]/parents, widths[level+1]%parents
		do(level, parents-more, few)
		if more > 0 {
			do(level, more, few+1)
		}
	}
}

// walk calls visit with the level of each node below a node, in depth-first order.
func (z *Size) walk(visit func(level int)) {
	widths := append(z.widths(), 0)
	seen := make([]int, len(widths))
	var below func(level int)
	below = func(level int) {
		i, children := seen[level], widths[level+1]
		seen[level]++
		for range (i+1)*children/widths[level] - i*children/widths[level] {
			visit(level + 1)
			below(level + 1)
		}
	}
	below(0)
}
