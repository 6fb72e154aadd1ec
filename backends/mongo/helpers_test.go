package mongo_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	mongodriver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/polystore/polystore/backends/mongo"
	"github.com/polystore/polystore/internal/testserver"
	"github.com/polystore/polystore/repo/driver"
)

// Tables are those of posts with an index by tag, elsewhere, and a unique slug.
type tables struct{ posts, byTag, slug *driver.Table }

const (
	fTitle = iota
	fViews
	fRating
	fOpen
	fAt
	fPhoto
	fTags
)

func newTables() *tables {
	author := driver.Column{Name: "author", Kind: driver.String}
	id := driver.Column{Name: "id", Kind: driver.String}
	tag := driver.Column{Name: "tag", Kind: driver.String}
	title := driver.Column{Name: "title", Kind: driver.String}
	views := driver.Column{Name: "views", Kind: driver.Int}
	return &tables{
		posts: &driver.Table{Name: "posts", Partition: []driver.Column{author}, Sort: []driver.Column{id}, Ring: 4,
			Fields: []driver.Column{title, views, {Name: "rating", Kind: driver.Float}, {Name: "open", Kind: driver.Bool},
				{Name: "at", Kind: driver.Time}, {Name: "photo", Kind: driver.Bytes}, {Name: "tags", Kind: driver.List}}},
		byTag: &driver.Table{Name: "posts.by_tag", Class: driver.Rows, Partition: []driver.Column{tag},
			Sort: []driver.Column{author, id}, Fields: []driver.Column{title, views}},
		slug: &driver.Table{Name: "posts.slug", Class: driver.Claims, Partition: []driver.Column{{Name: "slug", Kind: driver.String}},
			Fields: []driver.Column{{Name: "_key", Kind: driver.String}}},
	}
}

func (ts *tables) all() []*driver.Table { return []*driver.Table{ts.posts, ts.byTag, ts.slug} }

func keyOf(t testing.TB, table *driver.Table, parts ...string) driver.Key {
	t.Helper()
	vals := make([]driver.Value, len(parts))
	for i, p := range parts {
		vals[i] = driver.StringValue(p)
	}
	cut := len(table.Partition)
	partition, err1 := driver.AppendParts(nil, table.Partition, vals[:cut])
	sort, err2 := driver.AppendParts(nil, table.Sort, vals[cut:])
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	return driver.Key{Partition: string(partition), Sort: string(sort)}
}

// insert returns the ops that insert a post with a row of its tag and its slug.
func (ts *tables) insert(t testing.TB, author, id string) []driver.Op {
	t.Helper()
	key := keyOf(t, ts.posts, author, id)
	title, views := driver.StringValue("title of "+id), driver.IntValue(1)
	return []driver.Op{
		{Do: driver.Put, Table: ts.posts, If: driver.Absent, Row: driver.Row{Key: key, Fields: []driver.Value{title, views}}},
		{Do: driver.Put, Table: ts.byTag, If: driver.Any, Row: driver.Row{Key: keyOf(t, ts.byTag, "go", author, id), Fields: []driver.Value{title, views}}},
		{Do: driver.Put, Table: ts.slug, If: driver.Absent, Row: driver.Row{Key: keyOf(t, ts.slug, author+"-"+id),
			Fields: []driver.Value{driver.StringValue(key.Partition + key.Sort)}}},
	}
}

// add returns the op that adds one to the views of a post.
func (ts *tables) add(t testing.TB, author, id string) []driver.Op {
	return []driver.Op{{Do: driver.Patch, Table: ts.posts, If: driver.Present, Row: driver.Row{Key: keyOf(t, ts.posts, author, id)},
		Edits: []driver.Edit{{Do: driver.Add, Field: fViews, Value: driver.IntValue(1)}}}}
}

// mustCommit does ops, which must be done.
func mustCommit(t testing.TB, s driver.Store, ops []driver.Op) {
	t.Helper()
	refusal, err := s.Commit(t.Context(), driver.NewToken(), ops)
	if err != nil || refusal != nil {
		t.Fatalf("commit: refusal %v, %v", refusal, err)
	}
}

// numbers returns how many posts, counted posts, rows and slugs an author has in
// the store, read from all sides.
func (ts *tables) numbers(t testing.TB, s driver.Store, author string, ids []string) string {
	t.Helper()
	var posts, slugs, rows int
	for _, id := range ids {
		posts += ts.there(t, s, ts.posts, keyOf(t, ts.posts, author, id))
		slugs += ts.there(t, s, ts.slug, keyOf(t, ts.slug, author+"-"+id))
		rows += ts.there(t, s, ts.byTag, keyOf(t, ts.byTag, "go", author, id))
	}
	n, err := s.(driver.Counter).Count(t.Context(), driver.Span{Table: ts.posts, Key: keyOf(t, ts.posts, author, "")})
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%d posts, %d counted, %d rows, %d slugs", posts, n, rows, slugs)
}

func (ts *tables) there(t testing.TB, s driver.Store, table *driver.Table, key driver.Key) int {
	t.Helper()
	var rows [1]driver.Row
	if err := s.Get(t.Context(), table, []driver.Key{key}, nil, rows[:]); err != nil {
		t.Fatal(err)
	}
	if rows[0].Rev.IsZero() {
		return 0
	}
	return 1
}

// views returns the views of a post.
func (ts *tables) views(t testing.TB, s driver.Store, author, id string) int64 {
	t.Helper()
	var rows [1]driver.Row
	if err := s.Get(t.Context(), ts.posts, []driver.Key{keyOf(t, ts.posts, author, id)}, []int{fViews}, rows[:]); err != nil {
		t.Fatal(err)
	}
	return rows[0].Fields[0].Int()
}

// open opens a store on a server, in a database for this test, and defines the tables.
func open(t testing.TB, url string) (*mongo.Store, *tables) {
	t.Helper()
	if !strings.Contains(url, "database=") {
		url = with(url, "database=test"+driver.NewToken().String())
	}
	s, err := mongo.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	ts := newTables()
	if err := s.Define(t.Context(), ts.all()); err != nil {
		t.Fatal(err)
	}
	return s, ts
}

// shared opens a store on the server of all tests, and a client of its database as other
// programs have.
func shared(t testing.TB) (*mongo.Store, *tables, *mongodriver.Database) {
	t.Helper()
	url := testserver.Shared(t, testserver.Mongo).URL
	name := "test" + driver.NewToken().String()
	s, ts := open(t, with(url, "database="+name))
	db := raw(t, url).Database(name)
	t.Cleanup(func() { db.Drop(context.WithoutCancel(t.Context())) })
	return s, ts, db
}

// own starts a server for one test, with fail points, and opens a store on it.
func own(t testing.TB, args ...string) (*testserver.Server, *mongo.Store, *tables) {
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
