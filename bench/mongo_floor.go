package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	mongodriver "go.mongodb.org/mongo-driver/v2/mongo"
	mongooptions "go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"

	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// A mongoFloor does the work by hand with the client for MongoDB: a document for each
// post with a token that each write changes, and for each index a collection of rows
// whose _id is in order. A write of several documents is one transaction.
type mongoFloor struct {
	client *mongodriver.Client
	posts  *mongodriver.Collection
	rows   map[byte]*mongodriver.Collection
}

// A mongoPost is a post as a document.
type mongoPost struct {
	ID       string      `bson:"_id"`
	Token    bson.Binary `bson:"token"`
	Author   string      `bson:"author"`
	Category string      `bson:"category"`
	Title    string      `bson:"title"`
	Body     string      `bson:"body"`
	Views    int64       `bson:"views"`
	Created  time.Time   `bson:"created"`
}

func (m *mongoPost) post() post {
	p := post{ID: m.ID, Author: m.Author, Category: m.Category, Title: m.Title, Body: m.Body, Views: m.Views, Created: m.Created.UTC()}
	copy(p.Version[:], m.Token.Data)
	return p
}

// stamped returns the document of a post with a token that none has had.
func stamped(p *post) *mongoPost {
	p.Version = repo.Version(driver.NewToken())
	return &mongoPost{p.ID, bson.Binary{Data: p.Version[:]}, p.Author, p.Category, p.Title, p.Body, p.Views, p.Created}
}

func openMongoFloor(at place, _ bool) (posts, error) {
	client, db, err := mongoDatabase(at, readconcern.Majority())
	if err != nil {
		return nil, err
	}
	f := &mongoFloor{client: client, posts: db.Collection("posts"),
		rows: map[byte]*mongodriver.Collection{authorKey: db.Collection("by_author"), categoryKey: db.Collection("by_category")}}
	for _, name := range []string{"posts", "by_author", "by_category"} {
		if err := db.CreateCollection(context.Background(), name); err != nil && !isCode(err, 48) { // it is there
			return nil, errors.Join(err, f.close())
		}
	}
	return f, nil
}

func isCode(err error, code int) bool {
	e, ok := errors.AsType[mongodriver.ServerError](err)
	return ok && e.HasErrorCode(code)
}

func (f *mongoFloor) close() error { return f.client.Disconnect(context.Background()) }

// rowID returns the _id of the row of a post in an index, newest first.
func rowID(p *post, index byte) string {
	return p.in(index) + "#" + fmt.Sprintf("%016x", newestFirst(p.Created)) + p.ID
}

func (f *mongoFloor) addRow(ctx context.Context, p *post, index byte) error {
	_, err := f.rows[index].InsertOne(ctx, bson.D{{Key: "_id", Value: rowID(p, index)}})
	return err
}

func (f *mongoFloor) removeRow(ctx context.Context, p *post, index byte) error {
	_, err := f.rows[index].DeleteOne(ctx, bson.D{{Key: "_id", Value: rowID(p, index)}})
	return err
}

// together calls do in a transaction, which is committed if do has done its part. What
// another transaction was faster than is not done, and no error.
func (f *mongoFloor) together(ctx context.Context, do func(ctx context.Context) (bool, error)) (done bool, err error) {
	session, err := f.client.StartSession(mongooptions.Session().SetCausalConsistency(false))
	if err != nil {
		return false, err
	}
	defer session.EndSession(ctx)
	if err := session.StartTransaction(mongooptions.Transaction().SetReadConcern(readconcern.Snapshot())); err != nil {
		return false, err
	}
	if done, err = do(mongodriver.NewSessionContext(ctx, session)); err == nil && done {
		err = session.CommitTransaction(ctx)
	}
	if e, ok := errors.AsType[mongodriver.LabeledError](err); ok && e.HasErrorLabel("TransientTransactionError") {
		return false, nil
	}
	return done && err == nil, err
}

func (f *mongoFloor) insert(ctx context.Context, p *post) error {
	for {
		done, err := f.together(ctx, func(ctx context.Context) (bool, error) {
			if _, err := f.posts.InsertOne(ctx, stamped(p)); err != nil {
				return false, err
			}
			return true, errors.Join(f.addRow(ctx, p, authorKey), f.addRow(ctx, p, categoryKey))
		})
		if mongodriver.IsDuplicateKeyError(err) {
			return repo.ErrExists
		}
		if done || err != nil {
			return err
		}
	}
}

func (f *mongoFloor) get(ctx context.Context, k key) (post, error) {
	return readMongo(ctx, f.posts, k.id)
}

func readMongo(ctx context.Context, from *mongodriver.Collection, id string) (post, error) {
	var m mongoPost
	err := from.FindOne(ctx, bson.D{{Key: "_id", Value: id}}).Decode(&m)
	if errors.Is(err, mongodriver.ErrNoDocuments) {
		return post{}, repo.ErrNotFound
	}
	return m.post(), err
}

