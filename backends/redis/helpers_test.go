package redis_test

import (
	"context"
	"errors"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"github.com/polystore/polystore/backends/redis"
	"github.com/polystore/polystore/internal/backendtest"
	"github.com/polystore/polystore/internal/testserver"
)

// open opens a store on a server and defines the tables.
func open(t testing.TB, url string) (*redis.Store, *backendtest.Tables) {
	t.Helper()
	s, err := redis.Open(t.Context(), url)
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

// own starts a server for one test and opens a store on it.
func own(t testing.TB, args ...string) (*testserver.Server, *redis.Store, *backendtest.Tables) {
	t.Helper()
	server := testserver.Start(t, testserver.Redis, args...)
	s, ts := open(t, server.URL)
	return server, s, ts
}

// raw returns a client of a server, as other programs are.
func raw(t testing.TB, addr string) *goredis.Client {
	t.Helper()
	c := goredis.NewClient(&goredis.Options{Addr: addr, Protocol: 2, ContextTimeoutEnabled: true})
	t.Cleanup(func() { c.Close() })
	return c
}

func do(t testing.TB, c *goredis.Client, args ...any) any {
	t.Helper()
	v, err := c.Do(context.WithoutCancel(t.Context()), args...).Result()
	if err != nil && !errors.Is(err, goredis.Nil) {
		t.Fatalf("%v: %v", args, err)
	}
	return v
}

// raw2 is raw with a password.
func raw2(t testing.TB, addr, password string) *goredis.Client {
	t.Helper()
	c := goredis.NewClient(&goredis.Options{Addr: addr, Protocol: 2, ContextTimeoutEnabled: true, Password: password})
	t.Cleanup(func() { c.Close() })
	return c
}
