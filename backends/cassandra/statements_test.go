package cassandra_test

import (
	"context"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/apache/cassandra-gocql-driver/v2"

	"github.com/polystore/polystore/backends/cassandra"
	"github.com/polystore/polystore/internal/backendtest"
	"github.com/polystore/polystore/internal/testserver"
	"github.com/polystore/polystore/repo/driver"
)

var block = regexp.MustCompile("(?ms)^```cql cassandra/([a-z-]+)\n(.*?)^```$")

// readDesign returns the statements for Cassandra that internal/gate/statements.md explains, with the
// table of the example.
func readDesign(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("../../internal/gate/statements.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := map[string]string{}
	for _, m := range block.FindAllStringSubmatch(string(text), -1) {
		blocks[m[1]] = strings.ReplaceAll(m[2], "<table>", `"posts"`)
	}
	for label, text := range blocks {
		text = strings.ReplaceAll(strings.ReplaceAll(text, "<filtering>", blocks["filtering"]), "<columns>", "*")
		blocks[label+"-rows"] = plain(strings.ReplaceAll(text, "<live>", blocks["live-rows"]))
		blocks[label] = plain(strings.ReplaceAll(text, "<live>", blocks["live"]))
	}
	return blocks
}

// plain returns a statement with the same space everywhere.
func plain(cql string) string { return strings.Join(strings.Fields(cql), " ") }

var list = regexp.MustCompile(`^(INSERT INTO "posts" \(|UPDATE "posts" (?:USING TTL \? )?SET )(.*?)(\) VALUES .*| WHERE .*)$`)

// unordered returns a statement whose columns stand in an order of their own: which it is
// does not matter. The example of the design has those of the records and of their indexes
// in one statement; _key is that of a claim.
func unordered(cql string) string {
	m := list.FindStringSubmatch(cql)
	if m == nil {
		return cql
	}
	columns := strings.Split(m[2], ", ")
	columns = slices.DeleteFunc(columns, func(c string) bool { return strings.Contains(c, `"_key"`) })
	slices.Sort(columns)
	return m[1] + strings.Join(columns, ", ") + regexp.MustCompile(`(\?, )+`).ReplaceAllString(m[3], "?, ")
}

var rare = regexp.MustCompile(`"_(note|extra|later)"( = \?)?, |, "_(note|extra|later)" = \?`)

// usual returns a statement that writes, without the columns that few rows have.
func usual(cql string) string { return rare.ReplaceAllString(cql, "") }

// only returns a statement that writes the columns of the library, and of the fields those that are
// named: for a table that has no more.
func only(cql string, fields ...string) string {
	m := list.FindStringSubmatch(cql)
	columns := slices.DeleteFunc(strings.Split(m[2], ", "), func(c string) bool {
		name := strings.Trim(strings.TrimSuffix(c, " = ?"), `"`)
		return name[0] != '_' && !slices.Contains(fields, name)
	})
	return m[1] + strings.Join(columns, ", ") + m[3]
}

// A recorder keeps the statements that a client sends.
type recorder struct {
	mu   sync.Mutex
	sent []string
}

func (r *recorder) ObserveQuery(_ context.Context, q gocql.ObservedQuery) { r.add(q.Statement) }

func (r *recorder) ObserveBatch(_ context.Context, b gocql.ObservedBatch) {
	r.add("BATCH")
	for _, s := range b.Statements {
		r.add(s)
	}
}

// add leaves out the catalog, which package repo reads beside its calls.
func (r *recorder) add(cql string) {
	if strings.Contains(cql, `"_catalog"`) && strings.HasPrefix(cql, "SELECT") {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sent = append(r.sent, plain(cql))
}

func (r *recorder) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	sent := r.sent
	r.sent = nil
	return sent
}

// A scribe has a store whose statements are compared with the design.
type scribe struct {
	t      *testing.T
	r      *recorder
	s      *cassandra.Store
	ts     *tables
	author string
	design map[string]string
}

// newScribe opens a store on a session whose own settings would be weak.
func newScribe(t *testing.T) *scribe {
	t.Helper()
	shared(t)
	r := &recorder{}
	c := clusterOf(t, testserver.Shared(t, testserver.Cassandra).URL, "")
	c.QueryObserver, c.BatchObserver = r, r
	c.Consistency, c.SerialConsistency = gocql.One, gocql.LocalSerial
	c.RetryPolicy, c.DefaultIdempotence = &gocql.SimpleRetryPolicy{NumRetries: 3}, true
	session, err := c.CreateSession()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(session.Close)
	s, err := cassandra.New(t.Context(), session, &cassandra.Options{Keyspace: common})
	if err != nil {
		t.Fatal(err)
	}
	sc := &scribe{t, r, s, define(t, s), unique(), readDesign(t)}
	r.take()
	return sc
}

// same compares what was sent with what the design says.
func (sc *scribe) same(what string, want ...string) {
	sc.t.Helper()
	got := sc.r.take()
	for i := range got {
		got[i] = unordered(got[i])
	}
	for i := range want {
		want[i] = unordered(want[i])
	}
	if !slices.Equal(got, want) {
		sc.t.Errorf("%s was sent as\n\t%s\nand the design says\n\t%s", what, strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// Every commit is sent as the design says.
func TestStatementsOfCommits(t *testing.T) {
	t.Parallel()
	sc := newScribe(t)
	s, ts, design := sc.s, sc.ts, sc.design
	key, second := ts.key(t, sc.author, "1"), ts.key(t, sc.author, "2")
	put := func(cond driver.Cond, rev driver.Token, row driver.Row) []driver.Op {
		row.Key, row.Fields = key, []driver.Value{text("x")}
		return []driver.Op{{Do: driver.Put, Table: ts.posts, If: cond, Rev: rev, Row: row}}
	}
	rev := backendtest.MustCommit(t, s, put(driver.Absent, driver.Token{}, driver.Row{}))
	sc.same("insert", usual(design["insert"])+" "+design["not-exists"])
	rev2 := backendtest.MustCommit(t, s, put(driver.AtRev, rev, driver.Row{}))
	sc.same("put at rev, of a row that nobody has read", design["get"], design["update"]+" "+design["at-rev"])
	patch := driver.Op{Do: driver.Patch, Table: ts.posts, If: driver.AtRev, Rev: rev2, Row: driver.Row{Key: key, Ring: []driver.Token{rev2, rev}},
		Edits: []driver.Edit{{Do: driver.Set, Field: fTitle, Value: text("y")}}}
	rev = backendtest.MustCommit(t, s, []driver.Op{patch})
	sc.same("patch", usual(design["update"])+" "+design["alive"])
	row := get(t, s, ts.posts, key)
	sc.same("get", design["get"])
	backendtest.MustCommit(t, s, put(driver.AtRev, rev, driver.Row{Ring: row.Ring, Hint: row.Hint}))
	sc.same("put at rev, of a row that was read", design["update"]+" "+design["at-rev"])
	backendtest.MustCommit(t, s, ts.add(t, sc.author, "1"))
	sc.same("add", design["get"], usual(design["update"])+" "+design["alive"])
	backendtest.MustCommit(t, s, []driver.Op{{Do: driver.Check, Table: ts.posts, If: driver.Present, Row: driver.Row{Key: key}}})
	sc.same("check", design["get"])
	backendtest.MustCommit(t, s, []driver.Op{{Do: driver.Delete, Table: ts.posts, If: driver.Present, Row: driver.Row{Key: key}}})
	sc.same("delete if present", design["delete"]+" "+design["present"])
	backendtest.MustCommit(t, s, []driver.Op{{Do: driver.Delete, Table: ts.posts, Row: driver.Row{Key: key}}})
	sc.same("delete", design["delete"]+" "+design["exists"])
	backendtest.MustCommit(t, s, []driver.Op{{Do: driver.Put, Table: ts.posts, If: driver.Absent, Row: driver.Row{Key: key}}, {Do: driver.Check, Table: ts.posts, If: driver.Absent, Row: driver.Row{Key: second}}})
	sc.same("several", "BATCH", usual(design["insert"])+" "+design["not-exists"], design["mark"]+" "+design["absent"])
	if unordered(design["insert"]) == unordered(strings.Replace(design["insert"], `"title", `, "", 1)) {
		t.Error("a column that is left out is not noticed")
	}
}

// What dies, and what a row of an index leaves, is written as the design says.
func TestStatementsOfDeaths(t *testing.T) {
	t.Parallel()
	sc := newScribe(t)
	s, ts, design := sc.s, sc.ts, sc.design
	born := ts.insert(t, sc.author, "1")
	key := born[0].Row.Key
	rev := backendtest.MustCommit(t, s, born)
	sc.same("insert with rows", "BATCH", usual(design["insert"])+" "+design["not-exists"], only(design["update"], "title"), only(design["update"])+" "+design["absent-row"])
	row := get(t, s, ts.posts, key)
	sc.r.take()
	death := driver.Op{Do: driver.Put, Table: ts.posts, If: driver.AtRev, Rev: rev, Row: driver.Row{Key: key, Dead: true, Expires: 1, Ring: row.Ring, Hint: row.Hint}}
	dead := backendtest.MustCommit(t, s, []driver.Op{death, {Do: driver.Delete, Table: ts.byAt, Row: driver.Row{Key: born[1].Row.Key}}})
	sc.same("death with a row", "BATCH", design["update"]+" "+design["at-rev"], only(design["leave"], "title"))
	backendtest.MustCommit(t, s, []driver.Op{{Do: driver.Delete, Table: ts.slug, If: driver.AtRev, Rev: rev, Row: driver.Row{Key: born[2].Row.Key}}})
	sc.same("delete of a claim", only(design["leave"])+" "+design["at-rev"])
	fence := driver.Op{Do: driver.Fence, Table: ts.posts, If: driver.AtRev, Rev: dead, Row: driver.Row{Key: key}}
	backendtest.MustCommit(t, s, []driver.Op{fence})
	sc.same("fence of a dead record", design["mark"]+" "+design["alive"], design["get"], design["get"], design["update"]+" "+design["at-rev"])
}

// Every read of several rows is sent as the design says.
func TestStatementsOfReads(t *testing.T) {
	t.Parallel()
	sc := newScribe(t)
	s, ts, design := sc.s, sc.ts, sc.design
	backendtest.MustCommit(t, s, ts.insert(t, sc.author, "1"))
	sc.r.take()
	span := driver.Span{Table: ts.posts, Key: driver.Key{Partition: sc.author + "#"}, Limit: 5}
	for reverse, label := range map[bool]string{false: "range", true: "range-reverse"} {
		span.Reverse = reverse
		if err := backendtest.Drain(s.Range(t.Context(), span)); err != nil {
			t.Error(err)
		}
		sc.same(label, design[label])
	}
	span.Limit = 0
	if n, err := s.Count(t.Context(), span); n != 1 || err != nil {
		t.Errorf("count: %d, %v", n, err)
	}
	sc.same("count", design["count"])
	for _, err := range s.Walk(t.Context(), ts.posts, "") {
		if err != nil {
			t.Error(err)
		}
		break
	}
	sc.same("walk", strings.Replace(design["walk"], `"author", *`, "*", 1))
	walked := beginWalk(t, s, ts)
	sc.r.take()
	if n := walked.goOn(t, s, ts); n > 0 || len(walked.left) == 0 {
		t.Errorf("a walk that went on after a mark missed %d of %d posts", n, len(walked.left))
	}
	if sent := sc.r.take(); !slices.Contains(sent, strings.Replace(design["walk-within"], `"author", *`, "*", 1)) ||
		!slices.Contains(sent, strings.Replace(design["walk-after"], `"author", *`, "*", 1)) {
		t.Errorf("the rest of a walk was sent as\n\t%s", strings.Join(sent, "\n\t"))
	}
	keys := []driver.Key{ts.key(t, sc.author, "1"), ts.key(t, sc.author, "2")}
	if err := s.Get(t.Context(), ts.posts, keys, nil, make([]driver.Row, 2)); err != nil {
		t.Error(err)
	}
	sc.same("get of several in a partition", strings.Replace(design["get"], `"_sort" = ?`, `"_sort" IN ?`, 1))
}
