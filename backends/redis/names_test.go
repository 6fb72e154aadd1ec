package redis_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/polystore/polystore/backends/redis"
	"github.com/polystore/polystore/internal/backendtest"
	"github.com/polystore/polystore/internal/testserver"
	"github.com/polystore/polystore/repo/driver"
)

// unlisted compares the list of names under a prefix with the keys that there are, and says
// what is wrong: a set, or a dead record that stays, is not in it; something else is; a record
// that lives expires, or is not in its order.
func unlisted(t testing.TB, clients []*goredis.Client, prefix string) (wrong []string) {
	t.Helper()
	ctx := t.Context()
	listed, members, records := map[string]bool{}, map[string]bool{}, map[string]bool{}
	eachKey(t, clients, prefix+"_keys", func(c *goredis.Client, key string) {
		for _, name := range c.ZRange(ctx, key, 0, -1).Val() {
			listed[name] = true
		}
	})
	eachKey(t, clients, prefix, func(c *goredis.Client, key string) {
		ttl := c.PTTL(ctx, key).Val() // -1 of a key that stays
		switch kind := c.Type(ctx, key).Val(); {
		case strings.HasPrefix(key, prefix+"_"):
		case kind == "zset" && !listed[key]:
			wrong = append(wrong, key+" is not listed")
		case kind == "zset":
			for _, m := range c.ZRange(ctx, key, 0, -1).Val() {
				members[strings.TrimSuffix(key, ":")+m] = true
			}
		case c.HExists(ctx, key, "_dead").Val():
			if (ttl < 0) != listed[key] {
				wrong = append(wrong, fmt.Sprintf("%s is dead, goes after %v, and listed: %v", key, ttl, listed[key]))
			}
		case ttl >= 0 || listed[key]:
			wrong = append(wrong, fmt.Sprintf("%s lives, goes after %v, and listed: %v", key, ttl, listed[key]))
		default:
			records[key] = true
		}
		delete(listed, key)
	})
	for key := range listed {
		wrong = append(wrong, key+" is listed and not there")
	}
	for key := range records {
		if table, rest, _ := strings.Cut(key, ":{"); strings.HasSuffix(rest, "#}") { // one in its partition
			tag := strings.TrimSuffix(rest, "}")
			if !slices.ContainsFunc(slices.Collect(keysOf(members)), func(m string) bool {
				return strings.HasPrefix(m, table+":{") && strings.HasSuffix(m, "}"+tag)
			}) {
				wrong = append(wrong, key+" is in no order")
			}
		} else if !members[key] { // the name of a set up to the brace and its member are that of the record
			wrong = append(wrong, key+" is not in its order")
		}
	}
	return wrong
}

// eachKey calls do for each key of some servers that begins with a prefix.
func eachKey(t testing.TB, clients []*goredis.Client, prefix string, do func(c *goredis.Client, key string)) {
	t.Helper()
	for _, c := range clients {
		keys := c.Scan(t.Context(), 0, prefix+"*", 1000).Iterator()
		for keys.Next(t.Context()) {
			do(c, keys.Val())
		}
		if err := keys.Err(); err != nil {
			t.Fatal(err)
		}
	}
}

func keysOf(m map[string]bool) func(func(string) bool) {
	return func(yield func(string) bool) {
		for key := range m {
			if !yield(key) {
				return
			}
		}
	}
}

// A life is tables of one partition each, and a random history of their rows.
type life struct {
	s                                  driver.Store
	random                             *rand.Rand
	posts, bare, covered, slug         *driver.Table
	alone, aloneBare, stays, staysBare *driver.Table
}

