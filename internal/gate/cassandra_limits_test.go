package gate_test

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/polystore/polystore/internal/testserver"
	"github.com/polystore/polystore/repo/driver"
)

// Columns are added by name, reserved words and long names among them. An added
// column of another type is not refused, so the columns must be read.
func cassandraSchema(t *testing.T, s *cassandraStore) {
	s = s.in("growing")
	if err := s.change(t.Context(), "cassandra/define", nil); err != nil {
		t.Fatal(err)
	}
	long := "L" + strings.Repeat("o", 62) + "g"
	for _, name := range []string{"token", "Token", "where", "from", "primary", long} {
		for _, kind := range []string{"bigint", "text"} { // the second time it is there
			if err := s.change(t.Context(), "cassandra/add-field", map[string]string{"field": name, "type": kind}); err != nil {
				t.Errorf("add %s %s: %v", name, kind, err)
			}
		}
	}
	cql, err := s.text("cassandra/columns")
	if err != nil {
		t.Fatal(err)
	}
	iter := s.session.Query(cql, s.keyspace, s.table).IterContext(t.Context())
	got := map[string]string{}
	for name, kind, typ := "", "", ""; iter.Scan(&name, &kind, &typ); {
		got[name] = kind + " " + typ
	}
	if err := iter.Close(); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"author": "partition_key text", "_sort": "clustering text", "token": "regular bigint",
		"Token": "regular bigint", long: "regular bigint", "Select": "regular text", "at": "regular timestamp", "nonsense": ""} {
		if got[name] != want {
			t.Errorf("column %s is %q, want %q", name, got[name], want)
		}
	}
	if err := s.exec(t, `CREATE TABLE "posts.by_at" (a text PRIMARY KEY)`); err == nil {
		t.Error("a table may have a dot in its name: those of remote indexes need no other one")
	}
	for range 2 {
		if err := s.change(t.Context(), "cassandra/drop", nil); err != nil {
			t.Error(err)
		}
	}
}

// Two programs may make a table at once.
func cassandraDefineAtOnce(t *testing.T, s *cassandraStore) {
	s = s.in("atonce")
	second := dialCassandra(t, testserver.Shared(t, testserver.Cassandra).URL, s.keyspace)
	err := atOnce(4, func(i int) error {
		one := *s
		if i%2 == 1 {
			one.session = second
		}
		return errors.Join(one.change(t.Context(), "cassandra/define", nil),
			one.change(t.Context(), "cassandra/add-field", map[string]string{"field": "more", "type": "text"}))
	})
	if err != nil {
		t.Error(err)
	}
}

// Partition columns have types of their own. One alone may not be the empty text;
// among others it may.
func cassandraPartitions(t *testing.T, s *cassandraStore) {
	if err := s.exec(t, `INSERT INTO posts ("author", "_sort") VALUES ('', ':x')`); err == nil {
		t.Error("an empty partition is allowed: it needs no stand-in")
	}
	if err := s.exec(t, `CREATE TABLE kinds ("t" text, "n" bigint, "x" double, "b" boolean, "d" blob, "w" timestamp, "_sort" text,
		"v" bigint, PRIMARY KEY (("t", "n", "x", "b", "d", "w"), "_sort"))`); err != nil {
		t.Fatal(err)
	}
	keys := [][]any{}
	for i, n := range []int64{math.MinInt64, math.MaxInt64, 0, -1} {
		for j, x := range []float64{math.Inf(-1), math.MaxFloat64, math.SmallestNonzeroFloat64, 0} {
			keys = append(keys, []any{hostileTexts()[4*i+j], n, x, i%2 == 0, []byte{0, byte(j)}, n})
		}
	}
	for i, k := range keys {
		if err := s.exec(t, `INSERT INTO kinds ("t", "n", "x", "b", "d", "w", "_sort", "v") VALUES (?, ?, ?, ?, ?, ?, '', ?)`, append(k, i)...); err != nil {
			t.Errorf("partition %v: %v", k, err)
		}
	}
	for i, k := range keys {
		got := -1
		err := s.session.Query(`SELECT "v" FROM kinds WHERE "t" = ? AND "n" = ? AND "x" = ? AND "b" = ? AND "d" = ? AND "w" = ?`, k...).
			ScanContext(t.Context(), &got)
		if got != i || err != nil {
			t.Errorf("partition %v has %d, want %d: %v", k, got, i, err)
		}
	}
}

