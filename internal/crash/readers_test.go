package crash_test

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/cassandra-gocql-driver/v2"
	pebbledb "github.com/cockroachdb/pebble/v2"
	goredis "github.com/redis/go-redis/v9"
	"go.mongodb.org/mongo-driver/v2/bson"
	mongodriver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// indexNames are the tables of a collection beside that of its records.
var indexNames = []string{"teams", "near", "mails"}

// readPebble reads the keys and values of a directory that nobody has open. The key of a
// row is the number of its table and the text of its own key; byte 0 begins the catalog.
func readPebble(dir, collection string) reader {
	return func(context.Context) (rows []rawRow, err error) {
		db, err := pebbledb.Open(dir, &pebbledb.Options{ReadOnly: true, Logger: silent{}})
		if err != nil {
			return nil, err
		}
		defer db.Close()
		it, err := db.NewIter(nil)
		if err != nil {
			return nil, err
		}
		defer it.Close()
		tables := map[byte]string{}
		for it.First(); it.Valid(); it.Next() {
			key, value := it.Key(), it.Value()
			if name, ok := strings.CutPrefix(string(key), "\x00t"+collection); ok {
				var entry struct {
					Number byte `json:"number"`
				}
				if err := json.Unmarshal(value, &entry); err != nil {
					return nil, err
				}
				tables[entry.Number] = strings.TrimPrefix(name, ".")
			} else if table, ok := tables[key[0]]; ok {
				const deadFlag = 8
				rows = append(rows, rawRow{table: table, parts: partsOf(string(key[1:])), body: string(value), dead: value[0]&deadFlag != 0})
			}
		}
		return rows, it.Error()
	}
}

// readRedis reads the keys of the servers that each calls do with, one after the other.
func readRedis(collection string, apart bool, each func(ctx context.Context, do func(context.Context, *goredis.Client) error) error) reader {
	return func(ctx context.Context) ([]rawRow, error) {
		var mu sync.Mutex
		var rows []rawRow
		err := each(ctx, func(ctx context.Context, c *goredis.Client) error {
			seen := map[string]bool{} // a scan may return a key twice
			it := c.Scan(ctx, 0, collection+"*", 1000).Iterator()
			for it.Next(ctx) {
				if seen[it.Val()] {
					continue
				}
				seen[it.Val()] = true
				list, err := redisRows(ctx, c, collection, it.Val(), apart)
				if err != nil {
					return err
				}
				mu.Lock()
				rows = append(rows, list...)
				mu.Unlock()
			}
			return it.Err()
		})
		return rows, err
	}
}

// redisRows returns the rows under one key: a hash is a record, a sorted set has the rows
// of an index, or the order of records.
func redisRows(ctx context.Context, c *goredis.Client, collection, key string, apart bool) ([]rawRow, error) {
	name, rest, ok := strings.Cut(key, ":{")
	partition, sort, ok2 := strings.Cut(rest, "}")
	if !ok || !ok2 {
		return nil, fmt.Errorf("a key that is none of the collection's: %q", key)
	}
	table := strings.TrimPrefix(strings.TrimPrefix(name, collection), ".")
	if table == "" && sort == ":" { // the order of records
		return nil, nil
	}
	if table == "" {
		hash, err := c.HGetAll(ctx, key).Result()
		if err != nil {
			return nil, err
		}
		left, err := c.PTTL(ctx, key).Result() // below 0 of one that stays
		return []rawRow{{parts: partsOf(partition + sort), body: fmt.Sprint(hash), dead: hash["_dead"] != "", goes: left >= 0}}, err
	}
	if keyColumns[table] == 0 {
		return nil, nil
	}
	members, err := c.ZRange(ctx, key, 0, -1).Result()
	var rows []rawRow
	for _, m := range members {
		columns := keyColumns[table] - 1
		remote := apart && table == "teams"
		if remote {
			columns++
		}
		at := 0
		for range columns {
			at += strings.IndexByte(m[at:], '#') + 1
		}
		r := rawRow{table: table, parts: partsOf(partition + m[:at])}
		if len(m) >= at+16 { // a row of an index that covers nothing is its key alone
			r.token, r.body = hex.EncodeToString([]byte(m[at:at+16])), m[at+16:]
		}
		if remote {
			r.cutToken()
		}
		rows = append(rows, r)
	}
	return rows, err
}

// cutToken takes the last part of a key as the token.
func (r *rawRow) cutToken() {
	last := len(r.parts) - 1
	r.parts, r.token = r.parts[:last], r.parts[last]
}

