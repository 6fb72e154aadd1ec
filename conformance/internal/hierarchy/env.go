package hierarchy

import (
	"context"
	"strings"

	"github.com/polystore/polystore/conformance/internal/rule"
	"github.com/polystore/polystore/conformance/internal/tested"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/tree"
)

// A node is a record of the trees of these rules.
type node struct {
	tree.Node
	Text string `repo:"text"`
}

// A kind of trees is a strategy, and whether they are spread.
type kind struct {
	strategy tree.Strategy
	spread   bool
}

func kinds() []kind {
	return []kind{
		{tree.Adjacency, false}, {tree.Path, false}, {tree.Ancestors, false}, {tree.NestedSets, false}, {tree.Document, false},
		{tree.Adjacency, true}, {tree.Ancestors, true},
	}
}

// String returns the kind as a part of a name.
func (k kind) String() string {
	name := strings.ReplaceAll(string(k.strategy), "_", " ")
	if k.spread {
		return "spread " + name
	}
	return name
}

func (k kind) needs() func(driver.Facts) string {
	if k.spread {
		return tested.Both(tested.ChangesStore, tested.KeepsLocal)
	}
	return tested.Both(tested.ChangesPartition, tested.KeepsLocal)
}

func (k kind) schema(collection string, also ...tree.Strategy) tree.Schema {
	return tree.Schema{Collection: collection, Strategy: k.strategy, Also: also, Spread: k.spread}
}

// strategies returns those to which a tree of the kind can be brought.
func (k kind) strategies() (list []tree.Strategy) {
	for _, other := range kinds() {
		if other.spread == k.spread {
			list = append(list, other.strategy)
		}
	}
	return list
}

// convertible is the collection that all rules on kinds with the same strategies share.
func (k kind) convertible() string {
	if k.spread {
		return "tree_spread_any"
	}
	return "tree_any"
}

// An env is what a rule on a kind of trees works with.
type env struct {
	*rule.Env
	kind kind
}

// collection returns the name of the one that all rules on the kind share.
func (e *env) collection() string { return "tree_" + strings.ReplaceAll(e.kind.String(), " ", "_") }

// tree returns a tree that no other rule has.
func (e *env) tree(ctx context.Context, name string) *tree.Tree[node] {
	forest := rule.SharedAs(ctx, e, e.collection(), func(name string) (*tree.Forest[node], error) {
		e.DropsCollection(name + "_trees")
		return tree.Open[node](ctx, e.Repo, e.kind.schema(name))
	})
	return forest.Tree(e.Tag + name)
}

// by returns the same tree by way of another store.
func (e *env) by(ctx context.Context, store driver.Store, tr *tree.Tree[node]) *tree.Tree[node] {
	forest, err := tree.Open[node](ctx, repo.NewStore(store, nil), e.kind.schema(e.ID+"_"+e.collection()))
	e.OK("open of a forest by another store", err)
	return forest.Tree(tr.Name())
}

// plant inserts nodes, each "id" or "id<parent".
func (e *env) plant(ctx context.Context, tr *tree.Tree[node], nodes string) {
	for _, one := range strings.Fields(nodes) {
		id, parent, _ := strings.Cut(one, "<")
		e.OK("insert of "+one, tr.Insert(ctx, tree.Under(parent), &node{Node: tree.Node{ID: id}, Text: id}))
	}
}

// outline returns a tree as a text: each node with a dot for each of its ancestors.
func (e *env) outline(ctx context.Context, tr *tree.Tree[node], id string) string {
	text := ""
	for item, err := range tr.Descendants(ctx, id, 0) {
		e.OK("descendants", err)
		text += strings.Repeat(".", item.Depth-1) + item.Node.ID + " "
	}
	return text
}

// sound ends the rule unless all that is derived from the parents of the nodes is right.
func (e *env) sound(ctx context.Context, tr *tree.Tree[node]) {
	problems, err := tr.Verify(ctx)
	e.OK("verify", err)
	e.That(len(problems) == 0, "a tree with which nothing is wrong", "%v", problems)
}
