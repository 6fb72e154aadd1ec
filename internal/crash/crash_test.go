package crash_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	mongodriver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/polystore/polystore/backends"
	"github.com/polystore/polystore/internal/raw"
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

// source opens what reads a store by its own driver.
func source(t *testing.T, open func(url string) (*raw.Source, error), url string) *raw.Source {
	t.Helper()
	s, err := open(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// sourceIn is source for a database or keyspace.
func sourceIn(t *testing.T, open func(url, name string) (*raw.Source, error), url, name string) *raw.Source {
	t.Helper()
	return source(t, func(url string) (*raw.Source, error) { return open(url, name) }, url)
}

func TestPebble(t *testing.T) {
	t.Parallel()
	dir, name := t.TempDir(), unique()
	s := &site{url: "pebble:" + dir, collection: name, source: raw.Pebble(dir)}
	s.test(t)
}

func TestRedis(t *testing.T) {
	t.Parallel()
	server, name := testserver.Shared(t, testserver.Redis).URL, unique()
	s := &site{url: server, collection: name, source: source(t, raw.Redis, server)}
	housesDropped(t, s.url, name)
	s.test(t)
}

func TestRedisCluster(t *testing.T) {
	t.Parallel()
	server, name := testserver.SharedCluster(t).URL, unique()
	s := &site{url: server, collection: name, source: source(t, raw.RedisCluster, server)}
	housesDropped(t, s.url, name)
	s.test(t)
}

// patient are parameters of a MongoDB URL by which a busy machine is waited for.
const patient = "&serverSelectionTimeoutMS=60000&timeoutMS=60000"

func TestMongo(t *testing.T) {
	t.Parallel()
	server := testserver.Shared(t, testserver.Mongo).URL
	for _, kind := range []string{"table", "native"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			name := unique()
			s := &site{url: with(server, "database="+name+patient), kind: kind, collection: name, source: sourceIn(t, raw.Mongo, server, name)}
			t.Cleanup(func() { dropDatabase(t, server, name) })
			s.test(t)
		})
	}
}

func dropDatabase(t *testing.T, server, name string) {
	ctx := context.WithoutCancel(t.Context())
	client, err := mongodriver.Connect(options.Client().ApplyURI(server))
	if err == nil {
		err = errors.Join(client.Database(name).Drop(ctx), client.Disconnect(ctx))
	}
	if err != nil {
		t.Error(err)
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
	s.source = sourceIn(t, raw.Cassandra, server, keyspace)
	s.test(t)
}
