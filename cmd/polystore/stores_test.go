package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	goredis "github.com/redis/go-redis/v9"

	"github.com/polystore/polystore/internal/testserver"
	"github.com/polystore/polystore/loadtest"
)

const secret = "s3cret"

// A guarded server wants a password and holds keys that are not ours.
type guarded struct {
	*testserver.Server
	url    string // with the password
	client *goredis.Client
	keys   []string
}

func newGuarded(t *testing.T) *guarded {
	t.Helper()
	s := testserver.Start(t, testserver.Redis)
	g := &guarded{Server: s, url: "redis://:" + secret + "@" + s.Addr + "/0", client: goredis.NewClient(&goredis.Options{Addr: s.Addr, Password: secret})}
	t.Cleanup(func() { g.client.Close() })
	open := goredis.NewClient(&goredis.Options{Addr: s.Addr})
	defer open.Close()
	if err := open.ConfigSet(t.Context(), "requirepass", secret).Err(); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"foreign", "load_", "load_x_posts:{1}"} {
		if err := g.client.Set(t.Context(), key, "kept", 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
	g.keys = g.all(t)
	return g
}

// all returns the keys of the server, in order, but the one that says that there is
// a catalog, which the first collection of all makes and nothing removes.
func (g *guarded) all(t *testing.T) []string {
	t.Helper()
	keys, err := g.client.Keys(t.Context(), "*").Result()
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(keys)
	return slices.DeleteFunc(keys, func(key string) bool { return key == "_table:_catalog" })
}

// check sees that the server holds what it held before, and that nothing printed
// has its password.
func (g *guarded) check(t *testing.T, printed ...string) {
	t.Helper()
	for _, text := range printed {
		if strings.Contains(text, secret) {
			t.Errorf("the password is printed:\n%s", text)
		}
	}
	if keys := g.all(t); !slices.Equal(keys, g.keys) {
		t.Errorf("the server holds %q, and before the run %q", keys, g.keys)
	}
	if value, err := g.client.Get(t.Context(), "foreign").Result(); err != nil || value != "kept" {
		t.Errorf("a foreign key is %q: %v", value, err)
	}
}

// One command measures Pebble and Redis. Each has its class of durability as the
// server has it, and leaves nothing behind.
func TestLoadOnPebbleAndRedis(t *testing.T) {
	g, dir, file := newGuarded(t), t.TempDir(), write(t, "small.yaml", small)
	code, out, diag := do(t, "load", "--on", "pebble:", "--on", g.url, "--out", dir, file)
	if code != 0 {
		t.Fatalf("exit %d\n%s\n%s", code, out, diag)
	}
	result, err := os.ReadFile(filepath.Join(dir, "small-1", "result.json"))
	if err != nil {
		t.Fatal(err)
	}
	g.check(t, out, diag, string(result))
	for _, want := range []string{
		"on redis ", "class delayed (appendfsync everysec)", "on pebble v", "class power (sync=true)",
		"Class power (pebble, sync=true): Take as declared on pebble", "Class delayed (redis, appendfsync everysec): Take as declared on redis",
		"again polystore load --seed 1 --on pebble: --on 'redis://:***@",
	} {
		if !strings.Contains(strings.Join(strings.Fields(out), " "), want) {
			t.Errorf("the text has no %q:\n%s", want, out)
		}
	}
	var r loadtest.Result
	if err := json.Unmarshal(result, &r); err != nil || len(r.Stores) != 2 || r.Stores[1].Durability != "delayed" || r.Candidates[1].ServerCPU <= 0 {
		t.Errorf("%v, stores %+v", err, r.Stores)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v; want the result and nothing else", entries, err)
	}
	if err := g.client.ConfigSet(t.Context(), "appendfsync", "always").Err(); err != nil {
		t.Fatal(err)
	}
	if code, out, diag = do(t, "load", "--on", "pebble:", "--on", g.url, "--out", dir, file); code != 0 ||
		!strings.Contains(out, "class power (appendfsync always)") || strings.Contains(out, "An acknowledged write survives") || strings.Count(out, "Take ") != 1 {
		t.Errorf("exit %d; want both stores in one class\n%s\n%s", code, out, diag)
	}
	g.check(t, out, diag)
	if code, out, diag = do(t, "load", "--on", "pebble:", "--on", "pebble:", "--out", dir, file); code != loadtest.Usage || !strings.Contains(diag, "makes one new store") {
		t.Errorf("two new stores: exit %d, %q, %q", code, out, diag)
	}
}

// One command measures a model on all stores, and ranks within each class of durability
// that the servers have, which the stores ask them for.
func TestLoadOnAllStores(t *testing.T) {
	local := strings.Replace(small, "{partition: [category], sort: [id]}", "{partition: [author], sort: [category, id]}", 1)
	local = strings.Replace(local, "where: {category: $}", "where: {author: $, category: $}", 1)
	cassandra := testserver.Shared(t, testserver.Cassandra).URL
	redis, mongo := testserver.Shared(t, testserver.Redis).URL, testserver.Shared(t, testserver.Mongo).URL
	cassandra = strings.TrimSuffix(cassandra, "/") + "/polystore_load?replication=1&timeout=60s&connect_timeout=60s"
	args := []string{"load", "--json", "--out", t.TempDir(), write(t, "small.yaml", local), "--on", "pebble:", "--on", redis, "--on", mongo, "--on", cassandra}
	code, out, diag := do(t, args...)
	var r loadtest.Result
	if err := json.Unmarshal([]byte(out), &r); err != nil || code != 0 {
		t.Fatalf("exit %d, %v\n%s\n%s", code, err, out, diag)
	}
	class := map[string]string{}
	for _, s := range r.Stores {
		class[s.Name] = s.Durability + ", " + s.Setting
	}
	want := map[string]string{"pebble": "power, sync=true", "redis": "delayed, appendfsync everysec", "mongo": "power, w majority, j true",
		"cassandra": "power, commitlog_sync batch, 1 copy"}
	if diff := cmp.Diff(want, class); diff != "" {
		t.Errorf("classes (-want +got):\n%s", diff)
	}
	ranked := map[string]int{}
	for _, v := range r.Verdicts {
		ranked[v.Class] = len(v.Ranked)
	}
	if diff := cmp.Diff(map[string]int{"power": 3, "delayed": 1}, ranked); diff != "" {
		t.Errorf("how many are ranked in a class (-want +got):\n%s\n%s", diff, r.Text)
	}
	if err := sameFacts(t.Context(), "memory:", "pebble::memory:", redis, mongo, cassandra); err != nil {
		t.Error(err)
	}
	for _, c := range r.Candidates {
		if c.Failures > 0 {
			t.Errorf("%s: %d failures, the first: %s", c.Name, c.Failures, c.Failure)
		}
	}
}

// The shipped workloads, short, are each measured on all stores by one command: the answers
// are the same, index tables are compared with the indexes that a store keeps by itself
// where it can, and no ranking mixes classes.
func TestShippedWorkloadsOnServers(t *testing.T) {
	if !*shortLoad {
		return // TestLoadOnAllStores has a small one
	}
	t.Parallel()
	args := []string{"load", "--json", "--rounds", "2", "--round", "200ms", "--rate", "50", "--out", t.TempDir(), "--on", "pebble:",
		"--on", testserver.Shared(t, testserver.Redis).URL, "--on", testserver.Shared(t, testserver.Mongo).URL,
		"--on", strings.TrimSuffix(testserver.Shared(t, testserver.Cassandra).URL, "/") + "/polystore_load?replication=1&timeout=60s&connect_timeout=60s"}
	for _, file := range []string{"../../examples/blog/blog.yaml", "../../examples/debian/debian.yaml", "../../examples/sessions/sessions.yaml", "../../examples/trees/crossover.yaml"} {
		records := "50"
		if strings.Contains(file, "trees") {
			records = "400" // of which some folders are large enough
		}
		code, out, diag := do(t, append(args, "--records", records, file)...)
		var r loadtest.Result
		if err := json.Unmarshal([]byte(out), &r); err != nil || code == loadtest.Wrong || code == loadtest.Usage {
			t.Fatalf("%s: exit %d, %v\n%s", file, code, err, diag)
		}
		checkModels(t, &r)
		checkRanking(t, &r)
		t.Logf("%s: %d candidates in %v", file, len(r.Candidates), r.Took)
	}
}

// checkModels sees that every model was measured on every store, or is said not to be there.
func checkModels(t *testing.T, r *loadtest.Result) {
	t.Helper()
	got := map[string]string{}
	for _, c := range r.Candidates {
		got[c.Name] = "measured"
		if c.Failures > 0 || c.RequestsEach <= 0 {
			t.Errorf("%s: %v requests an operation, %d failures, the first: %s", c.Name, c.RequestsEach, c.Failures, c.Failure)
		}
	}
	for _, c := range r.NotThere {
		got[c.Name] = "not there"
		if !strings.Contains(c.Reason, "kind native") {
			t.Errorf("%s is not there: %s", c.Name, c.Reason)
		}
	}
	want := map[string]string{}
	for _, store := range []string{"pebble", "redis", "mongo", "cassandra"} {
		for _, model := range r.Models {
			want[model+" on "+store] = "measured"
		}
	}
	if slices.Contains(r.Models, "native index") {
		want["native index on pebble"], want["native index on redis"], want["native index on cassandra"] = "not there", "not there", "not there"
	}
	if r.Workload == "blog" { // whose indexes are not all too much for Cassandra
		const some = "native for comments of a reader on "
		want[some+"pebble"], want[some+"redis"], want[some+"mongo"], want[some+"cassandra"] = "not there", "not there", "measured", "measured"
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("models (-want +got):\n%s", diff)
	}
}

// checkRanking sees that the classes are those of the servers, and each ranking is of one.
func checkRanking(t *testing.T, r *loadtest.Result) {
	t.Helper()
	class := map[string]string{}
	for _, s := range r.Stores {
		class[s.Name] = s.Durability
	}
	if diff := cmp.Diff(map[string]string{"pebble": "power", "redis": "delayed", "mongo": "power", "cassandra": "power"}, class); diff != "" {
		t.Errorf("classes (-want +got):\n%s", diff)
	}
	ranked := 0
	for _, v := range r.Verdicts {
		for _, name := range v.Ranked {
			ranked++
			if on := name[strings.LastIndex(name, " ")+1:]; v.Class != class[on] {
				t.Errorf("%s is ranked in class %s", name, v.Class)
			}
		}
	}
	if len(r.Verdicts) != 2 || ranked != len(r.Candidates) {
		t.Errorf("%d candidates are ranked in %d classes, want %d in 2", ranked, len(r.Verdicts), len(r.Candidates))
	}
}

// A wrong password, or a server that is not there, is told without the secret.
func TestLoadOnServerThatCannotBeUsed(t *testing.T) {
	g, file := newGuarded(t), write(t, "small.yaml", small)
	for _, url := range []string{strings.Replace(g.url, secret, secret+"x", 1), strings.Replace(g.url, g.Addr, "127.0.0.1:1", 1)} {
		code, out, diag := do(t, "load", "--on", "pebble:", "--on", url, "--out", t.TempDir(), file)
		if code != loadtest.Usage || out != "" || !strings.Contains(diag, "redis") {
			t.Errorf("exit %d, %q, %q", code, out, diag)
		}
		g.check(t, out, diag)
	}
}

// A trigger calls do once a text is printed.
type trigger struct {
	bytes.Buffer
	at string
	do func()
}

func (g *trigger) Write(p []byte) (int, error) {
	if g.do != nil && bytes.Contains(p, []byte(g.at)) {
		g.do()
		g.do = nil
	}
	return g.Buffer.Write(p)
}

// Whenever a run on a server is interrupted, nothing is left in it.
func TestInterruptedLoadLeavesTheServerClean(t *testing.T) {
	g, file := newGuarded(t), write(t, "small.yaml", small)
	for _, at := range []string{"load posts into as declared on redis", "compare answers", "measure"} {
		ctx, cancel := context.WithCancel(t.Context())
		diag := &trigger{at: at, do: cancel}
		err := run(ctx, []string{"load", "--on", "pebble:", "--on", g.url, "--out", t.TempDir(), file}, &bytes.Buffer{}, diag)
		if code := report(err, diag); code != interrupted || !strings.Contains(diag.String(), "what the run had written is removed") {
			t.Errorf("interrupted at %q: exit %d, %v\n%s", at, code, err, diag)
		}
		g.check(t, diag.String())
		cancel()
	}
}

// A server that is killed while it is measured ends the run: what was measured
// before is printed and kept, and the code says that a store failed.
func TestServerThatIsKilled(t *testing.T) {
	g, dir := newGuarded(t), t.TempDir()
	file := write(t, "small.yaml", strings.Replace(small, "rounds: 1", "rounds: 20", 1))
	measuring, ended := make(chan struct{}), make(chan error, 1)
	diag := &trigger{at: "measure", do: func() { close(measuring) }}
	var out bytes.Buffer
	go func() {
		ended <- run(t.Context(), []string{"load", "--on", "pebble:", "--on", g.url, "--out", dir, file}, &out, diag)
	}()
	<-measuring
	time.Sleep(3 * time.Second) // some of the 20 rounds, each of half a second on both stores
	g.Kill9(t)
	err := <-ended
	if code := report(err, diag); code != loadtest.Usage || !strings.Contains(diag.String(), "stopped answering in round ") ||
		!strings.Contains(diag.String(), "where there may be still load_") || strings.Contains(diag.String()+out.String(), secret) {
		t.Errorf("exit %d, %v\n%s", code, err, diag)
	}
	if text := out.String(); !strings.Contains(text, "No verdict: redis://:***@") || !strings.Contains(text, "of 20 rounds") || strings.Contains(text, "Take ") {
		t.Errorf("the text is\n%s", text)
	}
	if _, err := os.Stat(filepath.Join(dir, "small-1", "result.json")); err != nil {
		t.Error(err)
	}
}
