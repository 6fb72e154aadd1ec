package mongo_test

import (
	"context"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	mongodriver "go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/polystore/polystore/backends/mongo"
	"github.com/polystore/polystore/internal/testserver"
	"github.com/polystore/polystore/repo"
)

// leave opens a transaction that wrote to a collection, as a program does that is killed, and returns what ends it.
func leave(t *testing.T, db *mongodriver.Database, collection string) (end func()) {
	t.Helper()
	session, err := db.Client().StartSession()
	if err != nil {
		t.Fatal(err)
	}
	if err := session.StartTransaction(); err != nil {
		t.Fatal(err)
	}
	ctx := mongodriver.NewSessionContext(context.WithoutCancel(t.Context()), session)
	if _, err := db.Collection(collection).InsertOne(ctx, bson.D{{Key: "_id", Value: "of the killed#"}}); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := session.AbortTransaction(ctx); err != nil {
			t.Error(err)
		}
		session.EndSession(ctx)
	}
}

// An index is made and dropped where a killed program left a transaction open, for longer than a call may take. Others
// write meanwhile.
func TestIndexBesideAnOpenTransaction(t *testing.T) {
	t.Parallel()
	others, _, db := watched(t)
	schema := articleSchema()
	list := schema.Indexes[:1]
	schema.Indexes = nil
	other, err := repo.Open[article](t.Context(), others, schema)
	if err != nil {
		t.Fatal(err)
	}
	schema.Indexes = list
	s, err := mongo.Open(t.Context(), with(testserver.Shared(t, testserver.Mongo).URL, "timeoutMS=2000&database="+db.Name()))
	if err != nil {
		t.Fatal(err)
	}
	store := repo.NewStore(s, nil)
	defer store.Close()
	n := 0
	goesOn := func(what string, do func() error) {
		t.Helper()
		end := leave(t, db, schema.Collection)
		done := make(chan error, 1)
		go func() { done <- do() }()
		for begun := time.Now(); time.Since(begun) < 6*time.Second; time.Sleep(200 * time.Millisecond) {
			n++
			a := article1(n)
			at := time.Now()
			if err := other.Insert(t.Context(), &a); err != nil || time.Since(at) > 5*time.Second {
				t.Errorf("a write beside %s: %v after %s", what, err, time.Since(at))
			}
			select {
			case err := <-done:
				t.Fatalf("%s ended beside an open transaction: %v", what, err)
			default:
			}
		}
		end()
		if err := <-done; err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	goesOn("define", func() error {
		_, err := repo.Open[article](t.Context(), store, schema, repo.WithBuild())
		return err
	})
	goesOn("drop", func() error { return repo.DropIndex(t.Context(), store, schema.Collection, "by_topic") })
}
