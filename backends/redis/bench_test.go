package redis_test

import (
	"fmt"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"github.com/polystore/polystore/backends/redis"
	"github.com/polystore/polystore/internal/testserver"
	"github.com/polystore/polystore/repo/driver"
)

// What each verb costs beside go-redis alone, which sends the same commands and
// leaves the answers as they come.
func BenchmarkStore(b *testing.B) {
	client := goredis.NewClient(&goredis.Options{Addr: testserver.Shared(b, testserver.Redis).Addr, Protocol: 2, ContextTimeoutEnabled: true})
	defer client.Close()
	prefix := driver.NewToken().String()
	s, err := redis.New(b.Context(), client, &redis.Options{Prefix: prefix})
	if err != nil {
		b.Fatal(err)
	}
	ts := newTables()
	if err := s.Define(b.Context(), ts.all()); err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := s.Drop(b.Context(), ts.all()); err != nil {
			b.Error(err)
		}
	}()
	for i := range 100 {
		mustCommit(b, s, ts.insert(b, "ann", fmt.Sprint(i)))
	}
	key, name := keyOf(b, ts.posts, "ann", "7"), prefix+":posts:{ann#}7#"
	rows := make([]driver.Row, 1)
	span := driver.Span{Table: ts.byTag, Key: driver.Key{Partition: "go#"}, Limit: 20}
	n, hash := 0, hashOf(b, client)
	for _, bb := range []struct {
		name string
		call func() error
	}{
		{"get/store", func() error { return s.Get(b.Context(), ts.posts, []driver.Key{key}, nil, rows) }},
		{"get/go-redis", func() error { return client.HGetAll(b.Context(), name).Err() }},
		{"twenty/store", func() (err error) {
			for _, err = range s.Range(b.Context(), span) {
				if err != nil {
					return err
				}
			}
			return nil
		}},
		{"twenty/go-redis", func() error {
			return client.ZRangeArgs(b.Context(), goredis.ZRangeArgs{Key: prefix + ":posts.by_tag:{go#}", ByLex: true, Start: "[", Stop: "(\xff", Count: 20}).Err()
		}},
		{"insert/store", func() error {
			n++
			_, err := s.Commit(b.Context(), driver.NewToken(), ts.insert(b, "bob", fmt.Sprint(n)))
			return err
		}},
		{"insert/go-redis", func() error {
			n++
			id, rev := fmt.Sprint(n), "0123456789abcdef"
			return client.EvalSha(b.Context(), hash, []string{prefix + ":posts:{bob#}" + id + "#", prefix + ":posts:{bob#}",
				prefix + ":posts.by_tag:{go#}", prefix + ":posts.slug:{bob-" + id + "#}"}, rev, "absent", id+"#", "64", "0", "2",
				"any", "bob#"+id+"#", `{"title":"title of `+id+`","views":1}`, "absent", "", `{"_key":"bob#`+id+`#"}`,
				"title", "title of "+id, "views", "1").Err()
		}},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := bb.call(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// hashOf returns the hash of the script put, which the server has by now.
func hashOf(b *testing.B, client *goredis.Client) string {
	b.Helper()
	hash := goredis.NewScript(redis.Texts["redis/span"] + "\n" + redis.Texts["redis/over"] + "\n" + redis.Texts["redis/put"] + "\n").Hash()
	if known, err := client.ScriptExists(b.Context(), hash).Result(); err != nil || !known[0] {
		b.Fatalf("the server does not know the script: %v", err)
	}
	return hash
}
