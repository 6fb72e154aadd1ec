package tree

import (
	"context"
	"strings"
)

// A strategy keeps what its fields of a [Node] say, and finds by them what lies above and below a node.
type strategy[T any] interface {
	// moves returns what is left to be done when a node is written as next, nil if that is nothing.
	moves(was, next *Node) *pending

	// outside is ErrBelowItself if a parent, nil of a root, is a node or lies below it.
	outside(ctx context.Context, t *base[T], n, parent *Node) error

	// finish does what is left of the pending change of a guard, but for the guard itself and the node it names.
	finish(ctx context.Context, t *base[T], g *guard) error

	// above returns the IDs of the ancestors of a node, from the root on.
	above(ctx context.Context, t *base[T], g *guard, id string) ([]string, error)

	// ancestors is above with the nodes.
	ancestors(ctx context.Context, t *base[T], g *guard, id string) ([]T, error)

	// below emits what lies below a node, in depth-first order, down to a depth. The node is nil for all roots and
	// what lies below them.
	below(ctx context.Context, t *base[T], g *guard, n *Node, depth int, emit emitter[T]) error
}

// An emitter takes a node, which is good for the time of the call, and its depth below the node where a walk begins.
type emitter[T any] func(rec *T, depth int) error

// What Keeps says of the strategies that keep something.
const (
	keepsPath      = "p"
	keepsAncestors = "a"
	keepsNumbers   = "n"
	keepsDocument  = "d" // the node is on its way to a document
)

// keeps returns what the nodes of a strategy keep.
func (s Strategy) keeps() string {
	switch s {
	case Path:
		return keepsPath
	case Ancestors:
		return keepsAncestors
	case NestedSets:
		return keepsNumbers
	case Document:
		return keepsDocument
	}
	return ""
}

// isNumbered reports whether a node has numbers, or will get them.
func (k *Kept) isNumbered() bool { return strings.Contains(k.Keeps, keepsNumbers) }

func (k *Kept) isPacked() bool { return strings.Contains(k.Keeps, keepsDocument) }

// isStrict reports whether nodes that keep something are inserted and deleted only while the guard is as it was.
func isStrict(keeps string) bool { return strings.ContainsAny(keeps, keepsNumbers+keepsDocument) }

// derive sets what a node keeps that comes to lie under a parent, nil of a root. Numbers are set by [Tree.number].
func (n *Node) derive(parent *Node, keeps string) {
	n.Keeps, n.Path, n.Ancestors = keeps, "", nil
	if strings.Contains(keeps, keepsPath) {
		n.Path = n.pathBelow(parent)
	}
	if strings.Contains(keeps, keepsAncestors) {
		n.Ancestors = n.ancestorsBelow(parent)
	}
	if !n.isNumbered() {
		n.Left, n.Right = 0, 0
	}
}

// strategyOf returns the strategy of a tree.
func strategyOf[T any](g *guard) strategy[T] {
	switch g.Strategy {
	case Path:
		return path[T]{}
	case Ancestors:
		return ancestors[T]{}
	case NestedSets:
		return nested[T]{}
	case Document:
		return packed[T]{}
	}
	return adjacency[T]{}
}
