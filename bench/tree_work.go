package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
)

// A node is the record of the work on trees, about 300 bytes like a post.
type node struct {
	id, parent  string
	title, body string
	depth       int // below the node whose subtree is read, else 0
}

// A trees is what a candidate does with one tree. Its errors are or wrap those of packages repo and tree. What visit
// gets is only for the time of the call.
type trees interface {
	// load adds nodes to an empty tree, parents before their children.
	load(ctx context.Context, list []node) error

	// insert adds a node as the last child of its parent, which must be there, else repo.ErrNotFound; the node must
	// not, else repo.ErrExists.
	insert(ctx context.Context, n *node) error

	// move makes a node, with what is below it, the last child of another one: tree.ErrBelowItself if that lies
	// below the node.
	move(ctx context.Context, id, parent string) error

	// children visits the first n children of a node, in their order, and returns whether there are more.
	children(ctx context.Context, parent string, n int, visit func(node)) (more bool, err error)

	// ancestors visits the nodes from the root to the parent of a node, which are of one state of the tree.
	ancestors(ctx context.Context, id string, visit func(node)) error

	// subtree visits what lies below a node, depth first, of one state of the tree.
	subtree(ctx context.Context, id string, visit func(node)) error

	close() error
}

// The operations on trees.
const (
	opChildren  = "children20"
	opAncestors = "ancestors6"
	opSubtree   = "subtree1000"
	opSprout    = "insertleaf"
	opTransfer  = "moveleaf"
)

var treeOperations = []string{opChildren, opAncestors, opSubtree, opSprout, opTransfer}

// treeWork returns the work on trees of a store. What is measured on MongoDB are the reads that its $graphLookup does.
func treeWork(store string) *work {
	w := &work{operations: treeOperations, touch: opTransfer,
		open:  func(c *candidate, at place) (subject, error) { return c.tree(at) },
		check: checkTree,
		fill: func(ctx context.Context, s subject, records int) error {
			return s.(trees).load(ctx, newPlot(records).nodes)
		},
		begin: func(records int) world { return newPlot(records) },
	}
	if store == mongoName {
		w.operations, w.touch = []string{opAncestors, opSubtree}, ""
	}
	return w
}

// treeScale is how much work a round on trees is.
func treeScale(store string, part int) scale {
	calls := map[string]int{opChildren: 2_000, opAncestors: 4_000, opSubtree: 40, opSprout: 3_000, opTransfer: 2_000}
	records := 10_000
	switch store {
	case redisName:
		records, calls = 4_000, map[string]int{opChildren: 500, opAncestors: 500, opSubtree: 10, opSprout: 500, opTransfer: 500}
	case mongoName:
		records, calls = 4_000, map[string]int{opAncestors: 300, opSubtree: 30}
	}
	for op := range calls {
		calls[op] = max(1, calls[op]/part)
	}
	return scale{records, calls, 5, false}
}

// A plot is the tree that a candidate holds. Below the root, a region and a country are sections, each of 1,000 nodes
// in three levels, whose last have six ancestors, and lists of 40 leaves. Only the lists change.
type plot struct {
	nodes           []node // at first
	sections, lists []string
	deep            []string // nodes with six ancestors
	leaves          []string // of the lists
	under           map[string]string
}

const listLength = 40

func newPlot(records int) *plot {
	p := &plot{under: map[string]string{}}
	country := p.add(p.add(p.add("")))
	for range max(1, records/2000) {
		section := p.add(country)
		p.sections = append(p.sections, section)
		for range 10 {
			group := p.add(section)
			for range 9 {
				shelf := p.add(group)
				for range 10 {
					p.deep = append(p.deep, p.add(shelf))
				}
			}
		}
	}
	for range max(3, (records-len(p.nodes))/(listLength+1)) {
		list := p.add(country)
		p.lists = append(p.lists, list)
		for range listLength {
			p.leaves = append(p.leaves, p.add(list))
			p.under[p.leaves[len(p.leaves)-1]] = list
		}
	}
	return p
}

