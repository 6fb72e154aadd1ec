package cassandra_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/apache/cassandra-gocql-driver/v2"

	"github.com/polystore/polystore/backends/cassandra"
	"github.com/polystore/polystore/internal/testserver"
	"github.com/polystore/polystore/repo/driver"
)

// Tables are those of the design: posts with a local index by time and a unique slug.
type tables struct{ posts, byAt, slug *driver.Table }

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
	str := func(name string) driver.Column { return driver.Column{Name: name, Kind: driver.String} }
	author, id, title := str("author"), str("id"), str("title")
	at := driver.Column{Name: "at", Kind: driver.Time}
	ts := &tables{posts: &driver.Table{Name: "posts", Partition: []driver.Column{author}, Sort: []driver.Column{id}, Ring: 4,
		Fields: []driver.Column{title, {Name: "views", Kind: driver.Int}, {Name: "rating", Kind: driver.Float},
			{Name: "open", Kind: driver.Bool}, at, {Name: "photo", Kind: driver.Bytes}, {Name: "tags", Kind: driver.List},
			{Name: "meta", Kind: driver.Map}, str("slug"), str("category"), str("select"), str("Select")}}}
	ts.byAt = &driver.Table{Name: "posts.by_at", Class: driver.Rows, Partition: []driver.Column{author},
		Sort: []driver.Column{at, id}, Fields: []driver.Column{title}, Home: ts.posts}
	ts.slug = &driver.Table{Name: "posts.slug", Class: driver.Claims, Partition: []driver.Column{author},
		Sort: []driver.Column{str("slug")}, Fields: []driver.Column{str("_key")}, Home: ts.posts}
	return ts
}

func (ts *tables) all() []*driver.Table { return []*driver.Table{ts.posts, ts.byAt, ts.slug} }

func keyOf(t testing.TB, table *driver.Table, vals ...driver.Value) driver.Key {
	t.Helper()
	partition, err1 := driver.AppendParts(nil, table.Partition, vals[:1])
	sort, err2 := driver.AppendParts(nil, table.Sort, vals[1:])
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	return driver.Key{Partition: string(partition), Sort: string(sort)}
}

func text(s string) driver.Value { return driver.StringValue(s) }

func (ts *tables) key(t testing.TB, author, id string) driver.Key {
	t.Helper()
	return keyOf(t, ts.posts, text(author), text(id))
}

// insert returns the ops that insert a post with its row in the index and its slug.
func (ts *tables) insert(t testing.TB, author, id string) []driver.Op {
	t.Helper()
	key, title := ts.key(t, author, id), text("title of "+id)
	return []driver.Op{
		{Do: driver.Put, Table: ts.posts, If: driver.Absent, Row: driver.Row{Key: key, Fields: []driver.Value{title, driver.IntValue(1)}}},
		{Do: driver.Put, Table: ts.byAt, Row: driver.Row{Key: keyOf(t, ts.byAt, text(author), driver.TimeValue(1), text(id)), Fields: []driver.Value{title}}},
		{Do: driver.Put, Table: ts.slug, If: driver.Absent, Row: driver.Row{Key: keyOf(t, ts.slug, text(author), text("slug of "+id)),
			Fields: []driver.Value{text(key.Partition + key.Sort)}}},
	}
}

// add returns the op that adds one to the views of a post.
func (ts *tables) add(t testing.TB, author, id string) []driver.Op {
	t.Helper()
	return []driver.Op{{Do: driver.Patch, Table: ts.posts, If: driver.Present, Row: driver.Row{Key: ts.key(t, author, id)},
		Edits: []driver.Edit{{Do: driver.Add, Field: fViews, Value: driver.IntValue(1)}}}}
}

// get reads a whole row.
func get(t testing.TB, s driver.Store, table *driver.Table, key driver.Key) driver.Row {
	t.Helper()
	var rows [1]driver.Row
	if err := s.Get(t.Context(), table, []driver.Key{key}, nil, rows[:]); err != nil {
		t.Fatal(err)
	}
	return rows[0]
}

func (ts *tables) there(t testing.TB, s driver.Store, table *driver.Table, key driver.Key) bool {
	t.Helper()
	row := get(t, s, table, key)
	return !row.Rev.IsZero()
}

// unique returns a name that nobody has.
func unique() string { return "u" + driver.NewToken().String() }

// open opens a store on a server and defines the tables.
func open(t testing.TB, url string) (*cassandra.Store, *tables) {
	t.Helper()
	s, err := cassandra.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s, define(t, s)
}

func define(t testing.TB, s driver.Store) *tables {
	t.Helper()
	ts := newTables()
	if err := s.Define(t.Context(), ts.all()); err != nil {
		t.Fatal(err)
	}
	return ts
}

// common is the keyspace that tests share, with authors of their own: making one takes
// a second.
const common = "common"

// shared opens a store on the server of all tests.
func shared(t testing.TB) (*cassandra.Store, *tables) {
	t.Helper()
	return open(t, at(testserver.Shared(t, testserver.Cassandra).URL, common))
}

// clusterOf returns the configuration of a client that other programs would have.
func clusterOf(t testing.TB, rawURL, keyspace string) *gocql.ClusterConfig {
	t.Helper()
	u, err := url.Parse(rawURL)
	if err != nil {
		t.Fatal(err)
	}
	c := gocql.NewCluster(u.Host)
	_, port, err := net.SplitHostPort(u.Host)
	if err != nil {
		t.Fatal(err)
	}
	c.Port, _ = strconv.Atoi(port)
	c.ProtoVersion, c.Keyspace, c.Timeout, c.ReconnectInterval = 5, keyspace, 20*time.Second, time.Second
	if password, ok := u.User.Password(); ok {
		c.Authenticator = gocql.PasswordAuthenticator{Username: u.User.Username(), Password: password}
	}
	return c
}

// raw returns a session of a server, as other programs have.
func raw(t testing.TB, rawURL, keyspace string) *gocql.Session {
	t.Helper()
	session, err := clusterOf(t, rawURL, keyspace).CreateSession()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(session.Close)
	return session
}

// do sends a statement as another program.
func do(t testing.TB, session *gocql.Session, cql string, args ...any) {
	t.Helper()
	if err := session.Query(cql, args...).ExecContext(context.WithoutCancel(t.Context())); err != nil {
		t.Fatalf("%s: %v", cql, err)
	}
}

// ownKeyspace makes a keyspace for the time of a test, and returns its name, the URL of
// a store on it, and a session in it.
func ownKeyspace(t testing.TB) (name, url string, session *gocql.Session) {
	t.Helper()
	server := testserver.Shared(t, testserver.Cassandra).URL
	name = unique()
	admin := raw(t, server, "")
	do(t, admin, fmt.Sprintf(`CREATE KEYSPACE "%s" WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}`, name))
	t.Cleanup(func() { do(t, admin, fmt.Sprintf(`DROP KEYSPACE "%s"`, name)) })
	return name, strings.TrimSuffix(server, "/") + "/" + name, raw(t, server, name)
}
