package redis_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/polystore/polystore/backends/redis"
	"github.com/polystore/polystore/internal/backendtest"
	"github.com/polystore/polystore/internal/testserver"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// A watcher is a hook that notes commands and the greatest number of elements that
// any was asked for.
type watcher struct {
	mu    sync.Mutex
	names map[string]int
	trips int
	most  int
}

func (w *watcher) DialHook(next goredis.DialHook) goredis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (w *watcher) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	return func(ctx context.Context, cmd goredis.Cmder) error {
		w.note(1, cmd)
		return next(ctx, cmd)
	}
}

func (w *watcher) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []goredis.Cmder) error {
		w.note(len(cmds), cmds...)
		return next(ctx, cmds)
	}
}

func (w *watcher) note(n int, cmds ...goredis.Cmder) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.trips++
	w.most = max(w.most, n)
	for _, cmd := range cmds {
		w.names[cmd.Name()]++
		if args := cmd.Args(); cmd.Name() == "zrange" {
			if limit, ok := args[len(args)-1].(int); ok {
				w.most = max(w.most, limit)
			}
		}
	}
}

// reset forgets what was noted and returns it.
func (w *watcher) reset() (names map[string]int, trips, most int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	names, trips, most = w.names, w.trips, w.most
	w.names, w.trips, w.most = map[string]int{}, 0, 0
	return names, trips, most
}

// watched returns a store whose commands are noted.
func watched(t *testing.T) (*watcher, *redis.Store, *backendtest.Tables) {
	t.Helper()
	w := &watcher{names: map[string]int{}}
	// With the newer version of the protocol, where maps are not lists.
	client := goredis.NewClient(&goredis.Options{Addr: testserver.Shared(t, testserver.Redis).Addr, Protocol: 3, ContextTimeoutEnabled: true})
	t.Cleanup(func() { client.Close() })
	client.AddHook(w)
	s, err := redis.New(t.Context(), client, &redis.Options{Prefix: driver.NewToken().String()})
	if err != nil {
		t.Fatal(err)
	}
	ts := backendtest.NewTables()
	if err := s.Define(t.Context(), ts.All()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Drop(context.WithoutCancel(t.Context()), ts.All()); err != nil {
			t.Error(err)
		}
	})
	return w, s, ts
}

const largeRows = 10_000

// A large partition is read in pages, counted, each row once; what is left early
// reads no more; no command is unbounded.
func TestLargePartition(t *testing.T) {
	t.Parallel()
	w, s, ts := watched(t)
	var ids []string
	for from := 0; from < largeRows; from += 250 {
		var ops []driver.Op
		for i := from; i < from+250; i++ {
			id := fmt.Sprintf("%05d", i)
			ids = append(ids, id+"#")
			insert := ts.Insert(t, "ann", id)
			ops = append(ops, insert[0], insert[1])
		}
		backendtest.MustCommit(t, s, ops)
	}
	for _, span := range []driver.Span{{Table: ts.Posts, Key: driver.Key{Partition: "ann#"}}, {Table: ts.ByTag, Key: driver.Key{Partition: "go#"}}} {
		name := span.Table.Name
		w.reset()
		inOrder(t, s, span, ids)
		names, _, most := w.reset()
		if most > 512 || most < 100 || names["zrange"] < 2*largeRows/512 {
			t.Errorf("%s was read by %v, with pages of at most %d", name, names, most)
		}
		for range s.Range(t.Context(), span) {
			break
		}
		if _, trips, most := w.reset(); trips > 2 || most > 128 {
			t.Errorf("a loop over %s that ends at its first row makes %d trips, the largest for %d", name, trips, most)
		}
		if n, err := s.Count(t.Context(), span); n != largeRows || err != nil {
			t.Errorf("count of %s: %d, %v", name, n, err)
		}
		walkedWhole(t, s, span.Table)
	}
	if size, err := s.Size(t.Context(), ts.ByTag); err != nil || size < largeRows*40 {
		t.Errorf("size of the index: %d, %v", size, err)
	}
	w.reset()
	if err := s.Drop(t.Context(), ts.All()); err != nil {
		t.Fatal(err)
	}
	if names, _, _ := w.reset(); names["keys"]+names["smembers"]+names["flushdb"] > 0 || names["unlink"] < 20 {
		t.Errorf("drop by %v, want UNLINK in steps", names)
	}
}

// inOrder reads a span forwards and backwards.
func inOrder(t *testing.T, s driver.Store, span driver.Span, ids []string) {
	t.Helper()
	for range 2 {
		n := 0
		for row, err := range s.Range(t.Context(), span) {
			want := ids[n]
			if span.Reverse {
				want = ids[len(ids)-1-n]
			}
			if err != nil || !strings.HasSuffix(row.Key.Sort, want) || row.Fields[backendtest.FieldViews].Int() != 1 {
				t.Fatalf("row %d of %s: %v, %v; want %s", n, span.Table.Name, row, err, want)
			}
			n++
		}
		if n != len(ids) {
			t.Errorf("%d rows of %s, want %d", n, span.Table.Name, len(ids))
		}
		span.Reverse = true
	}
}