// add adds a node and returns its ID.
func (p *plot) add(parent string) string {
	p.nodes = append(p.nodes, newNode(len(p.nodes), parent))
	return p.nodes[len(p.nodes)-1].id
}

func newNode(i int, parent string) node {
	r := drawn(i)
	return node{id: fmt.Sprintf("n%08x", uint32(i)*2654435761), parent: parent, title: sentence(r, 38), body: sentence(r, 200)}
}

func (p *plot) size() int { return len(p.nodes) }

// calls gives all calls to one worker: all on one tree depend on those before.
func (p *plot) calls(op string, n, workers int, r *rand.Rand) [][]call {
	lists := make([][]call, workers)
	for range n {
		lists[0] = append(lists[0], p.call(op, r))
	}
	return lists
}

func (p *plot) call(op string, r *rand.Rand) *treeCall {
	some := func(ids []string) string { return ids[r.IntN(len(ids))] }
	switch op {
	case opChildren:
		return &treeCall{op: op, id: some(p.lists)}
	case opAncestors:
		return &treeCall{op: op, id: some(p.deep)}
	case opSubtree:
		return &treeCall{op: op, id: some(p.sections)}
	case opSprout:
		list := some(p.lists)
		id := p.add(list)
		p.leaves, p.under[id] = append(p.leaves, id), list
		return &treeCall{op: op, id: id, node: p.nodes[len(p.nodes)-1]}
	}
	leaf, to := some(p.leaves), some(p.lists)
	for to == p.under[leaf] {
		to = some(p.lists)
	}
	p.under[leaf] = to
	return &treeCall{op: op, id: leaf, node: node{parent: to}}
}

// A treeCall is a call on a tree.
type treeCall struct {
	op, id string
	node   node
}

func (c *treeCall) String() string { return c.op + " " + c.id }

func (c *treeCall) do(ctx context.Context, s subject) (sum uint64, err error) {
	t := s.(trees)
	visit := func(n node) { sum = sum*31 + n.fold() }
	switch c.op {
	case opChildren:
		more, err := t.children(ctx, c.id, 20, visit)
		if more {
			sum++
		}
		return sum, err
	case opAncestors:
		err = t.ancestors(ctx, c.id, visit)
	case opSubtree:
		err = t.subtree(ctx, c.id, visit)
	case opSprout:
		err = t.insert(ctx, &c.node)
	default:
		err = t.move(ctx, c.id, c.node.parent)
	}
	return sum, err
}

// fold makes a number of a node, like that of a post.
func (n *node) fold() uint64 {
	sum := uint64(n.depth)<<56 ^ uint64(len(n.title)+len(n.body))<<40
	for _, text := range [...]string{n.id, n.parent} {
		for i := range len(text) {
			sum = sum*131 + uint64(text[i])
		}
	}
	return sum + uint64(n.title[0])<<32 + uint64(n.body[len(n.body)-1])
}

func (p *plot) digest(ctx context.Context, _ *candidate, s subject) (string, error) {
	t, h := s.(trees), sha256.New()
	err := t.subtree(ctx, p.nodes[0].id, func(n node) { fmt.Fprintf(h, "%+v\n", n) })
	return hex.EncodeToString(h.Sum(nil)[:8]), err
}

// collect returns the nodes that a read visits.
func collect(read func(visit func(node)) error) (list []node, err error) {
	err = read(func(n node) { list = append(list, n) })
	return list, err
}

// errWrongTree says that a candidate gave another answer than the model.
var errWrongTree = errors.New("wrong answer")

// sameNodes compares what was read with what should be.
func sameNodes(what string, got, want []node, err error) error {
	if err != nil || !slices.Equal(got, want) {
		ids := func(list []node) (all []string) {
			for _, n := range list {
				all = append(all, fmt.Sprint(n.id, n.depth))
			}
			return all
		}
		return fmt.Errorf("%s: %w: %v, want %v, error %s", what, errWrongTree, ids(got), ids(want), fmt.Sprint(err))
	}
	return nil
}
