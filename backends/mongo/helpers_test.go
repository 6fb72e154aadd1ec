package mongo_test

import (
	"context"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	mongodriver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/polystore/polystore/backends/mongo"
	"github.com/polystore/polystore/internal/backendtest"
	"github.com/polystore/polystore/internal/testserver"
	"github.com/polystore/polystore/repo/driver"
)

// open opens a store on a server, in a database for this test, and defines the tables.
func open(t testing.TB, url string) (*mongo.Store, *backendtest.Tables) {
	t.Helper()
	if !strings.Contains(url, "database=") {
		url = with(url, "database=test"+driver.NewToken().String())
	}
	s, err := mongo.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	ts := backendtest.NewTables()
	if err := s.Define(t.Context(), ts.All()); err != nil {
		t.Fatal(err)
	}
	return s, ts
}

// shared opens a store on the server of all tests, and a client of its database as other
// programs have.
func shared(t testing.TB) (*mongo.Store, *backendtest.Tables, *mongodriver.Database) {
	t.Helper()
	url := testserver.Shared(t, testserver.Mongo).URL
	name := "test" + driver.NewToken().String()
	s, ts := open(t, with(url, "database="+name+patient))
	db := raw(t, url).Database(name)
	t.Cleanup(func() { db.Drop(context.WithoutCancel(t.Context())) })
	return s, ts, db
}

// own starts a server for one test, with fail points, and opens a store on it.
func own(t testing.TB, args ...string) (*testserver.Server, *mongo.Store, *backendtest.Tables) {
	t.Helper()
	server := testserver.Start(t, testserver.Mongo, append(args, "--setParameter", "enableTestCommands=1")...)
	s, ts := open(t, with(server.URL, "heartbeatFrequencyMS=500&serverSelectionTimeoutMS=2000"))
	return server, s, ts
}

// raw returns a client of a server, as other programs are.
func raw(t testing.TB, url string) *mongodriver.Client {
	t.Helper()
	c, err := mongodriver.Connect(options.Client().ApplyURI(url))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Disconnect(context.WithoutCancel(t.Context())) })
	return c
}

// do sends a command as another program.
func do(t testing.TB, db *mongodriver.Database, cmd bson.D) bson.Raw {
	t.Helper()
	reply, err := db.RunCommand(context.WithoutCancel(t.Context()), cmd).Raw()
	if err != nil {
		t.Fatalf("%v: %v", cmd, err)
	}
	return reply
}

func d(pairs ...any) bson.D {
	var doc bson.D
	for i := 0; i < len(pairs); i += 2 {
		doc = append(doc, bson.E{Key: pairs[i].(string), Value: pairs[i+1]})
	}
	return doc
}
