package redis_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	goredis "github.com/redis/go-redis/v9"

	"github.com/polystore/polystore/backends/redis"
	"github.com/polystore/polystore/internal/backendtest"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// A key of another program under one of our names is named, and nothing is done.
func TestKeysOfOthers(t *testing.T) {
	t.Parallel()
	server, s, ts := own(t)
	admin := raw(t, server.Addr)
	for _, key := range []string{"posts:{ann#}1#", "posts:{ann#}:", "posts.by_tag:{go#}", "posts.slug:{ann-1#}", "_keys"} {
		do(t, admin, "SET", key, "theirs")
		for what, ops := range map[string][]driver.Op{"put": ts.Insert(t, "ann", "1"),
			"commit": append(ts.Insert(t, "ann", "1"), driver.Op{Do: driver.Check, Table: ts.Posts, Row: driver.Row{Key: backendtest.KeyOf(t, ts.Posts, "bob", "1")}})} {
			_, err := s.Commit(t.Context(), driver.NewToken(), ops)
			if !errors.Is(err, driver.ErrCorrupt) || !strings.Contains(err.Error(), key) || !strings.Contains(err.Error(), "prefix") {
				t.Errorf("%s with a string at %s: %v, want ErrCorrupt that names it and says what to do", what, key, err)
			}
		}
		if n := do(t, admin, "DBSIZE"); n != int64(4) { // three tables of the catalog and the key
			t.Errorf("%v keys are there after the commits that %s spoilt, want 4", n, key)
		}
		do(t, admin, "DEL", key)
	}
	backendtest.MustCommit(t, s, ts.Insert(t, "ann", "1"))
}

// Reading what another program wrote under our names is ErrCorrupt.
func TestReadingOthers(t *testing.T) {
	t.Parallel()
	server, s, ts := own(t)
	admin := raw(t, server.Addr)
	span := driver.Span{Table: ts.ByTag, Key: backendtest.KeyOf(t, ts.ByTag, "go", "", "")}
	get := func(table *driver.Table, key driver.Key) error {
		return s.Get(t.Context(), table, []driver.Key{key}, nil, make([]driver.Row, 1))
	}
	walk := func(table *driver.Table) error {
		_, err := repo.Collect(s.Walk(t.Context(), table, ""))
		return err
	}
	post := backendtest.KeyOf(t, ts.Posts, "ann", "1")
	for _, tt := range []struct {
		write []any
		read  map[string]func() error
	}{
		{[]any{"SET", "posts:{ann#}1#", "x"}, map[string]func() error{"get": func() error { return get(ts.Posts, post) }, "walk": func() error { return walk(ts.Posts) }}},
		{[]any{"HSET", "posts:{ann#}1#", "title", "x"}, map[string]func() error{"get": func() error { return get(ts.Posts, post) }, "walk": func() error { return walk(ts.Posts) }}},
		{[]any{"HSET", "posts:{ann#}1#", "_rev", "short"}, map[string]func() error{"get": func() error { return get(ts.Posts, post) }}},
		{[]any{"HSET", "posts:{ann#}1#", "_rev", "0123456789abcdef", "views", "many"}, map[string]func() error{"get": func() error { return get(ts.Posts, post) }}},
		{[]any{"HSET", "posts:{ann#}1#", "_rev", "0123456789abcdef", "nobody", "1"}, map[string]func() error{"get": func() error { return get(ts.Posts, post) }}},
		{[]any{"HSET", "posts:{ann#}1#", "_rev", "0123456789abcdef", ".x", "{"}, map[string]func() error{"get": func() error { return get(ts.Posts, post) }}},
		{[]any{"SET", "posts.by_tag:{go#}", "x"}, map[string]func() error{
			"range": func() error { _, err := repo.Collect(s.Range(t.Context(), span)); return err },
			"count": func() error { _, err := s.Count(t.Context(), span); return err },
			"walk":  func() error { return walk(ts.ByTag) }}},
		{[]any{"ZADD", "posts.by_tag:{go#}", 0, "theirs"}, map[string]func() error{
			"range": func() error { _, err := repo.Collect(s.Range(t.Context(), span)); return err },
			"walk":  func() error { return walk(ts.ByTag) }}},
		{[]any{"ZADD", "posts.by_tag:{go#}", 0, "ann#1#0123456789abcdef{broken"}, map[string]func() error{
			"range": func() error { _, err := repo.Collect(s.Range(t.Context(), span)); return err }}},
	} {
		backendtest.MustCommit(t, s, ts.Insert(t, "ann", "1")) // so that a walk looks there
		do(t, admin, "DEL", tt.write[1])
		do(t, admin, tt.write...)
		for what, read := range tt.read {
			if err := read(); !errors.Is(err, driver.ErrCorrupt) {
				t.Errorf("%s after %v: %v, want ErrCorrupt", what, tt.write, err)
			}
		}
		do(t, admin, "FLUSHDB")
	}
	walksBesideOthers(t, admin, s, ts)
	do(t, admin, "SET", "_table:posts", "x")
	if err := s.Define(t.Context(), ts.All()); !errors.Is(err, driver.ErrCorrupt) {
		t.Errorf("define over a catalog that is another program's: %v, want ErrCorrupt", err)
	}
}

