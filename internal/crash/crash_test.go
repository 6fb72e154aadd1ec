package crash_test

import (
	"context"
	"strings"
	"testing"

	"github.com/polystore/polystore/backends"
	"github.com/polystore/polystore/internal/testserver"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// unique returns a name that nobody has.
func unique() string { return "crash" + strings.ToLower(driver.NewToken().String()[:16]) }

// housesDropped removes a collection of members, and their badges, at the end of the test.
func housesDropped(t *testing.T, url, collection string) {
	dropped(t, url, collection)
	dropped(t, url, badgesOf(collection)) // which comes first
}

// dropped removes a collection at the end of the test.
func dropped(t *testing.T, url, collection string) {
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		store, err := backends.Open(ctx, url, nil)
		if err != nil {
			t.Error(err)
			return
		}
		defer store.Close()
		if err := repo.DropCollection(ctx, store, collection); err != nil {
			t.Error(err)
		}
	})
}

// with adds an option to a URL.
func with(url, option string) string {
	if strings.Contains(url, "?") {
		return url + "&" + option
	}
	return url + "?" + option
}

func TestPebble(t *testing.T) {
	t.Parallel()
	dir, name := t.TempDir(), unique()
	s := &site{url: "pebble:" + dir, collection: name, reader: func(name string) reader { return readPebble(dir, name) }}
	s.test(t)
}

func TestRedis(t *testing.T) {
	t.Parallel()
	server, name := testserver.Shared(t, testserver.Redis).URL, unique()
	s := &site{url: server, collection: name, reader: redisReader(t, server)}
	housesDropped(t, s.url, name)
	s.test(t)
}

func TestRedisCluster(t *testing.T) {
	t.Parallel()
	server, name := testserver.SharedCluster(t).URL, unique()
	s := &site{url: server, collection: name, reader: clusterReader(t, server)}
	housesDropped(t, s.url, name)
	s.test(t)
}

// patient are parameters of a MongoDB URL by which a busy machine is waited for.
const patient = "&serverSelectionTimeoutMS=60000&timeoutMS=60000"

func TestMongo(t *testing.T) {
	t.Parallel()
	server := testserver.Shared(t, testserver.Mongo).URL
	client := mongoClient(t, server)
	for _, kind := range []string{"table", "native"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			name := unique()
			db := client.Database(name)
			t.Cleanup(func() { db.Drop(context.WithoutCancel(t.Context())) })
			s := &site{url: with(server, "database="+name+patient), kind: kind, collection: name, reader: func(name string) reader { return readMongo(db, name) }}
			s.test(t)
		})
	}
}

func TestCassandra(t *testing.T) {
	t.Parallel()
	const keyspace = "crash"
	server, name := testserver.Shared(t, testserver.Cassandra).URL, unique()
	s := &site{url: strings.TrimSuffix(server, "/") + "/" + keyspace + "?replication=1&timeout=60s&connect_timeout=60s", collection: name}
	housesDropped(t, s.url, name)
	store, _, err := s.open(t.Context(), 0) // which makes the keyspace
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	session := sessionOf(t, server, keyspace)
	s.reader = func(name string) reader { return readCassandra(session, name, houseTables) }
	s.test(t)
}