func (f *mongoFloor) update(ctx context.Context, k key, version repo.Version, change func(*post) error) (post, error) {
	return updateMongo(ctx, f.posts, k, version, change, f.replace)
}

// updateMongo reads a post, changes it, and calls replace until nobody else was faster.
func updateMongo(ctx context.Context, from *mongodriver.Collection, k key, version repo.Version, change func(*post) error,
	replace func(ctx context.Context, old, next *post) (bool, error)) (post, error) {
	for {
		old, err := readMongo(ctx, from, k.id)
		if err == nil && !version.IsZero() && old.Version != version {
			err = repo.ErrConflict
		}
		if err != nil {
			return post{}, err
		}
		next := old
		if err := change(&next); err != nil {
			return post{}, err
		}
		done, err := replace(ctx, &old, &next)
		if done || err != nil {
			return next, err
		}
	}
}

// setMongo writes next if the post is still old.
func setMongo(ctx context.Context, in *mongodriver.Collection, old, next *post) (bool, error) {
	filter := bson.D{{Key: "_id", Value: old.ID}, {Key: "token", Value: bson.Binary{Data: old.Version[:]}}}
	result, err := in.UpdateOne(ctx, filter, bson.D{{Key: "$set", Value: stamped(next)}})
	return err == nil && result.MatchedCount == 1, err
}

// replace writes next with its rows if the post is still old. No operation changes the time.
func (f *mongoFloor) replace(ctx context.Context, old, next *post) (bool, error) {
	var moved []byte
	for _, index := range []byte{authorKey, categoryKey} {
		if old.in(index) != next.in(index) {
			moved = append(moved, index)
		}
	}
	if len(moved) == 0 {
		return setMongo(ctx, f.posts, old, next)
	}
	return f.together(ctx, func(ctx context.Context) (bool, error) {
		done, err := setMongo(ctx, f.posts, old, next)
		for _, index := range moved {
			if done && err == nil {
				err = errors.Join(f.removeRow(ctx, old, index), f.addRow(ctx, next, index))
			}
		}
		return done, err
	})
}

func (f *mongoFloor) delete(ctx context.Context, k key) error {
	for {
		old, err := f.get(ctx, k)
		if errors.Is(err, repo.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		done, err := f.together(ctx, func(ctx context.Context) (bool, error) {
			done, err := removeMongo(ctx, f.posts, &old)
			if !done || err != nil {
				return false, err
			}
			return true, errors.Join(f.removeRow(ctx, &old, authorKey), f.removeRow(ctx, &old, categoryKey))
		})
		if done || err != nil {
			return err
		}
	}
}

func removeMongo(ctx context.Context, from *mongodriver.Collection, old *post) (bool, error) {
	result, err := from.DeleteOne(ctx, bson.D{{Key: "_id", Value: old.ID}, {Key: "token", Value: bson.Binary{Data: old.Version[:]}}})
	return err == nil && result.DeletedCount == 1, err
}

func (f *mongoFloor) byAuthor(ctx context.Context, author string, n int) ([]post, error) {
	return f.newest(ctx, authorKey, author, n)
}

func (f *mongoFloor) byCategory(ctx context.Context, _, category string, n int) ([]post, error) {
	return f.newest(ctx, categoryKey, category, n)
}

// newest reads the first n rows, and then their posts.
func (f *mongoFloor) newest(ctx context.Context, index byte, value string, n int) ([]post, error) {
	within := bson.D{{Key: "$gte", Value: value + "#"}, {Key: "$lt", Value: value + "$"}}
	cursor, err := f.rows[index].Find(ctx, bson.D{{Key: "_id", Value: within}}, mongooptions.Find().SetSort(bson.D{{Key: "_id", Value: 1}}).SetLimit(int64(n)))
	if err != nil {
		return nil, err
	}
	var rows []struct {
		ID string `bson:"_id"`
	}
	if err := cursor.All(ctx, &rows); err != nil || len(rows) == 0 {
		return nil, err
	}
	ids, places := make([]string, len(rows)), make(map[string]int, len(rows))
	for i, r := range rows {
		ids[i] = r.ID[len(value)+1+16:]
		places[ids[i]] = i
	}
	if cursor, err = f.posts.Find(ctx, bson.D{{Key: "_id", Value: bson.D{{Key: "$in", Value: ids}}}}); err != nil {
		return nil, err
	}
	var found []mongoPost
	if err := cursor.All(ctx, &found); err != nil {
		return nil, err
	}
	list := make([]post, len(rows))
	for i := range found {
		list[places[found[i].ID]] = found[i].post()
	}
	return current(list, index, value), nil
}

// current leaves out posts that were deleted or changed after their rows were read.
func current(list []post, index byte, value string) []post {
	kept := list[:0]
	for i := range list {
		if list[i].ID != "" && list[i].in(index) == value {
			kept = append(kept, list[i])
		}
	}
	return kept
}