// walkedWhole walks a table in chunks.
func walkedWhole(t *testing.T, s driver.Store, table *driver.Table) {
	t.Helper()
	seen := map[string]bool{}
	for chunk, err := range s.Walk(t.Context(), table, "") {
		if err != nil || len(chunk.Rows) > 512 {
			t.Fatalf("a chunk of %d rows, %v", len(chunk.Rows), err)
		}
		for i := range chunk.Rows {
			seen[chunk.Rows[i].Key.Sort] = true
		}
	}
	if len(seen) != largeRows {
		t.Errorf("a walk of %s finds %d rows, want %d", table.Name, len(seen), largeRows)
	}
}

// A commit with all its index rows, and a get, are one round trip each; a range of
// index rows one, and one of records two.
func TestRoundTrips(t *testing.T) {
	t.Parallel()
	w, s, ts := watched(t)
	backendtest.MustCommit(t, s, ts.Insert(t, "ann", "1"))
	backendtest.MustCommit(t, s, ts.Add(t, "ann", "1"))
	keys := []driver.Key{backendtest.KeyOf(t, ts.Posts, "ann", "1"), backendtest.KeyOf(t, ts.Posts, "ann", "2"), backendtest.KeyOf(t, ts.Posts, "ann", "3")}
	for _, tt := range []struct {
		what  string
		trips int
		call  func() error
	}{
		{"insert", 1, func() error { _, err := s.Commit(t.Context(), driver.NewToken(), ts.Insert(t, "ann", "2")); return err }},
		{"add", 1, func() error { _, err := s.Commit(t.Context(), driver.NewToken(), ts.Add(t, "ann", "1")); return err }},
		{"refused insert", 1, func() error { _, err := s.Commit(t.Context(), driver.NewToken(), ts.Insert(t, "ann", "2")); return err }},
		{"get", 1, func() error { return s.Get(t.Context(), ts.Posts, keys[:1], nil, make([]driver.Row, 1)) }},
		{"get of three", 1, func() error { return s.Get(t.Context(), ts.Posts, keys, nil, make([]driver.Row, 3)) }},
		{"get with a mask", 1, func() error {
			return s.Get(t.Context(), ts.Posts, keys[:1], []int{backendtest.FieldTitle}, make([]driver.Row, 1))
		}},
		{"range of an index", 1, func() error {
			_, err := repo.Collect(s.Range(t.Context(), driver.Span{Table: ts.ByTag, Key: driver.Key{Partition: "go#"}, Limit: 20}))
			return err
		}},
		{"range of records", 2, func() error {
			_, err := repo.Collect(s.Range(t.Context(), driver.Span{Table: ts.Posts, Key: driver.Key{Partition: "ann#"}, Limit: 20}))
			return err
		}},
		{"count", 1, func() error {
			_, err := s.Count(t.Context(), driver.Span{Table: ts.Posts, Key: driver.Key{Partition: "ann#"}})
			return err
		}},
	} {
		w.reset()
		if err := tt.call(); err != nil {
			t.Errorf("%s: %v", tt.what, err)
		}
		if names, trips, _ := w.reset(); trips != tt.trips {
			t.Errorf("%s makes %d round trips, want %d: %v", tt.what, trips, tt.trips, names)
		}
	}
}

// A mark of a walk is good in another program, and after a restart of the server.
func TestMarksOutliveTheServer(t *testing.T) {
	t.Parallel()
	server, s, ts := own(t)
	for i := range 600 {
		backendtest.MustCommit(t, s, ts.Insert(t, "ann", fmt.Sprint(i)))
	}
	mark := ""
	for chunk, err := range s.Walk(t.Context(), ts.Posts, "") {
		if err != nil {
			t.Fatal(err)
		}
		mark = chunk.Mark
		break
	}
	rest := func(s driver.Store) (n int) {
		for chunk, err := range s.Walk(t.Context(), ts.Posts, mark) {
			if err != nil {
				t.Fatal(err)
			}
			n += len(chunk.Rows)
		}
		return n
	}
	before := rest(s)
	server.Restart(t)
	other, _ := open(t, server.URL)
	if err := other.Attach(t.Context(), ts.All()); err != nil {
		t.Fatal(err)
	}
	if after := rest(other); mark == "" || before == 0 || before >= 600 || after != before {
		t.Errorf("after the first chunk come %d rows, and %d after a restart, of 600", before, after)
	}
}

// A chunk of a walk has 256 rows at most, also where many small sets are read at once and those
// after them are larger.
func TestChunksOfAWalk(t *testing.T) {
	t.Parallel()
	b := newBrief(t, time.Hour)
	table := *b.table
	table.Name, table.Sort = "sizes", []driver.Column{{Name: "number", Kind: driver.String}}
	if err := b.s.Define(t.Context(), []*driver.Table{&table}); err != nil {
		t.Fatal(err)
	}
	rows := 0
	for partition := range 320 {
		ops := []driver.Op{}
		for n := range 1 + partition/255*9 {
			key := backendtest.KeyOf(t, &table, fmt.Sprintf("%03d", partition), fmt.Sprint(n))
			ops = append(ops, driver.Op{Do: driver.Put, Table: &table, Row: driver.Row{Key: key}})
		}
		backendtest.MustCommit(t, b.s, ops)
		rows += len(ops)
	}
	for chunk, err := range b.s.Walk(t.Context(), &table, "") {
		if err != nil {
			t.Fatal(err)
		}
		if rows -= len(chunk.Rows); len(chunk.Rows) > 256 {
			t.Errorf("a chunk has %d rows", len(chunk.Rows))
		}
	}
	if rows != 0 {
		t.Errorf("%d rows are missing", rows)
	}
}
