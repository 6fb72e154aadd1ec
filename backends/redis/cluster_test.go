package redis_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/polystore/polystore/backends/redis"
	"github.com/polystore/polystore/internal/backendtest"
	"github.com/polystore/polystore/internal/testserver"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// A letter is a record with two indexes in its own partition.
type letter struct {
	Author  string       `repo:"author"`
	ID      string       `repo:"id"`
	Tag     string       `repo:"tag"`
	N       int64        `repo:"n"`
	Version repo.Version `repo:",version"`
}

func letters(t testing.TB, s driver.Store) *repo.Repo[letter] {
	t.Helper()
	store, schema := repo.NewStore(s, nil), repo.Schema{
		Collection: "letters", Partition: []string{"author"}, Sort: []string{"id"},
		Indexes: []repo.Index{{Name: "tag", Partition: []string{"author"}, Sort: []string{"tag"}},
			{Name: "label", Partition: []string{"author"}, Sort: []string{"tag", "id"}, Unique: true}},
	}
	for {
		r, err := repo.Open[letter](t.Context(), store, schema)
		switch {
		case err == nil:
			return r
		case !errors.Is(err, repo.ErrUnknownOutcome): // else a replica of the catalog was late, on a busy machine
			t.Fatal(err)
		}
	}
}

// inCluster opens a store on a cluster, with names of its own.
func inCluster(t testing.TB, c *testserver.Cluster, options string) *redis.Store {
	t.Helper()
	s, err := redis.Open(t.Context(), c.URL+"&prefix="+driver.NewToken().String()+options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// ownTables are tables of one partition: records, and an index with them.
func ownTables(t testing.TB, s driver.Store) *backendtest.Tables {
	t.Helper()
	ts := backendtest.NewTables()
	ts.ByTag = &driver.Table{Name: "posts.local", Class: driver.Rows, Home: ts.Posts, Partition: ts.Posts.Partition,
		Sort: []driver.Column{{Name: "tag", Kind: driver.String}, {Name: "id", Kind: driver.String}}}
	if err := s.Define(t.Context(), []*driver.Table{ts.Posts, ts.ByTag}); err != nil {
		t.Fatal(err)
	}
	return ts
}

func TestClusterFacts(t *testing.T) {
	t.Parallel()
	c := testserver.SharedCluster(t)
	f := inCluster(t, c, "").Facts()
	if f.Scope != driver.ScopePartition || f.Durability != driver.Delayed || f.Setting != "appendfsync everysec" || f.Version == "" || !f.Uncertain {
		t.Errorf("facts of a cluster: %+v", f)
	}
	for _, want := range []string{"cluster of ", "3 masters", "replicas 3 (a commit does not wait for them)", "versions " + f.Version} {
		if !strings.Contains(f.Detail, want) {
			t.Errorf("detail %q lacks %q", f.Detail, want)
		}
	}
	f = inCluster(t, c, "&min_replicas=1").Facts()
	if f.Durability != driver.Delayed || !strings.Contains(f.Setting, "a commit waits for 1 replica") || !strings.Contains(f.Detail, "(a commit waits for 1)") {
		t.Errorf("facts of a cluster with a replica to wait for: %+v", f)
	}
	if err := refusedBy(t, c.URL+"&min_replicas=2"); !errors.Is(err, driver.ErrUnavailable) || !strings.Contains(err.Error(), "wait for fewer") {
		t.Errorf("more replicas than there are: %v", err)
	}
	one := "redis://" + strings.SplitN(strings.TrimPrefix(c.URL, "redis://"), "?", 2)[0]
	if err := refusedBy(t, one); !errors.Is(err, driver.ErrUnsupported) || !strings.Contains(err.Error(), "cluster=true") {
		t.Errorf("a server of a cluster by itself: %v", err)
	}
	alone := testserver.Shared(t, testserver.Redis)
	if err := refusedBy(t, "redis://"+alone.Addr+"?cluster=true"); !errors.Is(err, driver.ErrUnsupported) || !strings.Contains(err.Error(), "cluster=true") {
		t.Errorf("a server that stands alone as a cluster: %v", err)
	}
}

// Ops of several partitions, and so of several slots, are refused when they are sent.
func TestClusterKeepsToOnePartition(t *testing.T) {
	t.Parallel()
	s := inCluster(t, testserver.SharedCluster(t), "")
	ts := ownTables(t, s)
	ops := append(ts.Insert(t, "ann", "1")[:1], ts.Insert(t, "bob", "1")[0])
	if _, err := s.Commit(t.Context(), driver.NewToken(), ops); !errors.Is(err, driver.ErrInvalid) || !strings.Contains(err.Error(), "posts") {
		t.Errorf("a commit of two partitions: %v, want ErrInvalid", err)
	}
	if n := ts.There(t, s, ts.Posts, ops[0].Row.Key) + ts.There(t, s, ts.Posts, ops[1].Row.Key); n != 0 {
		t.Errorf("%d records of it are there", n)
	}
}

// A client that reads from replicas, or does not heed deadlines, is refused.
func TestClusterClientsThatAreRefused(t *testing.T) {
	t.Parallel()
	for want, o := range map[string]goredis.ClusterOptions{
		"ContextTimeoutEnabled": {},
		"ReadTimeout":           {ContextTimeoutEnabled: true, ReadTimeout: -1},
		"ReadOnly":              {ContextTimeoutEnabled: true, ReadOnly: true},
		"RouteByLatency":        {ContextTimeoutEnabled: true, RouteByLatency: true},
		"RouteRandomly":         {ContextTimeoutEnabled: true, RouteRandomly: true},
	} {
		o.Addrs = []string{"127.0.0.1:1"}
		client := goredis.NewClusterClient(&o)
		defer client.Close()
		if _, err := redis.New(t.Context(), client, nil); !errors.Is(err, driver.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("new: %v, want ErrInvalid that names %s", err, want)
		}
	}
	if _, err := redis.New(t.Context(), (*goredis.ClusterClient)(nil), nil); !errors.Is(err, driver.ErrInvalid) {
		t.Errorf("no client: %v, want ErrInvalid", err)
	}
}

// throughProxies returns a client of a cluster with a proxy before each server.
func throughProxies(t *testing.T, c *testserver.Cluster, retries int) (*goredis.ClusterClient, func() []*proxy) {
	t.Helper()
	var mu sync.Mutex
	proxies := map[string]*proxy{}
	client := goredis.NewClusterClient(&goredis.ClusterOptions{Addrs: []string{strings.SplitN(strings.TrimPrefix(c.URL, "redis://"), "?", 2)[0]},
		Protocol: 2, ContextTimeoutEnabled: true, ReadTimeout: time.Second, MaxRetries: retries, DisableRoutingPolicies: true,
		Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
			mu.Lock()
			if proxies[addr] == nil {
				proxies[addr] = newProxy(t, addr)
			}
			to := proxies[addr].addr()
			mu.Unlock()
			var d net.Dialer
			return d.DialContext(ctx, network, to)
		}})
	t.Cleanup(func() { client.Close() })
	return client, func() []*proxy {
		mu.Lock()
		defer mu.Unlock()
		var list []*proxy
		for _, p := range proxies {
			list = append(list, p)
		}
		return list
	}
}

// A commit is sent once in a cluster, too, whatever becomes of the connection. The
// control is what the same client does with a script of its own.
func TestNothingIsSentTwiceInCluster(t *testing.T) {
	t.Parallel()
	client, proxies := throughProxies(t, testserver.SharedCluster(t), 3)
	s, err := redis.New(t.Context(), client, &redis.Options{Prefix: driver.NewToken().String()})
	if err != nil {
		t.Fatal(err)
	}
	ts := ownTables(t, s)
	backendtest.MustCommit(t, s, ts.Insert(t, "ann", "1")[:1])
	backendtest.MustCommit(t, s, ts.Add(t, "ann", "1")) // now the server has the script
	arm := func(word string, f fault) {
		for _, p := range proxies() {
			p.arm(word, f, 1)
		}
	}
	for _, tt := range []struct {
		name  string
		fault fault
		more  int64
	}{{"request lost", loseRequest, 0}, {"answer lost", loseAnswer, 1}, {"answer late", holdAnswer, 1}} {
		before := ts.Views(t, s, "ann", "1")
		arm("evalsha", tt.fault)
		refusal, err := s.Commit(t.Context(), driver.NewToken(), ts.Add(t, "ann", "1"))
		if !errors.Is(err, driver.ErrUnknownOutcome) || refusal != nil {
			t.Errorf("%s: %v, want ErrUnknownOutcome", tt.name, err)
		}
		var seen int64
		for _, p := range proxies() {
			seen += p.seen.Load()
		}
		if got := ts.Views(t, s, "ann", "1") - before; got != tt.more || seen != 1 {
			t.Errorf("%s: sent %d times, and %d was added, want once and %d", tt.name, seen, got, tt.more)
		}
	}
	name := driver.NewToken().String()
	arm("eval", loseAnswer)
	n, err := client.Eval(t.Context(), "return redis.call('INCR', KEYS[1])", []string{name}).Int()
	if err != nil || n != 2 {
		t.Errorf("go-redis by itself counts to %d, %v; want 2, or the test shows nothing", n, err)
	}
	if err := errors.Join(client.Del(t.Context(), name).Err(), s.Drop(t.Context(), []*driver.Table{ts.Posts, ts.ByTag})); err != nil {
		t.Error(err)
	}
}

// Scripts that all servers have forgotten are given to the one that needs them.
func TestForgottenScriptsInCluster(t *testing.T) {
	t.Parallel()
	c := testserver.StartCluster(t)
	s := inCluster(t, c, "")
	ts := ownTables(t, s)
	for i := range 30 {
		for _, node := range c.Nodes[:3] {
			do(t, raw(t, node.Addr), "SCRIPT", "FLUSH")
		}
		author := fmt.Sprint("author", i)
		backendtest.MustCommit(t, s, ts.Insert(t, author, "1")[:1])
		backendtest.MustCommit(t, s, ts.Add(t, author, "1"))
		if n := ts.Views(t, s, author, "1"); n != 2 {
			t.Errorf("%d views, want 2", n)
		}
	}
	if n, err := s.Size(t.Context(), ts.Posts); err != nil || n < 30*100 {
		t.Errorf("size of 30 records: %d, %v", n, err)
	}
	if used, err := s.CPU(t.Context()); err != nil || used <= 0 {
		t.Errorf("processor time %v, %v", used, err)
	}
	if err := s.Drop(t.Context(), []*driver.Table{ts.Posts, ts.ByTag}); err != nil {
		t.Error(err)
	}
	for _, node := range c.Nodes[:3] {
		if n := do(t, raw(t, node.Addr), "DBSIZE"); n != int64(0) {
			t.Errorf("%v keys are left after Drop", n)
		}
	}
}

// moveSlot gives a slot with its keys to another master, while is called between two
// keys.
func moveSlot(t testing.TB, c *testserver.Cluster, slot int, from, to *testserver.Server, while func()) {
	t.Helper()
	source, target := raw(t, from.Addr), raw(t, to.Addr)
	fromID, toID := do(t, source, "CLUSTER", "MYID"), do(t, target, "CLUSTER", "MYID")
	do(t, target, "CLUSTER", "SETSLOT", slot, "IMPORTING", fromID)
	do(t, source, "CLUSTER", "SETSLOT", slot, "MIGRATING", toID)
	host, port, _ := net.SplitHostPort(to.Addr)
	for {
		keys := do(t, source, "CLUSTER", "GETKEYSINSLOT", slot, 1).([]any)
		if len(keys) == 0 {
			break
		}
		do(t, source, "MIGRATE", host, port, keys[0], 0, 5000)
		while()
	}
	for _, node := range []*testserver.Server{to, from, c.Nodes[0], c.Nodes[1], c.Nodes[2]} {
		do(t, raw(t, node.Addr), "CLUSTER", "SETSLOT", slot, "NODE", toID)
	}
}

// ownerOf returns the slot of a partition of letters, its master and another one.
func ownerOf(t testing.TB, c *testserver.Cluster, tag string) (slot int, from, to *testserver.Server) {
	t.Helper()
	slot = int(do(t, raw(t, c.Nodes[0].Addr), "CLUSTER", "KEYSLOT", "{"+tag+"}").(int64))
	at := slot * 3 / 16384
	return slot, c.Nodes[at], c.Nodes[(at+1)%3]
}

// A slot with data moves to another master while it is written to: nothing is lost,
// nothing is done twice, and the indexes are in step.
func TestReshardingInMidWrite(t *testing.T) {
	t.Parallel()
	c := testserver.StartCluster(t)
	s := inCluster(t, c, "")
	r := letters(t, s)
	const writers, each = 4, 15
	for i := range writers * each {
		if err := r.Insert(t.Context(), &letter{Author: "ann", ID: fmt.Sprintf("%03d", i), Tag: fmt.Sprint("t", i)}); err != nil {
			t.Fatal(err)
		}
	}
	var stop atomic.Bool
	var added [writers * each]int64
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for n := 0; !stop.Load(); n++ {
				i := w*each + n%each
				_, err := r.Update(t.Context(), repo.Key{"ann", fmt.Sprintf("%03d", i)}, func(l *letter) error { l.N++; l.Tag = fmt.Sprint("t", i, "-", l.N); return nil })
				switch {
				case err == nil:
					added[i]++
				case !errors.Is(err, repo.ErrUnavailable):
					t.Errorf("update %d: %v", i, err)
				}
			}
		})
	}
	slot, from, to := ownerOf(t, c, "ann#")
	moveSlot(t, c, slot, from, to, func() { time.Sleep(2 * time.Millisecond) })
	moveSlot(t, c, slot, to, from, func() { time.Sleep(2 * time.Millisecond) })
	time.Sleep(100 * time.Millisecond)
	stop.Store(true)
	wg.Wait()
	var sum int64
	for i, want := range added {
		sum += want
		if l, err := r.Get(t.Context(), repo.Key{"ann", fmt.Sprintf("%03d", i)}); err != nil || l.N != want {
			t.Errorf("letter %d counts %d, %v; want %d", i, l.N, err, want)
		}
	}
	if sum < 100 {
		t.Errorf("%d updates: too few to tell", sum)
	}
	t.Logf("%d updates while a slot moved there and back", sum)
	inStep(t, r, writers*each)
}