// walksBesideOthers sees that a walk finds all of ours beside many of another program's, which
// are even listed as ours.
func walksBesideOthers(t *testing.T, admin *goredis.Client, s driver.Store, ts *backendtest.Tables) {
	t.Helper()
	for _, name := range []string{"ann", "eve"} {
		backendtest.MustCommit(t, s, ts.Insert(t, name, "1"))
	}
	do(t, admin, "SET", "posts:{bob#}0#", "x")
	do(t, admin, "SET", "posts.by_tag:{bob#}", "x")
	do(t, admin, "ZADD", "_keys", 0, "posts:{bob#}:", 0, "posts.by_tag:{bob#}")
	do(t, admin, "ZADD", "posts:{bob#}:", 0, "0#")
	do(t, admin, "ZADD", "posts.by_tag:{go#}", 0, "ann#1#0123456789abcdef{broken")
	pipe := admin.Pipeline()
	for i := range 600 { // chunks of nothing else
		pipe.HSet(t.Context(), fmt.Sprintf("posts:{bob#}%d#", 1+i), "_rev", "short")
		pipe.ZAdd(t.Context(), "posts:{bob#}:", goredis.Z{Member: fmt.Sprintf("%d#", 1+i)})
		pipe.ZAdd(t.Context(), "posts.by_tag:{go#}", goredis.Z{Member: fmt.Sprintf("bob%d", i)})
	}
	if _, err := pipe.Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		table  *driver.Table
		want   []string
		unread int
	}{{ts.Posts, []string{"ann#1#", "eve#1#"}, 601}, {ts.ByTag, []string{"go#ann#1#", "go#eve#1#"}, 602}} {
		keys, unread := backendtest.WalkAll(t, s, tt.table)
		slices.Sort(keys)
		if !slices.Equal(slices.Compact(keys), tt.want) || len(unread) < tt.unread || !errors.Is(unread, driver.ErrCorrupt) {
			t.Errorf("a walk of %s finds %q, and %d that it cannot read; want %q and %d", tt.table.Name, keys, len(unread), tt.want, tt.unread)
		}
	}
	do(t, admin, "FLUSHDB")
}

// What a person sees in redis-cli is what the documentation of the package says.
func TestLayout(t *testing.T) {
	t.Parallel()
	server, s, ts := own(t)
	admin := raw(t, server.Addr)
	ops := ts.Insert(t, "ann", "1")
	ops[0].Row.Fields = []driver.Value{driver.StringValue("Grüße {1}"), driver.IntValue(-7), driver.FloatValue(1.5), driver.BoolValue(true),
		driver.TimeValue(1521080087000), driver.BytesValue("\x00\xff"), driver.ListValue([]driver.Value{driver.StringValue("a"), driver.FloatValue(2), driver.BytesValue("\x01")})}
	ops[0].Row.Extra = []driver.Pair{{Name: "extra", Value: driver.MapValue([]driver.Value{driver.StringValue("$k"), driver.TimeValue(5)})}}
	ops[0].Row.Meta, ops[0].Row.Expires = "note", 99
	token := driver.NewToken()
	if refusal, err := s.Commit(t.Context(), token, ops); err != nil || refusal != nil {
		t.Fatal(refusal, err)
	}
	rev := string(token[:])
	got, err := admin.HGetAll(t.Context(), "posts:{ann#}1#").Result()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"_rev": rev, "_ring": rev, "_note": "note", "_expires": "99", "title": "Grüße {1}", "views": "-7", "rating": "1.5",
		"open": "true", "at": "1521080087000", "photo": "\x00\xff", "tags": `["a",2.0,{"$bytes":"AQ=="}]`, ".extra": `{"$$k":{"$time":5}}`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the hash of a record (-want +got):\n%s", diff)
	}
	for _, protocol := range []int{2, 3} {
		wholeRow(t, server.Addr, protocol, ts.Posts, &ops[0].Row)
	}
	for key, want := range map[string][]string{
		"posts:{ann#}:":       {"1#"},
		"posts.by_tag:{go#}":  {"ann#1#" + rev + `{"title":"title of 1","views":1}`},
		"posts.slug:{ann-1#}": {rev + `{"_key":"ann#1#"}`},
		"_keys":               {"posts.by_tag:{go#}", "posts.slug:{ann-1#}", "posts:{ann#}:"},
	} {
		got, err := admin.ZRange(t.Context(), key, 0, -1).Result()
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("the set %s: %v (-want +got):\n%s", key, err, diff)
		}
	}
	catalog, err := admin.HGetAll(t.Context(), "_table:posts.slug").Result()
	if diff := cmp.Diff(map[string]string{".key": `{"layout":2,"partition":[{"name":"slug","kind":"string"}]}`, "_key": "string"}, catalog); diff != "" || err != nil {
		t.Errorf("the description of a table: %v (-want +got):\n%s", err, diff)
	}
	wide := *ts.Slug
	wide.Fields = append([]driver.Column{{Name: "more", Kind: driver.Int}}, wide.Fields...)
	if err := s.Define(t.Context(), []*driver.Table{&wide}); err != nil {
		t.Fatal(err)
	}
	if kind := do(t, admin, "HGET", "_table:posts.slug", "more"); kind != "int later" {
		t.Errorf("a field that was added is described as %v", kind)
	}
	do(t, admin, "HSET", "_table:posts.slug", ".key", `{"layout":3}`)
	if err := s.Define(t.Context(), []*driver.Table{ts.Slug}); !errors.Is(err, driver.ErrSchema) || !strings.Contains(err.Error(), "later release") {
		t.Errorf("a table of a later layout: %v, want ErrSchema that says so", err)
	}
}

