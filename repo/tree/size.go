package tree

// A Size is how much of a tree a call is about. What lies below a node is taken for a regular tree.
type Size struct {
	Depth    int // how many ancestors the node has, there and where it moves or is copied to
	Children int // of the node, of its parent, and of the node where it moves or is copied to
	Below    int // nodes below the node; of a call that is about a whole tree, its nodes
	Levels   int // in which they lie: 1 if all are children
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