// newLife defines records of which a partition has several and such of which it has one, with
// rows that are keys alone, others, and claims. Some that die stay, others go.
func newLife(t testing.TB, s driver.Store, seed uint64) *life {
	t.Helper()
	col := func(name string) []driver.Column { return []driver.Column{{Name: name, Kind: driver.String}} }
	l := &life{s: s, random: rand.New(rand.NewPCG(seed, 1))}
	l.posts = &driver.Table{Name: "lives", Partition: col("author"), Sort: col("id"), Ring: 4, Fields: col("title"), Retention: time.Hour}
	l.bare = &driver.Table{Name: "lives.bare", Class: driver.Rows, Home: l.posts, Partition: col("author"), Sort: append(col("tag"), col("id")...), KeyOnly: true}
	l.covered = &driver.Table{Name: "lives.covered", Class: driver.Rows, Home: l.posts, Partition: col("author"), Sort: append(col("tag"), col("id")...), Fields: col("title")}
	l.slug = &driver.Table{Name: "lives.slug", Class: driver.Claims, Home: l.posts, Partition: col("author"), Sort: col("slug"), Fields: col("_key")}
	l.alone = &driver.Table{Name: "alone", Partition: col("id"), Ring: 4, Fields: col("title"), Retention: time.Hour}
	l.aloneBare = &driver.Table{Name: "alone.bare", Class: driver.Rows, Home: l.alone, Partition: col("id"), Sort: col("tag"), KeyOnly: true}
	l.stays = &driver.Table{Name: "stays", Partition: col("id"), Ring: 4, Fields: col("title")}
	l.staysBare = &driver.Table{Name: "stays.bare", Class: driver.Rows, Home: l.stays, Partition: col("id"), Sort: col("tag"), KeyOnly: true}
	if err := s.Define(t.Context(), l.all()); err != nil {
		t.Fatal(err)
	}
	return l
}

func (l *life) all() []*driver.Table {
	return []*driver.Table{l.posts, l.bare, l.covered, l.slug, l.alone, l.aloneBare, l.stays, l.staysBare}
}

func (l *life) some(n int) string { return fmt.Sprint(l.random.IntN(n)) }

// record returns a change of a record of a partition, or of the only one.
func (l *life) record(t testing.TB, table *driver.Table, partition string) driver.Op {
	t.Helper()
	parts := []string{partition}
	if len(table.Sort) > 0 {
		parts = append(parts, l.some(4))
	}
	key := backendtest.KeyOf(t, table, parts...)
	rows := make([]driver.Row, 1)
	if err := l.s.Get(t.Context(), table, []driver.Key{key}, nil, rows); err != nil {
		t.Fatal(err)
	}
	op := driver.Op{Do: driver.Put, Table: table, Row: driver.Row{Key: key, Fields: []driver.Value{driver.StringValue(l.some(9))}}}
	if now := &rows[0]; now.Rev.IsZero() {
		op.If = driver.Absent
	} else if l.random.IntN(4) > 0 {
		op.If, op.Rev, op.Row.Ring = driver.AtRev, now.Rev, now.Ring
	}
	switch n := l.random.IntN(10); {
	case n < 3: // as it is
	case n < 5:
		op.Row.Dead, op.Row.Fields, op.Row.Expires = true, nil, 99
	case n < 6:
		op.Do, op.Row.Ring = driver.Delete, nil
	case n < 7 && op.If != driver.Any:
		op.Do, op.Row = driver.Fence, driver.Row{Key: key, Expires: 99}
	case op.If == driver.AtRev:
		op.Do, op.Row.Fields = driver.Patch, nil
		op.Edits = []driver.Edit{{Do: driver.Set, Value: driver.StringValue(l.some(9))}}
	}
	return op
}

// row returns a change of a row of an index.
func (l *life) row(t testing.TB, table *driver.Table, partition string) driver.Op {
	t.Helper()
	parts := []string{partition, l.some(2)}
	if len(table.Sort) > 1 {
		parts = append(parts, l.some(2))
	}
	op := driver.Op{Do: driver.Put, Table: table, Row: driver.Row{Key: backendtest.KeyOf(t, table, parts...)}}
	if !table.KeyOnly {
		op.Row.Fields = []driver.Value{driver.StringValue(l.some(9))}
	}
	if l.random.IntN(5) < 3 {
		op.Do, op.Row.Fields = driver.Delete, nil
	}
	return op
}

