package gate_test

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/polystore/polystore/internal/testserver"
	"github.com/polystore/polystore/repo/driver"
	goredis "github.com/redis/go-redis/v9"
)

// ownRedis starts a server that a test may treat badly.
func ownRedis(t *testing.T, args ...string) (*testserver.Server, *redisStore) {
	t.Helper()
	server := testserver.Start(t, testserver.Redis, args...)
	return server, &redisStore{statements: readDesign(t), client: dialRedis(t, server.URL), prefix: "own:"}
}

// A server forgets scripts when it is told to or starts again.
func TestRedisForgetsScripts(t *testing.T) {
	t.Parallel()
	server, s := ownRedis(t)
	p, err := newPlay(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	insert := s.insertScript(driver.NewToken(), []driver.Op{postOp(p, driver.Put, p.post("ann", "1"), driver.Absent, driver.Token{})})
	text := insert.named(s.statements["redis/span"] + "\n" + s.statements["redis/insert"] + "\n")
	known := func() bool {
		found, err := s.client.ScriptExists(t.Context(), goredis.NewScript(text).Hash()).Result()
		if err != nil {
			t.Fatal(err)
		}
		return found[0]
	}
	put := func(id string) {
		if _, err := p.do(t.Context(), postOp(p, driver.Put, p.post("ann", id), driver.Absent, driver.Token{})); err != nil {
			t.Error(err)
		}
	}
	put("1")
	if !known() {
		t.Error("the server does not know a script that it has run")
	}
	if err := s.client.ScriptFlush(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	err = goredis.NewScript(text).EvalSha(t.Context(), s.client, []string{"x"}).Err()
	if !goredis.HasErrorPrefix(err, "NOSCRIPT") || known() {
		t.Errorf("EVALSHA after SCRIPT FLUSH = %v, want NOSCRIPT", err)
	}
	put("2")
	server.Restart(t)
	if known() {
		t.Error("the server knows a script after it has started anew")
	}
	put("3")
}

// Redis does not undo what a script has done before it failed. The scripts fail
// before they write.
func TestRedisFailsBeforeItWrites(t *testing.T) {
	t.Parallel()
	_, s := ownRedis(t)
	for _, tt := range []struct {
		name   string
		spoil  func() error
		mend   func() error
		answer string
		check  string // what redis/put does against it, beside the order in which it writes
	}{
		{"foreign key", func() error { return s.client.Set(t.Context(), "own:posts.by_at:{ann#}", "x", 0).Err() },
			func() error { return s.client.FlushDB(t.Context()).Err() }, "WRONGTYPE",
			"    count(key)\n"},
		{"no memory", func() error { return s.client.ConfigSet(t.Context(), "maxmemory", "1").Err() },
			func() error { return s.client.ConfigSet(t.Context(), "maxmemory", "0").Err() }, "OOM", ""},
	} {
		if err := tt.spoil(); err != nil {
			t.Fatal(err)
		}
		for _, label := range []string{"redis/insert", "redis/put", "redis/commit"} {
			if half, err := s.insertWithRow(t, label, s.statements); half || err == nil || !strings.Contains(err.Error(), tt.answer) {
				t.Errorf("%s, %s: half done %v, %v", tt.name, label, half, err)
			}
		}
		if tt.check != "" {
			careless := s.spoil(t, "redis/rows", tt.check, "")
			if half, _ := s.insertWithRow(t, "redis/put", careless); !half {
				t.Errorf("%s, without %s nothing shows", tt.name, tt.check)
			}
		}
		if err := tt.mend(); err != nil {
			t.Fatal(err)
		}
	}
}

// A script that may begin may also end: whether memory is left is looked at once,
// before it. A command that comes after it shows that none was left in the middle.
func TestRedisScriptThatFillsMemory(t *testing.T) {
	t.Parallel()
	_, s := ownRedis(t)
	used, err := strconv.Atoi(s.client.InfoMap(t.Context(), "memory").Item("Memory", "used_memory"))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.client.ConfigSet(t.Context(), "maxmemory", strconv.Itoa(used+10<<20)).Err(); err != nil {
		t.Fatal(err)
	}
	hungry := s.spoil(t, "redis/put", "\nfill()\n", "\nfill()\ncall('SETRANGE', 'ballast', 20000000, 'x')\n")
	if stored, err := s.insertWithRow(t, "redis/put", hungry); !stored || err != nil {
		t.Errorf("a script that takes the last memory: stored %v, %v", stored, err)
	}
	if n := s.client.ZCard(t.Context(), "own:posts.by_at:{ann#}").Val(); n != 1 {
		t.Errorf("%d rows of the index, want 1", n)
	}
	if err := s.client.ZAdd(t.Context(), "set", goredis.Z{Member: "x"}).Err(); !goredis.HasErrorPrefix(err, "OOM") {
		t.Errorf("the command after it: %v, want OOM", err)
	}
}

// insertWithRow inserts a record with an index row by a script, and says whether
// the record is there although the server answered an error.
func (s *redisStore) insertWithRow(t *testing.T, label string, design statements) (half bool, err error) {
	t.Helper()
	spoilt := s.with(design)
	tables := newTables()
	k := tables.post("ann", label)
	ops := []driver.Op{{Do: driver.Put, Table: tables.posts, Row: driver.Row{Key: k, Fields: titled("t")}, If: driver.Absent},
		{Do: driver.Put, Table: tables.byAt, Row: driver.Row{Key: tables.entry("ann", 1, label)}}}
	call := map[string]func(driver.Token, []driver.Op) script{
		"redis/insert": spoilt.insertScript, "redis/put": spoilt.putScript, "redis/commit": spoilt.commitScript,
	}[label](driver.NewToken(), ops)
	_, err = spoilt.run(t.Context(), &call)
	n, existsErr := s.client.Exists(t.Context(), s.key(tables.posts, k)).Result()
	if existsErr != nil {
		t.Fatal(existsErr)
	}
	return n == 1, err
}

// In a cluster all keys of a script lie in one slot, that of the text between the
// first braces: the partition, in which the codec leaves no brace.
func TestRedisCluster(t *testing.T) {
	t.Parallel()
	_, s := ownRedis(t, "--cluster-enabled", "yes")
	if err := s.client.Do(t.Context(), "CLUSTER", "ADDSLOTSRANGE", 0, 16383).Err(); err != nil {
		t.Fatal(err)
	}
	awaitSlots(t, s)
	s.cluster = true
	ctx := t.Context()
	p, err := newPlay(ctx, s)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"ann", "", "{}", "}x", "{", "a{b}c", "\x00"} {
		p.author = name
		if err := several(ctx, p); err != nil {
			t.Errorf("author %q: %v", name, err)
		}
	}
	if err := remote(ctx, p); err == nil || !strings.Contains(err.Error(), "CROSSSLOT") {
		t.Errorf("rows of another partition: %v, want CROSSSLOT", err)
	}
	ops := p.inserted(driver.Key{Partition: "}x", Sort: "1#"}, "slug", 1)
	for i := range ops {
		ops[i].Row.Key.Partition = "}x" // as it were without the codec
	}
	if _, err := s.Commit(ctx, driver.NewToken(), ops); err == nil || !strings.Contains(err.Error(), "CROSSSLOT") {
		t.Errorf("a partition with a brace of its own: %v, want CROSSSLOT", err)
	}
}

func awaitSlots(t *testing.T, s *redisStore) {
	t.Helper()
	for {
		info, err := s.client.ClusterInfo(t.Context()).Result()
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(info, "cluster_state:ok") {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// What a row costs: a ring of raw bytes leaves a small record in its compact form,
// one in hexadecimal digits does not.
func TestRedisSizes(t *testing.T) {
	t.Parallel()
	s := newRedis(t, dialRedis(t, testserver.Shared(t, testserver.Redis).URL))(readDesign(t)).(*redisStore)
	p, err := newPlay(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	k := p.post("ann", "1")
	rev, err := p.do(t.Context(), postOp(p, driver.Put, k, driver.Absent, driver.Token{}))
	for range p.posts.Ring {
		if err == nil {
			rev, err = p.do(t.Context(), postOp(p, driver.Put, k, driver.AtRev, rev))
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	name := s.key(p.posts, k)
	small, compact := s.sizeOf(t, name)
	if err := s.client.HSet(t.Context(), name, "_ring", strings.Repeat("0", 128)).Err(); err != nil {
		t.Fatal(err)
	}
	large, loose := s.sizeOf(t, name)
	if compact != "listpack" || loose != "hashtable" || large < 2*small {
		t.Errorf("ring of raw bytes: %s, %d bytes; in digits: %s, %d bytes", compact, small, loose, large)
	}
}

func (s *redisStore) sizeOf(t *testing.T, name string) (int64, string) {
	t.Helper()
	v, err := s.send(context.Background(), "redis/size", map[string]any{"key": name})
	if err != nil {
		t.Fatal(err)
	}
	form, err := s.client.ObjectEncoding(t.Context(), name).Result()
	if err != nil {
		t.Fatal(err)
	}
	return v.(int64), form
}