// A commit has a greatest size, and what is beyond it is refused whole.
func cassandraTooLong(t *testing.T, s *cassandraStore) {
	p := cassandraPlay(t, s)
	var limit string
	err := s.session.Query(`SELECT value FROM system_views.settings WHERE name = 'native_transport_max_message_size'`).ScanContext(t.Context(), &limit)
	if err != nil {
		t.Fatal(err)
	}
	mib := mebibytes(t, limit)
	body := strings.Repeat("x", 1<<20)
	ops := []driver.Op{postOp(p, driver.Put, p.post(p.author, "1"), driver.Absent, driver.Token{})}
	for i := range mib + 1 {
		ops = append(ops, driver.Op{Do: driver.Put, Table: p.byAt, Row: driver.Row{Key: p.entry(p.author, int64(i), "1"), Fields: []driver.Value{text(body)}}})
	}
	if _, err := s.Commit(t.Context(), driver.NewToken(), ops); err == nil || !strings.Contains(err.Error(), "exceeds allowed maximum") {
		t.Errorf("a commit of %d MiB: %v", mib+1, err)
	}
	if err := p.same(t.Context(), p.posts, ops[0].Row.Key); err != nil {
		t.Error(err)
	}
	if _, err := p.do(t.Context(), ops[:4]...); err != nil {
		t.Errorf("a commit of 3 MiB: %v", err)
	}
	cql, err := s.text("cassandra/size")
	if err != nil {
		t.Fatal(err)
	}
	var occupied int64
	if err := s.session.Query(cql, s.keyspace, s.table).ScanContext(t.Context(), &occupied); err != nil {
		t.Errorf("size = %d MiB, %v", occupied, err)
	}
}

// mebibytes reads a size as Cassandra says it: "8388608B", "16MiB".
func mebibytes(t *testing.T, s string) int {
	t.Helper()
	digits := strings.TrimRight(s, "MiKB")
	n, err := strconv.Atoi(digits)
	if err != nil {
		t.Fatal(err)
	}
	switch s[len(digits):] {
	case "B":
		return n >> 20
	case "KiB":
		return n >> 10
	}
	return n
}

// A mark is good in another session, and when its row is gone.
func cassandraMarks(t *testing.T, s *cassandraStore) {
	s = s.in("marks") // where nobody else writes
	if err := s.change(t.Context(), "cassandra/define", nil); err != nil {
		t.Fatal(err)
	}
	p := cassandraPlay(t, s)
	for i := range 30 {
		s.insert(t, p, fmt.Sprint(i))
	}
	_, mark, err := s.Walk(t.Context(), p.posts, "")
	if err != nil || mark == "" {
		t.Fatalf("walk: mark %q, %v", mark, err)
	}
	want, next, err := s.Walk(t.Context(), p.posts, mark)
	if err != nil {
		t.Fatal(err)
	}
	other := *s
	other.session = dialCassandra(t, testserver.Shared(t, testserver.Cassandra).URL, s.keyspace)
	got, gotNext, err := other.Walk(t.Context(), p.posts, mark)
	if d := cmp.Diff(plainRows(want), plainRows(got)); d != "" || next != gotNext || err != nil {
		t.Errorf("after a mark, in another session: %v (-want +got)\n%s", err, d)
	}
	cut := strings.LastIndex(mark, "\x00")
	author, sort := mark[:cut], mark[cut+1:]
	q, err := s.query("cassandra/delete", nil, author, sort)
	if err := errors.Join(err, q.ExecContext(t.Context())); err != nil {
		t.Fatal(err)
	}
	got, _, err = s.Walk(t.Context(), p.posts, mark)
	if d := cmp.Diff(plainRows(want), plainRows(got)); d != "" || err != nil {
		t.Errorf("after the mark of a row that is gone: %v (-want +got)\n%s", err, d)
	}
}