// redisReader returns what reads the collections on a server.
func redisReader(t *testing.T, server string) func(collection string) reader {
	t.Helper()
	opts, err := goredis.ParseURL(server)
	if err != nil {
		t.Fatal(err)
	}
	client := goredis.NewClient(opts)
	t.Cleanup(func() { client.Close() })
	alone := func(ctx context.Context, do func(context.Context, *goredis.Client) error) error {
		return do(ctx, client)
	}
	return func(collection string) reader { return readRedis(collection, false, alone) }
}

// clusterReader is redisReader for a cluster.
func clusterReader(t *testing.T, server string) func(collection string) reader {
	t.Helper()
	opts, err := goredis.ParseClusterURL(strings.Replace(server, "cluster=true", "", 1))
	if err != nil {
		t.Fatal(err)
	}
	client := goredis.NewClusterClient(opts)
	t.Cleanup(func() { client.Close() })
	return func(collection string) reader { return readRedis(collection, true, client.ForEachMaster) }
}

func mongoClient(t *testing.T, server string) *mongodriver.Client {
	t.Helper()
	client, err := mongodriver.Connect(options.Client().ApplyURI(server))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Disconnect(context.WithoutCancel(t.Context())) })
	return client
}

func readMongo(db *mongodriver.Database, collection string) reader {
	return func(ctx context.Context) (rows []rawRow, err error) {
		for _, table := range append([]string{""}, indexNames...) {
			name := strings.TrimSuffix(collection+"."+table, ".")
			cursor, err := db.Collection(name).Find(ctx, bson.D{})
			if err != nil {
				return nil, err
			}
			for cursor.Next(ctx) {
				id, _ := cursor.Current.Lookup("_id").StringValueOK()
				dead, _ := cursor.Current.Lookup("_dead").BooleanOK()
				rows = append(rows, rawRow{table: table, parts: partsOf(id), body: cursor.Current.String(), dead: dead})
			}
			if err := cursor.Err(); err != nil {
				return nil, err
			}
		}
		return rows, nil
	}
}

// houseTables are the tables of houses, each with the column of its partition. That of the records has the rows of the
// index near, too.
var houseTables = map[string]string{"": "home", "teams": "team", "mails": "mail"}

// readCassandra reads tables of a collection, each of which has a column as its partition.
func readCassandra(session *gocql.Session, collection string, tables map[string]string) reader {
	return func(ctx context.Context) (rows []rawRow, err error) {
		for table, partition := range tables {
			name := strings.TrimSuffix(collection+"_X_"+table, "_X_")
			it := session.Query(fmt.Sprintf(`SELECT * FROM "%s"`, name)).Consistency(gocql.Quorum).IterContext(ctx)
			for {
				row := map[string]any{}
				if !it.MapScan(row) {
					break
				}
				badge := strings.HasPrefix(row["_sort"].(string), ".")      // which lies in the same table
				if rev, _ := row["_rev"].([]byte); len(rev) > 0 && !badge { // else it is what is left of one
					rows = append(rows, cassandraRow(table, partition, row))
				}
			}
			if err := it.Close(); err != nil {
				return nil, err
			}
		}
		return rows, nil
	}
}

func cassandraRow(table, partition string, row map[string]any) rawRow {
	near, sort, _ := strings.Cut(row["_sort"].(string), ":")
	rev, _ := row["_rev"].([]byte)
	dead, _ := row["_dead"].(bool)
	r := rawRow{table: table + near, parts: []string{row[partition].(string)}, token: hex.EncodeToString(rev), body: fmt.Sprint(row), dead: dead}
	if sort != "" {
		r.parts = append(r.parts, partsOf(sort)...)
	}
	if table == "teams" {
		r.cutToken()
	}
	return r
}

// sessionOf returns a session as other programs have it.
func sessionOf(t *testing.T, rawURL, keyspace string) *gocql.Session {
	t.Helper()
	u, err := url.Parse(rawURL)
	if err != nil {
		t.Fatal(err)
	}
	c := gocql.NewCluster(u.Hostname())
	if _, port, err := net.SplitHostPort(u.Host); err == nil {
		c.Port, _ = strconv.Atoi(port)
	}
	if password, ok := u.User.Password(); ok {
		c.Authenticator = gocql.PasswordAuthenticator{Username: u.User.Username(), Password: password}
	}
	c.ProtoVersion, c.Keyspace, c.Timeout = 5, keyspace, 20*time.Second
	session, err := c.CreateSession()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { go session.Close() }) // where a server was restarted it can wait for ever
	return session
}

// silent is a logger for Pebble that says nothing.
type silent struct{}

func (silent) Infof(string, ...any)            {}
func (silent) Errorf(string, ...any)           {}
func (silent) Fatalf(text string, args ...any) { panic(fmt.Sprintf(text, args...)) }
