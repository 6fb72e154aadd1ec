package testserver_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"testing"
	"time"

	"github.com/apache/cassandra-gocql-driver/v2"
	"github.com/polystore/polystore/internal/testserver"
	goredis "github.com/redis/go-redis/v9"
	"go.mongodb.org/mongo-driver/v2/bson"
	mongodriver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// errAbsent says that a key is not there.
var errAbsent = errors.New("absent")

// A client puts and gets with a store's own driver, of which it knows only the URL.
type client interface {
	put(ctx context.Context, key, value string) error
	get(ctx context.Context, key string) (string, error)
}

func dial(t *testing.T, s *testserver.Server) client {
	t.Helper()
	switch s.Store {
	case testserver.Redis:
		return dialRedis(t, s.URL)
	case testserver.Mongo:
		return mongoClient{dialMongo(t, s.URL).Database("testserver").Collection("t")}
	default:
		return dialCassandraTable(t, s)
	}
}

type redisClient struct{ *goredis.Client }

func dialRedis(t *testing.T, url string) redisClient {
	t.Helper()
	opts, err := goredis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	c := goredis.NewClient(opts)
	t.Cleanup(func() { c.Close() })
	return redisClient{c}
}

func (c redisClient) put(ctx context.Context, key, value string) error {
	return c.Set(ctx, key, value, 0).Err()
}

func (c redisClient) get(ctx context.Context, key string) (string, error) {
	value, err := c.Get(ctx, key).Result()
	if errors.Is(err, goredis.Nil) {
		return "", errAbsent
	}
	return value, err
}

type mongoClient struct{ *mongodriver.Collection }

func dialMongo(t *testing.T, url string) *mongodriver.Client {
	t.Helper()
	c, err := mongodriver.Connect(options.Client().ApplyURI(url).SetServerSelectionTimeout(10 * time.Second))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Disconnect(context.Background()) })
	return c
}

// put needs a replica set: a transaction.
func (c mongoClient) put(ctx context.Context, key, value string) error {
	return c.Database().Client().UseSession(ctx, func(ctx context.Context) error {
		_, err := mongodriver.SessionFromContext(ctx).WithTransaction(ctx, func(ctx context.Context) (any, error) {
			return c.UpdateByID(ctx, key, bson.M{"$set": bson.M{"v": value}}, options.UpdateOne().SetUpsert(true))
		})
		return err
	})
}

func (c mongoClient) get(ctx context.Context, key string) (string, error) {
	var doc struct{ V string }
	err := c.FindOne(ctx, bson.M{"_id": key}).Decode(&doc)
	if errors.Is(err, mongodriver.ErrNoDocuments) {
		return "", errAbsent
	}
	return doc.V, err
}

type cassandraClient struct{ *gocql.Session }

func dialCassandra(t *testing.T, s *testserver.Server) cassandraClient {
	t.Helper()
	host, port, err := net.SplitHostPort(s.Addr)
	if err != nil {
		t.Fatal(err)
	}
	cluster := gocql.NewCluster(host)
	cluster.Port, _ = strconv.Atoi(port)
	session, err := cluster.CreateSession()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { go session.Close() }) // where a server was restarted it can wait for ever
	return cassandraClient{session}
}

func dialCassandraTable(t *testing.T, s *testserver.Server) cassandraClient {
	t.Helper()
	c := dialCassandra(t, s)
	for _, ddl := range []string{
		"CREATE KEYSPACE IF NOT EXISTS testserver WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
		"CREATE TABLE IF NOT EXISTS testserver.t (k text PRIMARY KEY, v text)",
	} {
		if err := c.Query(ddl).ExecContext(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// put is a lightweight transaction, which asks more of a server than a plain write.
func (c cassandraClient) put(ctx context.Context, key, value string) error {
	applied, err := c.Query("INSERT INTO testserver.t (k, v) VALUES (?, ?) IF NOT EXISTS", key, value).MapScanCASContext(ctx, map[string]any{})
	if err == nil && !applied {
		return fmt.Errorf("key %s was there before", key)
	}
	return err
}

func (c cassandraClient) get(ctx context.Context, key string) (string, error) {
	var value string
	err := c.Query("SELECT v FROM testserver.t WHERE k = ?", key).ScanContext(ctx, &value)
	if errors.Is(err, gocql.ErrNotFound) {
		return "", errAbsent
	}
	return value, err
}
