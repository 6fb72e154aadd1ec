package tree

import (
	"fmt"
	"slices"

	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// A Strategy is what is kept of a node beside its parent and its place among the siblings, and so how ancestors and
// subtrees are found. All strategies give the same answers.
type Strategy string

// The strategies.
const (
	// Adjacency keeps nothing more. A move is one commit, whatever is below the node. Ancestors are read one after
	// the other, and a subtree level by level.
	Adjacency Strategy = "adjacency"

	// Path keeps the places and IDs from the root to the node. A subtree is one range in depth-first order, and
	// ancestors are one read more. A move writes all that is below the node.
	Path Strategy = "path"

	// Ancestors keeps the IDs from the root to the parent, and an index of them. What lies below a node, in no order,
	// is one range, and ancestors are one read more. A move writes all that is below the node.
	Ancestors Strategy = "ancestors"

	// NestedSets keeps two numbers, between which those of all nodes below lie. A subtree is one range in depth-first
	// order, and whether a node is below another one follows from their numbers; ancestors are read one after the
	// other. An insert writes the parent, too, and where there is no room between the numbers, all nodes; a move
	// writes all that is below the node. Nobody reads the structure while it does: it is for trees that rarely change.
	NestedSets Strategy = "nested_sets"
)

// Document keeps the whole tree in one record, which every read reads and every write of it or of a node writes: for
// small trees that are read whole. Other programs, and [Forest.Nodes], do not find its nodes by indexes. Where the
// record becomes too large it is ErrTooLarge, and [Tree.Convert] is the way out.
const Document Strategy = "document"

var strategies = []Strategy{Adjacency, Path, Ancestors, NestedSets, Document}

// A Schema says what the collection of a [Forest] is.
type Schema struct {
	// Collection is the name of the collection of nodes, as in [repo.Schema]. The guards of the trees are in
	// another one, which has this name and "_trees".
	Collection string

	// Strategy is that of new trees. "" is Adjacency.
	Strategy Strategy

	// Also are further strategies that trees of the forest have, or to which [Tree.Convert] brings them.
	Also []Strategy

	// Name is the field by which [Tree.Find] finds a node among its siblings. "" is the ID.
	Name string

	// Sorted are the fields by which siblings are ordered, "-" before a field for descending, and then by ID. Each is
	// a scalar field of the record. Without them siblings are in the order that the program gives them, and
	// [Under] is the only position of a sorted tree.
	Sorted []string

	// Spread gives each node a partition of its own, each list of siblings another one, and the guard a third: for
	// trees that are too large or too busy for one partition. Strategies are Adjacency and Ancestors: the others keep
	// a tree in one order. The store must be able to commit across partitions, which Open sees to.
	Spread bool

	// Indexes are further indexes of the nodes.
	Indexes []repo.Index
}

const (
	childrenIndex  = "children"
	idsIndex       = "ids"
	pathIndex      = "paths"
	ancestorsIndex = "ancestors"
	numbersIndex   = "numbers"
	namesIndex     = "names"
	guardsSuffix   = "_trees"
)

func (s *Schema) check() error {
	if s.Strategy == "" {
		s.Strategy = Adjacency
	}
	for _, one := range append([]Strategy{s.Strategy}, s.Also...) {
		if !slices.Contains(strategies, one) {
			return fmt.Errorf("strategy %q is none of %q: %w", one, strategies, repo.ErrSchema)
		}
		if unique := slices.IndexFunc(s.Indexes, func(x repo.Index) bool { return x.Unique }); one == Document && unique >= 0 {
			return fmt.Errorf("strategy %q keeps no index, so index %d cannot be unique: %w", one, unique, repo.ErrSchema)
		}
		if s.Spread && one != Adjacency && one != Ancestors {
			return fmt.Errorf("strategy %q keeps a tree together, so it cannot be Spread; take %q or %q: %w", one, Adjacency, Ancestors, repo.ErrSchema)
		}
	}
	return nil
}

// has reports whether the forest has trees of a strategy.
func (s *Schema) has(one Strategy) bool {
	return one == Adjacency || one == s.Strategy || slices.Contains(s.Also, one)
}

// able is ErrUnsupported if a store cannot keep the trees of a schema.
func (s *Schema) able(f *driver.Facts) error {
	if f.Scope < driver.ScopePartition {
		return fmt.Errorf("%s changes one %s at a time, and a change of a tree writes a node and the guard: %w", f.Name, f.Scope, repo.ErrUnsupported)
	}
	if s.Spread && f.Scope < driver.ScopeStore {
		return fmt.Errorf("%s changes one %s at a time, and a change of a Spread tree writes a node, its parent and the guard, which lie apart: %w", f.Name, f.Scope, repo.ErrUnsupported)
	}
	return nil
}

// nodes returns the schema of the collection of nodes. A store that follows references needs an index to find a node
// by its ID.
func (s *Schema) nodes(follows bool) repo.Schema {
	all := repo.Schema{Collection: s.Collection, Partition: []string{"tree"}, Sort: []string{"id"}}
	if s.Spread {
		all.Partition, all.Sort = []string{"tree", "id"}, nil
	}
	all.Indexes = append(all.Indexes, s.index(childrenIndex, 2, "tree", "parent", "place"))
	if follows {
		all.Indexes = append(all.Indexes, repo.Index{Name: idsIndex, Partition: []string{"tree"}, Sort: []string{"id"}, Kind: "native"})
	}
	if s.has(Path) {
		all.Indexes = append(all.Indexes, s.index(pathIndex, 1, "tree", "path"))
	}
	if s.has(Ancestors) {
		all.Indexes = append(all.Indexes, s.index(ancestorsIndex, 2, "tree", "ancestors[]"))
	}
	if s.has(NestedSets) {
		all.Indexes = append(all.Indexes, s.index(numbersIndex, 1, "tree", "left"))
	}
	if s.Name != "" {
		all.Indexes = append(all.Indexes, s.index(namesIndex, 2, "tree", "parent", s.Name, "place"))
	}
	all.Indexes = append(all.Indexes, s.Indexes...)
	return all
}

// index returns an index of which the first fields are the partition: one, or so many where trees are spread.
func (s *Schema) index(name string, spread int, fields ...string) repo.Index {
	if !s.Spread {
		spread = 1
	}
	return repo.Index{Name: name, Partition: fields[:spread], Sort: fields[spread:]}
}

// guards returns the schema of the collection of guards.
func (s *Schema) guards() repo.Schema {
	all := repo.Schema{Collection: s.Collection + guardsSuffix, With: s.Collection, Partition: []string{"tree"}}
	if s.Spread {
		all.With = ""
	}
	return all
}
