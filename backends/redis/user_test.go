package redis_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/polystore/polystore/backends/redis"
	"github.com/polystore/polystore/internal/backendtest"
	"github.com/polystore/polystore/internal/testserver"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// listed are the commands that the documentation of the package says a user needs, on
// a server that stands alone.
var listed = []string{"info", "evalsha", "script|load", "hgetall", "hmget", "hsetnx", "zrange", "zlexcount", "type", "unlink",
	"hget", "hset", "hlen", "hdel", "hincrby", "del", "exists", "pexpire", "zadd", "zrem", "zcard", "zremrangebylex", "memory|usage", "select", "config|get", "time"}

// permitted makes a user who may do some commands on the keys of a prefix, and returns
// a URL of database 1.
func permitted(t *testing.T, server *testserver.Server, name string, commands []string) string {
	t.Helper()
	rules := []any{"ACL", "SETUSER", name, "on", ">geheim", "~app:*"}
	for _, command := range commands {
		rules = append(rules, "+"+command)
	}
	do(t, raw(t, server.Addr), rules...)
	return "redis://" + name + ":geheim@" + server.Addr + "/1?prefix=app"
}

// The commands that are listed are enough for everything.
func TestUserWhoMayDoWhatIsListed(t *testing.T) {
	t.Parallel()
	server := testserver.Start(t, testserver.Redis)
	s, ts := open(t, permitted(t, server, "enough", listed))
	if f := s.Facts(); f.Setting != "appendfsync everysec" {
		t.Errorf("setting %q, want that of CONFIG GET", f.Setting)
	}
	wide := *ts.Posts
	wide.Fields = append([]driver.Column{{Name: "likes", Kind: driver.Int}}, wide.Fields...)
	if err := s.Define(t.Context(), []*driver.Table{&wide}); err != nil {
		t.Fatal(err)
	}
	key := driver.Row{Key: backendtest.KeyOf(t, ts.Posts, "ann", "1")}
	patch := driver.Op{Do: driver.Patch, Table: &wide, If: driver.Present, Row: key,
		Edits: []driver.Edit{{Do: driver.Add, Value: driver.IntValue(1)}, {Do: driver.Unset, Field: 1}}}
	for _, ops := range [][]driver.Op{
		ts.Insert(t, "ann", "1"),
		ts.Add(t, "ann", "1"),
		{patch},
		{{Do: driver.Put, Table: ts.Posts, Row: key}},
		{{Do: driver.Fence, Table: ts.Posts, If: driver.Absent, Row: driver.Row{Key: backendtest.KeyOf(t, ts.Posts, "ann", "2"), Expires: 1}}},
		{{Do: driver.Delete, Table: ts.Posts, Row: key}, {Do: driver.Delete, Table: ts.ByTag, Row: driver.Row{Key: backendtest.KeyOf(t, ts.ByTag, "go", "ann", "1")}}},
		ts.Insert(t, "ann", "3"),
	} {
		backendtest.MustCommit(t, s, ops)
	}
	for _, table := range ts.All() {
		if chunks, err := repo.Collect(s.Walk(t.Context(), table, "")); err != nil || len(chunks) == 0 {
			t.Errorf("walk of %s: %d chunks, %v", table.Name, len(chunks), err)
		}
		if size, err := s.Size(t.Context(), table); err != nil || size == 0 {
			t.Errorf("size of %s: %d, %v", table.Name, size, err)
		}
	}
	if n, err := s.Count(t.Context(), driver.Span{Table: ts.Posts, Key: backendtest.KeyOf(t, ts.Posts, "ann", "")}); n != 1 || err != nil {
		t.Errorf("count: %d, %v", n, err)
	}
	if err := s.Drop(t.Context(), ts.All()); err != nil {
		t.Error(err)
	}
}

// Without a command that a script calls nothing is done, and the error says what to do.
func TestUserWhoMayDoLess(t *testing.T) {
	t.Parallel()
	server := testserver.Start(t, testserver.Redis)
	for _, command := range []string{"evalsha", "hset", "zadd", "select"} {
		less := slices.DeleteFunc(slices.Clone(listed), func(c string) bool { return c == command })
		err := insertBy(t, permitted(t, server, "no-"+command, less))
		if !errors.Is(err, driver.ErrInvalid) || !strings.Contains(err.Error(), "allow the user the commands") {
			t.Errorf("without %s: %v, want ErrInvalid that says what to allow", command, err)
		}
	}
}

// insertBy opens a store and inserts a post.
func insertBy(t *testing.T, url string) error {
	s, err := redis.Open(t.Context(), url)
	if err != nil {
		return err
	}
	defer s.Close()
	ts := backendtest.NewTables()
	if err := s.Define(t.Context(), ts.All()); err != nil {
		return err
	}
	_, err = s.Commit(t.Context(), driver.NewToken(), ts.Insert(t, "ann", "1"))
	return err
}

// A server that takes no more clients ends the connection, and the error says that it
// may be so.
func TestTooManyClients(t *testing.T) {
	t.Parallel()
	server := testserver.Start(t, testserver.Redis)
	admin := raw(t, server.Addr)
	do(t, admin, "CONFIG", "SET", "maxclients", 1)
	if err := refusedBy(t, server.URL); !errors.Is(err, driver.ErrUnavailable) || !strings.Contains(err.Error(), "maxclients") {
		t.Errorf("open: %v, want ErrUnavailable that speaks of maxclients", err)
	}
}
