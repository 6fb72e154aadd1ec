package redis_test

import (
	"context"
	"fmt"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"github.com/polystore/polystore/backends/redis"
	"github.com/polystore/polystore/internal/backendtest"
	"github.com/polystore/polystore/internal/testserver"
	"github.com/polystore/polystore/repo/driver"
)

// A benched is a store with a hundred posts, and a client that goes round it.
type benched struct {
	s      *redis.Store
	ts     *backendtest.Tables
	client *goredis.Client
	prefix string
}

func newBenched(b *testing.B) *benched {
	b.Helper()
	client := goredis.NewClient(&goredis.Options{Addr: testserver.Shared(b, testserver.Redis).Addr, Protocol: 2, ContextTimeoutEnabled: true})
	b.Cleanup(func() { client.Close() })
	x := &benched{ts: backendtest.NewTables(), client: client, prefix: driver.NewToken().String()}
	var err error
	if x.s, err = redis.New(b.Context(), client, &redis.Options{Prefix: x.prefix}); err != nil {
		b.Fatal(err)
	}
	if err := x.s.Define(b.Context(), x.ts.All()); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := x.s.Drop(context.WithoutCancel(b.Context()), x.ts.All()); err != nil {
			b.Error(err)
		}
	})
	for i := range 100 {
		backendtest.MustCommit(b, x.s, x.ts.Insert(b, "ann", fmt.Sprint(i)))
	}
	return x
}

// What reading costs beside go-redis alone, which sends the same commands and
// leaves the answers as they come.
func BenchmarkStore(b *testing.B) {
	x := newBenched(b)
	key := backendtest.KeyOf(b, x.ts.Posts, "ann", "7")
	rows := make([]driver.Row, 1)
	span := driver.Span{Table: x.ts.ByTag, Key: driver.Key{Partition: "go#"}, Limit: 20}
	for _, bb := range []struct {
		name string
		call func() error
	}{
		{"get/store", func() error { return x.s.Get(b.Context(), x.ts.Posts, []driver.Key{key}, nil, rows) }},
		{"get/go-redis", func() error { return x.client.HGetAll(b.Context(), x.prefix+":posts:{ann#}7#").Err() }},
		{"twenty/store", func() (err error) {
			for _, err = range x.s.Range(b.Context(), span) {
				if err != nil {
					return err
				}
			}
			return nil
		}},
		{"twenty/go-redis", func() error {
			return x.client.ZRangeArgs(b.Context(), goredis.ZRangeArgs{Key: x.prefix + ":posts.by_tag:{go#}", ByLex: true, Start: "[", Stop: "(\xff", Count: 20}).Err()
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
