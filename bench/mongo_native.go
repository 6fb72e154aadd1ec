package main

import (
	"context"
	"errors"

	"go.mongodb.org/mongo-driver/v2/bson"
	mongodriver "go.mongodb.org/mongo-driver/v2/mongo"
	mongooptions "go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"

	"github.com/polystore/polystore/repo"
)

// A mongoNative does the work by hand with the client for MongoDB and indexes that the
// server keeps: each write is one command.
type mongoNative struct {
	client *mongodriver.Client
	posts  *mongodriver.Collection
}

func openMongoNative(at place, _ bool) (posts, error) { return openNative(at, readconcern.Majority()) }

// openMongoUsual opens what people write who leave the read concern as it is: what a read
// returns may be lost with the primary.
func openMongoUsual(at place, _ bool) (posts, error) { return openNative(at, readconcern.Local()) }

func openNative(at place, concern *readconcern.ReadConcern) (posts, error) {
	client, db, err := mongoDatabase(at, concern)
	if err != nil {
		return nil, err
	}
	f := &mongoNative{client, db.Collection("posts")}
	newest := func(field string) mongodriver.IndexModel {
		return mongodriver.IndexModel{Keys: bson.D{{Key: field, Value: 1}, {Key: "created", Value: -1}}}
	}
	if _, err := f.posts.Indexes().CreateMany(context.Background(), []mongodriver.IndexModel{newest("author"), newest("category")}); err != nil {
		return nil, errors.Join(err, f.close())
	}
	return f, nil
}

func (f *mongoNative) close() error { return f.client.Disconnect(context.Background()) }

func (f *mongoNative) insert(ctx context.Context, p *post) error {
	_, err := f.posts.InsertOne(ctx, stamped(p))
	if mongodriver.IsDuplicateKeyError(err) {
		return repo.ErrExists
	}
	return err
}

func (f *mongoNative) get(ctx context.Context, k key) (post, error) {
	return readMongo(ctx, f.posts, k.id)
}

func (f *mongoNative) update(ctx context.Context, k key, version repo.Version, change func(*post) error) (post, error) {
	return updateMongo(ctx, f.posts, k, version, change, func(ctx context.Context, old, next *post) (bool, error) {
		return setMongo(ctx, f.posts, old, next)
	})
}

func (f *mongoNative) delete(ctx context.Context, k key) error {
	_, err := f.posts.DeleteOne(ctx, bson.D{{Key: "_id", Value: k.id}})
	return err
}

func (f *mongoNative) byAuthor(ctx context.Context, author string, n int) ([]post, error) {
	return f.newest(ctx, "author", author, n)
}

func (f *mongoNative) byCategory(ctx context.Context, _, category string, n int) ([]post, error) {
	return f.newest(ctx, "category", category, n)
}

func (f *mongoNative) newest(ctx context.Context, field, value string, n int) ([]post, error) {
	order := mongooptions.Find().SetSort(bson.D{{Key: "created", Value: -1}}).SetLimit(int64(n))
	cursor, err := f.posts.Find(ctx, bson.D{{Key: field, Value: value}}, order)
	if err != nil {
		return nil, err
	}
	var found []mongoPost
	if err := cursor.All(ctx, &found); err != nil {
		return nil, err
	}
	list := make([]post, len(found))
	for i := range found {
		list[i] = found[i].post()
	}
	return list, nil
}