// step sends a commit of one partition: one record or two, and rows.
func (l *life) step(t testing.TB) {
	t.Helper()
	partition := l.some(5)
	records, rows := l.posts, []*driver.Table{l.bare, l.covered, l.slug}
	switch l.random.IntN(4) {
	case 0:
		records, rows = l.alone, []*driver.Table{l.aloneBare}
	case 1:
		records, rows = l.stays, []*driver.Table{l.staysBare}
	}
	ops := []driver.Op{l.record(t, records, partition)}
	if len(records.Sort) > 0 && l.random.IntN(3) == 0 {
		ops = append(ops, l.record(t, records, partition))
	}
	for _, table := range rows {
		for range l.random.IntN(3) {
			ops = append(ops, l.row(t, table, partition))
		}
	}
	seen := map[driver.Key]*driver.Table{}
	ops = slices.DeleteFunc(ops, func(op driver.Op) bool {
		twice := seen[op.Row.Key] == op.Table
		seen[op.Row.Key] = op.Table
		return twice
	})
	if _, err := l.s.Commit(t.Context(), driver.NewToken(), ops); err != nil {
		t.Fatalf("%+v: %v", ops, err)
	}
}

// Whatever is done, the list has the names of all sets, and of the dead that stay. A walk finds
// what Get finds, and after a drop nothing is left but what goes by itself.
func TestListOfNames(t *testing.T) {
	t.Parallel()
	c := testserver.SharedCluster(t)
	alone := testserver.Shared(t, testserver.Redis)
	for url, addrs := range map[string][]string{alone.URL + "?": {alone.Addr}, c.URL + "&": {c.Nodes[0].Addr, c.Nodes[1].Addr, c.Nodes[2].Addr}} {
		prefix := driver.NewToken().String()
		s, err := redis.Open(t.Context(), url+"prefix="+prefix)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		var clients []*goredis.Client
		for _, addr := range addrs {
			clients = append(clients, raw(t, addr))
		}
		seed := rand.Uint64()
		l := newLife(t, s, seed)
		for i := range 3000 {
			l.step(t)
			if i%500 == 499 {
				for _, wrong := range unlisted(t, clients, prefix+":") {
					t.Errorf("seed %d, step %d: %s", seed, i, wrong)
				}
			}
		}
		l.walks(t)
		if err := s.Drop(t.Context(), l.all()); err != nil {
			t.Fatal(err)
		}
		for _, client := range clients {
			for _, key := range do(t, client, "KEYS", prefix+":*").([]any) {
				if client.PTTL(t.Context(), key.(string)).Val() < 0 {
					t.Errorf("seed %d: %s is left after a drop", seed, key)
				}
			}
		}
	}
}

// walks compares what walks yield with what Get finds under all keys that there can be.
func (l *life) walks(t testing.TB) {
	t.Helper()
	for _, table := range []*driver.Table{l.posts, l.alone, l.stays} {
		seen := map[driver.Key]driver.Token{}
		for chunk, err := range l.s.Walk(t.Context(), table, "") {
			if err != nil {
				t.Fatal(err)
			}
			for i := range chunk.Rows {
				seen[chunk.Rows[i].Key] = chunk.Rows[i].Rev
			}
		}
		there := 0
		for p := range 5 {
			for id := range 4 {
				parts := []string{fmt.Sprint(p), fmt.Sprint(id)}
				rows := make([]driver.Row, 1)
				key := backendtest.KeyOf(t, table, parts[:1+len(table.Sort)]...)
				if err := l.s.Get(t.Context(), table, []driver.Key{key}, nil, rows); err != nil {
					t.Fatal(err)
				}
				goes := rows[0].Dead && table.Retention > 0
				if !goes && seen[key] != rows[0].Rev || goes && seen[key] != (driver.Token{}) {
					t.Errorf("%s %v: a walk finds the rev %v, Get %v, dead %v", table.Name, key, seen[key], rows[0].Rev, rows[0].Dead)
				}
				if !rows[0].Rev.IsZero() {
					there++
				}
			}
		}
		if there < 3 {
			t.Errorf("%s: %d rows: too few to tell", table.Name, there)
		}
	}
}