// wholeRow holds what a client of this version of the protocol reads against what was written.
func wholeRow(t *testing.T, addr string, protocol int, table *driver.Table, want *driver.Row) {
	t.Helper()
	client := goredis.NewClient(&goredis.Options{Addr: addr, Protocol: protocol, ContextTimeoutEnabled: true})
	defer client.Close()
	s, err := redis.New(t.Context(), client, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Attach(t.Context(), []*driver.Table{table}); err != nil {
		t.Fatal(err)
	}
	rows := make([]driver.Row, 1)
	if err := s.Get(t.Context(), table, []driver.Key{want.Key}, nil, rows); err != nil {
		t.Fatal(err)
	}
	got := &rows[0]
	if got.Meta != want.Meta || got.Expires != want.Expires || fmt.Sprint(got.Fields, got.Extra) != fmt.Sprint(want.Fields, want.Extra) {
		t.Errorf("version %d of the protocol reads %+v, want %+v", protocol, got, want)
	}
}

// Stores of different prefixes in one database do not see each other, and Drop
// removes no key but those of its tables.
func TestPrefixes(t *testing.T) {
	t.Parallel()
	server, _, _ := own(t)
	admin := raw(t, server.Addr)
	type opened struct {
		s  driver.Store
		ts *backendtest.Tables
	}
	stores := map[string]opened{}
	for _, prefix := range []string{"", "a", "a.b", "posts"} {
		s, ts := open(t, server.URL+"?prefix="+prefix)
		stores[prefix] = opened{s, ts}
		backendtest.MustCommit(t, s, ts.Insert(t, "ann", "1"))
	}
	others := []string{"posts", "posts:", "posts:x", "posts:[{ann#}1#", "xposts:{ann#}1#", "posts:ann#}1#"}
	for _, key := range others {
		do(t, admin, "SET", key, "theirs")
	}
	for prefix, o := range stores {
		if err := o.s.Drop(context.WithoutCancel(t.Context()), o.ts.All()); err != nil {
			t.Fatal(err)
		}
		if err := o.s.Define(t.Context(), o.ts.All()); err != nil {
			t.Fatal(err)
		}
		if got := o.ts.Numbers(t, o.s, "ann", []string{"1"}); got != "0 posts, 0 counted, 0 rows, 0 slugs" {
			t.Errorf("prefix %q after Drop: %s", prefix, got)
		}
		delete(stores, prefix)
		for other, o := range stores {
			if got := o.ts.Numbers(t, o.s, "ann", []string{"1"}); got != "1 posts, 1 counted, 1 rows, 1 slugs" {
				t.Errorf("prefix %q after Drop with prefix %q: %s", other, prefix, got)
			}
		}
	}
	for _, key := range others {
		if n := do(t, admin, "EXISTS", key); n != int64(1) {
			t.Errorf("the key %s of another program is gone", key)
		}
	}
}
