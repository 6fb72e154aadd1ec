package main

import (
	"context"
	"strings"

	"github.com/polystore/polystore/backends/pebble"
	"github.com/polystore/polystore/backends/redis"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/tree"
)

// A leaf is the record as a user of package tree writes it.
type leaf struct {
	tree.Node
	Title string `repo:"title"`
	Body  string `repo:"body"`
}

func (l *leaf) node(depth int) node {
	return node{id: l.ID, parent: l.Parent, title: l.Title, body: l.Body, depth: depth}
}

func leafOf(n *node) leaf {
	return leaf{Node: tree.Node{ID: n.id, Parent: n.parent}, Title: n.title, Body: n.body}
}

// ourTree is the work on a tree as a user of package tree writes it.
type ourTree struct {
	store *repo.Store
	tree  *tree.Tree[leaf]
}

// treeOn returns what opens a tree of a strategy on Pebble.
func treeOn(s tree.Strategy) func(at place) (trees, error) {
	return func(at place) (trees, error) {
		backend, err := pebble.Open(at.dir, &pebble.Options{NoSync: !at.sync})
		if err != nil {
			return nil, err
		}
		return newOurTree(backend, s)
	}
}

func redisTreeOn(s tree.Strategy) func(at place) (trees, error) {
	return func(at place) (trees, error) {
		option := "?prefix="
		if strings.Contains(at.url, "?") {
			option = "&prefix="
		}
		backend, err := redis.Open(context.Background(), at.url+option+at.prefix())
		if err != nil {
			return nil, err
		}
		return newOurTree(backend, s)
	}
}

func newOurTree(backend driver.Store, s tree.Strategy) (trees, error) {
	store := repo.NewStore(backend, nil)
	f, err := tree.Open[leaf](context.Background(), store, tree.Schema{Collection: "shelves", Strategy: s})
	if err != nil {
		store.Close()
		return nil, err
	}
	return &ourTree{store, f.Tree("shop")}, nil
}

func (o *ourTree) close() error { return o.store.Close() }

func (o *ourTree) load(ctx context.Context, list []node) error {
	_, err := o.tree.Load(ctx, func(yield func(leaf, error) bool) {
		for i := range list {
			if !yield(leafOf(&list[i]), nil) {
				return
			}
		}
	})
	return err
}

func (o *ourTree) insert(ctx context.Context, n *node) error {
	l := leafOf(n)
	return o.tree.Insert(ctx, tree.Under(n.parent), &l)
}

func (o *ourTree) move(ctx context.Context, id, parent string) error {
	return o.tree.Move(ctx, id, tree.Under(parent))
}

func (o *ourTree) children(ctx context.Context, parent string, n int, visit func(node)) (more bool, err error) {
	page, err := o.tree.ChildrenPage(ctx, parent, n, "")
	for i := range page.Items {
		visit(page.Items[i].node(0))
	}
	return page.Next != "", err
}

func (o *ourTree) ancestors(ctx context.Context, id string, visit func(node)) error {
	list, err := o.tree.Ancestors(ctx, id)
	for i := range list {
		visit(list[i].node(0))
	}
	return err
}

func (o *ourTree) subtree(ctx context.Context, id string, visit func(node)) error {
	for item, err := range o.tree.Descendants(ctx, id, 0) {
		if err != nil {
			return err
		}
		visit(item.Node.node(item.Depth))
	}
	return nil
}