// inStep fails unless all indexes agree with the records.
func inStep(t *testing.T, r *repo.Repo[letter], records int) {
	t.Helper()
	reports, err := r.Verify(t.Context())
	for _, rep := range reports {
		if !rep.Clean() || records >= 0 && rep.Records != records {
			t.Errorf("%+v, want a clean report of %d records", rep, records)
		}
	}
	if err != nil || len(reports) != 2 {
		t.Errorf("verify: %d reports, %v", len(reports), err)
	}
}

// chunkWise returns which rows a table has, and the marks of its chunks, each of which is read by
// a walk of its own.
func chunkWise(t *testing.T, s *redis.Store, table *driver.Table) (seen map[driver.Key]int, marks []string) {
	t.Helper()
	seen = map[driver.Key]int{}
	for mark := ""; ; marks = append(marks, mark) {
		for chunk, err := range s.Walk(t.Context(), table, mark) {
			if err != nil {
				t.Fatal(err)
			}
			for _, row := range chunk.Rows {
				seen[row.Key]++
			}
			mark = chunk.Mark
			break
		}
		if mark == "" {
			return seen, marks
		}
	}
}

// A walk sees all rows of all masters, also while slots move, and goes on from its marks when they have moved.
func TestWalkOfCluster(t *testing.T) {
	t.Parallel()
	c := testserver.StartCluster(t)
	s := inCluster(t, c, "")
	ts := ownTables(t, s)
	const authors, each = 40, 30
	for a := range authors {
		var ops []driver.Op
		for i := range each {
			ops = append(ops, ts.Insert(t, fmt.Sprint("author", a), fmt.Sprint(i))[0])
		}
		backendtest.MustCommit(t, s, ops)
	}
	seen, marks := chunkWise(t, s, ts.Posts)
	if len(seen) != authors*each || len(marks) < 2 {
		t.Errorf("%d rows by %d chunks, want %d by 3 or more", len(seen), len(marks)+1, authors*each)
	}
	walk := func(mark string) (n int, err error) {
		for chunk, err := range s.Walk(t.Context(), ts.Posts, mark) {
			if err != nil {
				return n, err
			}
			n += len(chunk.Rows)
		}
		return n, nil
	}
	before, err := walk(marks[0])
	if err != nil || before == 0 || before == authors*each {
		t.Errorf("after the first chunk come %d rows, %v", before, err)
	}
	slot, from, to := ownerOf(t, c, "author1#")
	moved := 0
	moveSlot(t, c, slot, from, to, func() {
		if moved++; moved%10 == 0 {
			if n, err := walk(""); err != nil || n != authors*each {
				t.Errorf("a walk while a slot moves: %d rows, %v; want %d", n, err, authors*each)
			}
		}
	})
	if moved < each {
		t.Errorf("%d keys moved, want some dozens", moved)
	}
	if n, err := walk(marks[0]); err != nil || n != before {
		t.Errorf("after the first chunk come %d rows when a slot has moved, %v; want %d", n, err, before)
	}
}