// The comparison of the test above notices what is wrong.
func TestListOfNamesControl(t *testing.T) {
	t.Parallel()
	server := testserver.Start(t, testserver.Redis)
	s, err := redis.Open(t.Context(), server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	admin := raw(t, server.Addr)
	l := newLife(t, s, 1)
	put := func(dead bool, table *driver.Table, parts ...string) {
		op := driver.Op{Do: driver.Put, Table: table, Row: driver.Row{Key: backendtest.KeyOf(t, table, parts...), Dead: dead}}
		backendtest.MustCommit(t, s, []driver.Op{op})
	}
	for want, spoil := range map[string][]any{
		"lives:{a#}: is not listed":                              {"ZREM", "_keys", "lives:{a#}:"},
		"lives:{a#}1# is not in its order":                       {"ZADD", "lives:{a#}:", "0", "2#"},
		"alone:{b#} lives, goes after ":                          {"PEXPIRE", "alone:{b#}", 3600_000},
		"stays:{c#} is dead, goes after -1ns, and listed: false": {"ZREM", "_keys", "stays:{c#}"},
		"lives:{x#}: is listed and not there":                    {"ZADD", "_keys", "0", "lives:{x#}:"},
	} {
		do(t, admin, "FLUSHDB")
		put(false, l.posts, "a", "1")
		put(false, l.alone, "b")
		put(true, l.stays, "c")
		put(true, l.alone, "d")
		if wrong := unlisted(t, []*goredis.Client{admin}, ""); len(wrong) > 0 {
			t.Fatalf("before anything is spoilt: %q", wrong)
		}
		do(t, admin, spoil...)
		if spoil[0] == "ZADD" && spoil[1] == "lives:{a#}:" {
			do(t, admin, "ZREM", "lives:{a#}:", "1#")
		}
		if wrong := unlisted(t, []*goredis.Client{admin}, ""); !slices.ContainsFunc(wrong, func(w string) bool { return strings.HasPrefix(w, want) }) {
			t.Errorf("after %v: %q, want %q", spoil, wrong, want)
		}
	}
}

// A brief table is one whose dead records go soon.
type brief struct {
	t     *testing.T
	s     *redis.Store
	table *driver.Table
}

func newBrief(t *testing.T, retention time.Duration) *brief {
	t.Helper()
	server := testserver.Shared(t, testserver.Redis)
	s, err := redis.Open(t.Context(), server.URL+"?prefix="+driver.NewToken().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	id := []driver.Column{{Name: "id", Kind: driver.String}}
	b := &brief{t, s, &driver.Table{Name: "short", Partition: id, Ring: 4, Retention: retention}}
	if err := s.Define(t.Context(), []*driver.Table{b.table}); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *brief) key(name string) driver.Key { return backendtest.KeyOf(b.t, b.table, name) }

// commit does an op on a record of a name, and returns from when on.
func (b *brief) commit(name string, op driver.Op) (began time.Time) {
	b.t.Helper()
	op.Table, op.Row.Key, began = b.table, b.key(name), time.Now()
	backendtest.MustCommit(b.t, b.s, []driver.Op{op})
	return began
}

func (b *brief) get(name string) driver.Row {
	b.t.Helper()
	rows := make([]driver.Row, 1)
	if err := b.s.Get(b.t.Context(), b.table, []driver.Key{b.key(name)}, nil, rows); err != nil {
		b.t.Fatal(err)
	}
	return rows[0]
}

// gone returns when a record is gone.
func (b *brief) gone(name string) time.Time {
	b.t.Helper()
	for began := time.Now(); time.Since(began) < time.Minute; time.Sleep(5 * time.Millisecond) {
		if row := b.get(name); row.Rev.IsZero() {
			return time.Now()
		}
	}
	b.t.Fatalf("%s is there after a minute", name)
	return time.Time{}
}

// A dead record goes by itself when its time is over, and not before. A fence gives it as much
// again, and one that has come back to life stays.
func TestDeadRecordsGoByThemselves(t *testing.T) {
	t.Parallel()
	const retention = 500 * time.Millisecond
	b := newBrief(t, retention)
	dies := driver.Op{Do: driver.Put, Row: driver.Row{Dead: true, Expires: 1}}
	lives := driver.Op{Do: driver.Put}
	b.commit("back", dies)
	b.commit("back", lives)
	b.commit("again", lives)
	for _, dead := range []bool{true, false} {
		row := b.get("again")
		op := driver.Op{Do: driver.Put, If: driver.AtRev, Rev: row.Rev, Row: driver.Row{Dead: dead, Ring: row.Ring}}
		if dead {
			op.Row.Expires = 1
		}
		b.commit("again", op)
	}
	for name, from := range map[string]time.Time{
		"dies":  b.commit("dies", dies),
		"never": b.commit("never", driver.Op{Do: driver.Fence, If: driver.Absent, Row: driver.Row{Expires: 1}}),
	} {
		if took := b.gone(name).Sub(from); took < retention {
			t.Errorf("%s is gone after %v, want %v", name, took, retention)
		}
	}
	b.commit("fenced", dies)
	time.Sleep(retention / 2)
	if row := b.get("fenced"); !row.Rev.IsZero() { // a slow machine may be too late
		from := time.Now()
		refusal, err := b.s.Commit(t.Context(), driver.NewToken(), []driver.Op{{Do: driver.Fence, Table: b.table, If: driver.AtRev, Rev: row.Rev, Row: driver.Row{Key: b.key("fenced")}}})
		if took := b.gone("fenced").Sub(from); err != nil || refusal == nil && took < retention {
			t.Errorf("a fence is gone after %v, %v; want %v", took, err, retention)
		}
	}
	for _, name := range []string{"back", "again"} { // they have been there for longer by now
		if row := b.get(name); row.Rev.IsZero() || row.Dead {
			t.Errorf("%s, which came back to life, is gone", name)
		}
	}
}

// A server that may take keys which go by themselves before their time is given none.
func TestDeadRecordsStayWhereTheyCouldGoEarly(t *testing.T) {
	t.Parallel()
	server := testserver.Start(t, testserver.Redis, "--maxmemory-policy", "volatile-lru")
	s, err := redis.Open(t.Context(), server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	l := newLife(t, s, 7)
	for range 1000 {
		l.step(t)
	}
	admin := raw(t, server.Addr)
	keys := admin.Scan(t.Context(), 0, "*", 1000).Iterator()
	dead := 0
	for keys.Next(t.Context()) {
		if ttl := admin.PTTL(t.Context(), keys.Val()).Val(); ttl >= 0 {
			t.Errorf("%s goes after %v", keys.Val(), ttl)
		}
		if admin.Type(t.Context(), keys.Val()).Val() == "hash" && admin.HExists(t.Context(), keys.Val(), "_dead").Val() {
			dead++
		}
	}
	if wrong := unlisted(t, []*goredis.Client{admin}, ""); len(wrong) > 0 || dead < 3 {
		t.Errorf("%d dead records, %q", dead, wrong)
	}
}

// What walks, counts and drops a table sends does not grow with what else is in the database.
func TestOthersCostNothing(t *testing.T) {
	t.Parallel()
	w, s, ts := watched(t)
	backendtest.MustCommit(t, s, ts.Insert(t, "ann", "1"))
	admin := raw(t, testserver.Shared(t, testserver.Redis).Addr)
	others := driver.NewToken().String()
	upkeep := func() int {
		w.reset()
		for _, table := range ts.All() {
			if chunks, unread := backendtest.WalkAll(t, s, table); len(chunks) != 1 || unread != nil {
				t.Errorf("a walk of %s finds %v, %v", table.Name, chunks, unread)
			}
			if n, err := s.Size(t.Context(), table); err != nil || n == 0 {
				t.Errorf("the size of %s is %d, %v", table.Name, n, err)
			}
		}
		names, _, _ := w.reset()
		sent := 0
		for _, n := range names {
			sent += n
		}
		if names["scan"] > 0 || sent > 30 {
			t.Errorf("it took %v", names)
		}
		return sent
	}
	before := upkeep()
	pipe := admin.Pipeline()
	for i := range 20_000 {
		pipe.Set(t.Context(), fmt.Sprint(others, i), "theirs", 10*time.Minute)
	}
	if _, err := pipe.Exec(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
	if after := upkeep(); after != before {
		t.Errorf("it took %d commands, and beside 20000 keys of others %d", before, after)
	}
}

// A table of before there was a list of names is refused, and says what to do.
func TestEarlierLayout(t *testing.T) {
	t.Parallel()
	server, s, ts := own(t)
	admin := raw(t, server.Addr)
	key := fmt.Sprint(do(t, admin, "HGET", "_table:posts", ".key"))
	do(t, admin, "HSET", "_table:posts", ".key", strings.Replace(key, `"layout":2`, `"layout":1`, 1))
	for what, err := range map[string]error{"define": s.Define(t.Context(), ts.All()), "attach": s.Attach(t.Context(), ts.All()), "drop": s.Drop(t.Context(), ts.All())} {
		if err == nil || !strings.Contains(err.Error(), "layout 1") || !strings.Contains(err.Error(), "copy the records") {
			t.Errorf("%s: %v, want that it is of layout 1", what, err)
		}
	}
}

// A table has the name of one that was dropped and another key. What is left of the dead records of
// the first one until it goes by itself is in the way of none of the second.
func TestDeadRecordsOfADroppedTable(t *testing.T) {
	t.Parallel()
	b := newBrief(t, time.Hour)
	alone, several := *b.table, *b.table
	several.Sort = []driver.Column{{Name: "number", Kind: driver.String}}
	key := func(table *driver.Table, name string) driver.Key {
		return backendtest.KeyOf(t, table, []string{name, "1"}[:1+len(table.Sort)]...)
	}
	for _, table := range []driver.Table{alone, several} {
		if err := b.s.Define(t.Context(), []*driver.Table{&table}); err != nil {
			t.Fatal(err)
		}
		for script, name := range []string{"ann", "bob"} {
			ops := []driver.Op{{Do: driver.Put, Table: &table, If: driver.Absent, Row: driver.Row{Key: key(&table, name)}}}
			if script == 1 {
				ops = append(ops, driver.Op{Do: driver.Check, Table: &table, Row: driver.Row{Key: key(&table, "cleo")}})
			}
			backendtest.MustCommit(t, b.s, ops)
			if n, err := b.s.Count(t.Context(), driver.Span{Table: &table, Key: driver.Key{Partition: ops[0].Row.Key.Partition}}); n != 1 || err != nil {
				t.Errorf("%d sort columns: %d records of %s, %v; want 1", len(table.Sort), n, name, err)
			}
		}
		if keys, unread := backendtest.WalkAll(t, b.s, &table); len(keys) != 2 || unread != nil {
			t.Errorf("%d sort columns: a walk finds %v, %v; want two records", len(table.Sort), keys, unread)
		}
		for _, name := range []string{"ann", "bob"} {
			row := driver.Row{Key: key(&table, name), Dead: true, Expires: 1}
			backendtest.MustCommit(t, b.s, []driver.Op{{Do: driver.Put, Table: &table, Row: row}})
		}
		if err := b.s.Drop(t.Context(), []*driver.Table{&table}); err != nil {
			t.Fatal(err)
		}
	}
}
