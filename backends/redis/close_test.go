package redis_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"github.com/polystore/polystore/backends/redis"
	"github.com/polystore/polystore/internal/backendtest"
	"github.com/polystore/polystore/internal/testserver"
	"github.com/polystore/polystore/repo/driver"
)

// Close closes the client that Open made, with all its goroutines and connections,
// and leaves alone the one that New was given.
func TestClose(t *testing.T) {
	server := testserver.Start(t, testserver.Redis)
	s, ts := open(t, server.URL+"?client_name=closing")
	backendtest.MustCommit(t, s, ts.Insert(t, "ann", "1"))
	admin := raw(t, server.Addr)
	if list := do(t, admin, "CLIENT", "LIST").(string); !strings.Contains(list, "name=closing") {
		t.Errorf("the store has no connection:\n%s", list)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	list := func() string { return do(t, admin, "CLIENT", "LIST").(string) }
	if n := backendtest.Await(func() int { return strings.Count(list(), "name=closing") }); n != 0 { // the server sees it a little later
		t.Errorf("the store has %d connections after Close:\n%s", n, list())
	}
	if n := backendtest.Await(func() int { return strings.Count(backendtest.Stacks(), "redis.(*Store)") }); n != 0 {
		t.Errorf("%d goroutines are in the store after Close:\n%s", n, backendtest.Stacks())
	}
	if _, err := s.Commit(t.Context(), driver.NewToken(), ts.Insert(t, "ann", "2")); !errors.Is(err, driver.ErrClosed) {
		t.Errorf("commit after Close: %v, want ErrClosed", err)
	}
	client := goredis.NewClient(&goredis.Options{Addr: server.Addr, ContextTimeoutEnabled: true})
	mine, err := redis.New(t.Context(), client, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := mine.Close(); err != nil {
		t.Error(err)
	}
	if err := client.Ping(t.Context()).Err(); err != nil {
		t.Errorf("the caller's client after Close: %v", err)
	}
	client.Close()
}

// A client that its owner has closed answers ErrClosed.
func TestClosedClient(t *testing.T) {
	t.Parallel()
	client := goredis.NewClient(&goredis.Options{Addr: testserver.Shared(t, testserver.Redis).Addr, ContextTimeoutEnabled: true})
	s, err := redis.New(t.Context(), client, nil)
	if err != nil {
		t.Fatal(err)
	}
	client.Close()
	if err := s.Define(context.WithoutCancel(t.Context()), backendtest.NewTables().All()); !errors.Is(err, driver.ErrClosed) {
		t.Errorf("define: %v, want ErrClosed", err)
	}
}
