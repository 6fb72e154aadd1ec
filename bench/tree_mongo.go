package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	mongodriver "go.mongodb.org/mongo-driver/v2/mongo"
	mongooptions "go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"

	"github.com/polystore/polystore/backends/mongo"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/tree"
)

// A treeOnMongo reads a tree by hand on MongoDB, as its manual says: by $graphLookup over the parents, or by an array
// of ancestors in each document, with an index of them. It sorts what it read into depth-first order.
//
// It leaves out what takes the library further requests: it has no guard, so that what it reads while nodes are moved
// may be of several states of the tree. And it does not write.
type treeOnMongo struct {
	client *mongodriver.Client
	nodes  *mongodriver.Collection
	arrays bool
	noWrites
}

// noWrites are the operations on trees that are not measured on MongoDB.
type noWrites struct{}

func (noWrites) insert(context.Context, *node) error        { return errors.ErrUnsupported }
func (noWrites) move(context.Context, string, string) error { return errors.ErrUnsupported }

func (noWrites) children(context.Context, string, int, func(node)) (bool, error) {
	return false, errors.ErrUnsupported
}

// A mongoNode is a node as a document.
type mongoNode struct {
	ID        string      `bson:"_id"`
	Parent    string      `bson:"parent"`
	Place     string      `bson:"place"`
	Ancestors []string    `bson:"ancestors,omitempty"`
	Title     string      `bson:"title"`
	Body      string      `bson:"body"`
	Level     int         `bson:"level,omitempty"` // of $graphLookup
	Found     []mongoNode `bson:"found,omitempty"` // by it
}

func (m *mongoNode) node(depth int) node {
	return node{id: m.ID, parent: m.Parent, title: m.Title, body: m.Body, depth: depth}
}

func mongoTreeFloorOf(arrays bool) func(at place) (trees, error) {
	return func(at place) (trees, error) {
		client, db, err := mongoDatabase(at, readconcern.Majority())
		if err != nil {
			return nil, err
		}
		f := &treeOnMongo{client: client, nodes: db.Collection("nodes"), arrays: arrays}
		keys := bson.D{{Key: "parent", Value: 1}}
		if arrays {
			keys = bson.D{{Key: "ancestors", Value: 1}}
		}
		if _, err := f.nodes.Indexes().CreateOne(context.Background(), mongodriver.IndexModel{Keys: keys}); err != nil {
			return nil, errors.Join(err, f.close())
		}
		return f, nil
	}
}

func (f *treeOnMongo) close() error { return f.client.Disconnect(context.Background()) }

func (f *treeOnMongo) load(ctx context.Context, list []node) error {
	above, last := map[string][]string{}, map[string]uint64{}
	for some := range slices.Chunk(list, 500) {
		docs := make([]mongoNode, len(some))
		for i, n := range some {
			last[n.parent] += placeStep
			docs[i] = mongoNode{ID: n.id, Parent: n.parent, Place: fmt.Sprintf("%016x", last[n.parent]), Title: n.title, Body: n.body}
			if n.parent != "" && f.arrays {
				above[n.id] = append(slices.Clip(above[n.parent]), n.parent)
				docs[i].Ancestors = above[n.id]
			}
		}
		if _, err := f.nodes.InsertMany(ctx, docs); err != nil {
			return err
		}
	}
	return nil
}

// lookup returns the node with what $graphLookup finds from it.
func (f *treeOnMongo) lookup(ctx context.Context, id, start, from, to string) (found []mongoNode, err error) {
	cursor, err := f.nodes.Aggregate(ctx, bson.A{
		bson.D{{Key: "$match", Value: bson.D{{Key: "_id", Value: id}}}},
		bson.D{{Key: "$graphLookup", Value: bson.D{{Key: "from", Value: "nodes"}, {Key: "startWith", Value: start},
			{Key: "connectFromField", Value: from}, {Key: "connectToField", Value: to}, {Key: "as", Value: "found"}, {Key: "depthField", Value: "level"}}}},
		bson.D{{Key: "$project", Value: bson.D{{Key: "found", Value: 1}}}},
	})
	if err != nil {
		return nil, err
	}
	var tops []mongoNode
	if err := cursor.All(ctx, &tops); err != nil {
		return nil, err
	}
	if len(tops) == 0 {
		return nil, repo.ErrNotFound
	}
	return tops[0].Found, nil
}

// find returns the nodes that a filter finds.
func (f *treeOnMongo) find(ctx context.Context, filter bson.D) (found []mongoNode, err error) {
	cursor, err := f.nodes.Find(ctx, filter)
	if err == nil {
		err = cursor.All(ctx, &found)
	}
	return found, err
}

func (f *treeOnMongo) ancestors(ctx context.Context, id string, visit func(node)) error {
	found, err := f.above(ctx, id)
	for i := range found {
		visit(found[i].node(0))
	}
	return err
}

// above returns the ancestors of a node, from the root on.
func (f *treeOnMongo) above(ctx context.Context, id string) ([]mongoNode, error) {
	if !f.arrays {
		found, err := f.lookup(ctx, id, "$parent", "parent", "_id")
		slices.SortFunc(found, func(a, b mongoNode) int { return cmp.Compare(b.Level, a.Level) })
		return found, err
	}
	var n mongoNode
	only := mongooptions.FindOne().SetProjection(bson.D{{Key: "ancestors", Value: 1}})
	err := f.nodes.FindOne(ctx, bson.D{{Key: "_id", Value: id}}, only).Decode(&n)
	if errors.Is(err, mongodriver.ErrNoDocuments) {
		return nil, repo.ErrNotFound
	}
	if err != nil || len(n.Ancestors) == 0 {
		return nil, err
	}
	found, err := f.find(ctx, bson.D{{Key: "_id", Value: bson.D{{Key: "$in", Value: n.Ancestors}}}})
	slices.SortFunc(found, func(a, b mongoNode) int { return cmp.Compare(len(a.Ancestors), len(b.Ancestors)) })
	return found, err
}

func (f *treeOnMongo) subtree(ctx context.Context, id string, visit func(node)) (err error) {
	var found []mongoNode
	if f.arrays {
		found, err = f.find(ctx, bson.D{{Key: "ancestors", Value: id}})
	} else {
		found, err = f.lookup(ctx, id, "$_id", "_id", "parent")
	}
	if err != nil {
		return err
	}
	children := make(map[string][]*mongoNode, len(found))
	for i := range found {
		children[found[i].Parent] = append(children[found[i].Parent], &found[i])
	}
	for _, list := range children {
		slices.SortFunc(list, func(a, b *mongoNode) int { return cmp.Compare(a.Place, b.Place) })
	}
	var down func(id string, depth int)
	down = func(id string, depth int) {
		for _, n := range children[id] {
			visit(n.node(depth))
			down(n.ID, depth+1)
		}
	}
	down(id, 1)
	return nil
}

func mongoTreeOn(s tree.Strategy) func(at place) (trees, error) {
	return func(at place) (trees, error) {
		client, err := mongodriver.Connect(mongoOptions(at))
		if err != nil {
			return nil, err
		}
		backend, err := mongo.New(context.Background(), client, &mongo.Options{Database: databaseOf(at.prefix())})
		if err != nil {
			return nil, errors.Join(err, client.Disconnect(context.Background()))
		}
		t, err := newOurTree(backend, s)
		return &mongoTree{t, client}, err
	}
}

// A mongoTree disconnects its client in the end.
type mongoTree struct {
	trees
	client *mongodriver.Client
}

func (m *mongoTree) close() error {
	return errors.Join(m.trees.close(), m.client.Disconnect(context.Background()))
}
