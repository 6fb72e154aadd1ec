package redis_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"github.com/polystore/polystore/backends/redis"
	"github.com/polystore/polystore/internal/backendtest"
	"github.com/polystore/polystore/internal/testserver"
	"github.com/polystore/polystore/repo/driver"
)

// A between is a hook that does something once, before a command with a word is sent.
type between struct {
	word string
	do   func()
	once sync.Once
}

func (*between) DialHook(next goredis.DialHook) goredis.DialHook { return next }

func (b *between) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return next
}

func (b *between) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	return func(ctx context.Context, cmd goredis.Cmder) error {
		if slices.Contains(cmd.Args(), any(b.word)) {
			b.once.Do(b.do)
		}
		return next(ctx, cmd)
	}
}

// A program may use a table, with a field that it does not declare, while another one
// is declaring both: nothing is hidden from that one.
func TestTableThatTwoDefineAtOnce(t *testing.T) {
	t.Parallel()
	server := testserver.Start(t, testserver.Redis)
	first, ts := open(t, server.URL+"?prefix=a")
	key := backendtest.KeyOf(t, ts.Slug, "x")
	narrow := &driver.Table{Name: "notes", Partition: ts.Slug.Partition, Ring: 4, Fields: []driver.Column{{Name: "text", Kind: driver.String}}}
	wide := *narrow
	wide.Fields = append(slices.Clone(narrow.Fields), driver.Column{Name: "likes", Kind: driver.Int})
	client := raw(t, server.Addr)
	b := &between{word: "likes", do: func() {
		if err := first.Define(t.Context(), []*driver.Table{narrow}); err != nil {
			t.Error(err)
		}
		backendtest.MustCommit(t, first, []driver.Op{{Do: driver.Put, Table: narrow, Row: driver.Row{Key: key, Extra: []driver.Pair{{Name: "likes", Value: driver.IntValue(5)}}}}})
	}}
	client.AddHook(b)
	second, err := redis.New(t.Context(), client, &redis.Options{Prefix: "a"})
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Define(t.Context(), []*driver.Table{&wide}); err != nil {
		t.Fatal(err)
	}
	likes := func() driver.Value {
		var rows [1]driver.Row
		if err := second.Get(t.Context(), &wide, []driver.Key{key}, []int{1}, rows[:]); err != nil {
			t.Fatal(err)
		}
		return rows[0].Fields[0]
	}
	if got := likes(); !got.Equal(driver.IntValue(5)) {
		t.Errorf("the program that declares the field reads %v, want 5", got)
	}
	backendtest.MustCommit(t, second, []driver.Op{{Do: driver.Patch, If: driver.Present, Table: &wide, Row: driver.Row{Key: key},
		Edits: []driver.Edit{{Do: driver.Add, Field: 1, Value: driver.IntValue(1)}}}})
	if got := likes(); !got.Equal(driver.IntValue(6)) {
		t.Errorf("after an addition it reads %v, want 6", got)
	}
}

// Where the catalog was removed under a program that goes on writing, another one that
// meets its fields says so, until the first starts again.
func TestCatalogThatWasRemoved(t *testing.T) {
	t.Parallel()
	server, s, ts := own(t)
	do(t, raw(t, server.Addr), "FLUSHALL")
	backendtest.MustCommit(t, s, ts.Insert(t, "ann", "1"))
	other, _ := open(t, server.URL+"")
	do(t, raw(t, server.Addr), "DEL", "_table:posts")
	narrow := *ts.Posts
	narrow.Fields = ts.Posts.Fields[:1]
	if err := other.Define(t.Context(), []*driver.Table{&narrow}); err != nil {
		t.Fatal(err)
	}
	read := func() error {
		return other.Get(t.Context(), &narrow, []driver.Key{backendtest.KeyOf(t, &narrow, "ann", "1")}, nil, make([]driver.Row, 1))
	}
	if err := read(); !errors.Is(err, driver.ErrCorrupt) || !strings.Contains(err.Error(), "_table:posts was removed") {
		t.Errorf("a field whose description was removed: %v, want ErrCorrupt that says so", err)
	}
	again, _ := open(t, server.URL)
	if err := read(); err != nil {
		t.Errorf("after the program started again: %v", err)
	}
	if n := ts.Views(t, s, "ann", "1"); n != 1 {
		t.Errorf("%d views, want 1", n)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}

// A hash of another program in the place of a record is named.
func TestHashOfAnotherProgram(t *testing.T) {
	t.Parallel()
	server, s, ts := own(t)
	admin := raw(t, server.Addr)
	do(t, admin, "HSET", "posts:{ann#}1#", "theirs", "x")
	for what, ops := range map[string][]driver.Op{
		"insert": ts.Insert(t, "ann", "1"),
		"put":    {{Do: driver.Put, Table: ts.Posts, Row: driver.Row{Key: backendtest.KeyOf(t, ts.Posts, "ann", "1")}}},
	} {
		_, err := s.Commit(t.Context(), driver.NewToken(), ops)
		if !errors.Is(err, driver.ErrCorrupt) || !strings.Contains(err.Error(), `"posts:{ann#}1#" has no _rev`) {
			t.Errorf("%s: %v, want ErrCorrupt that names the key", what, err)
		}
	}
	if n := do(t, admin, "HGET", "posts:{ann#}1#", "theirs"); n != "x" {
		t.Errorf("their field is %v", n)
	}
}
