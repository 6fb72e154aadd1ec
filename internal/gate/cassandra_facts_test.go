package gate_test

import (
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/apache/cassandra-gocql-driver/v2"
	"github.com/polystore/polystore/repo/driver"
)

// TestCassandraFacts shares one keyspace, because making one is slow.
func TestCassandraFacts(t *testing.T) {
	t.Parallel()
	dial := newCassandra(t, "facts"+driver.NewToken().String())
	for name, test := range map[string]func(*testing.T, *cassandraStore){
		"batches":            cassandraBatches,
		"refusals":           cassandraRefusals,
		"schema":             cassandraSchema,
		"define at once":     cassandraDefineAtOnce,
		"partitions":         cassandraPartitions,
		"no TTL":             cassandraNoTTL,
		"no plain writes":    cassandraNoPlainWrites,
		"nulls":              cassandraNulls,
		"flags":              cassandraFlags,
		"a message too long": cassandraTooLong,
		"marks":              cassandraMarks,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, dial(readDesign(t)).(*cassandraStore))
		})
	}
}

func (s *cassandraStore) exec(t *testing.T, cql string, args ...any) error {
	t.Helper()
	return s.session.Query(cql, args...).ExecContext(t.Context())
}

// cas sends one conditional statement and returns what the server says of it.
func (s *cassandraStore) cas(t *testing.T, cql string, args ...any) (bool, map[string]any) {
	t.Helper()
	m := map[string]any{}
	applied, err := s.session.Query(cql, args...).MapScanCASContext(t.Context(), m)
	if err != nil {
		t.Fatalf("%s: %v", cql, err)
	}
	return applied, m
}

// statementOf returns the statement of an op, whose row is known not to matter.
func (s *cassandraStore) statementOf(t *testing.T, op driver.Op, alone bool) (string, []any) {
	t.Helper()
	cql, args, err := s.statement(driver.NewToken(), &planned{Op: &op}, alone)
	if err != nil {
		t.Fatal(err)
	}
	return cql, args
}

// insert puts a post there and returns its token.
func (s *cassandraStore) insert(t *testing.T, p *play, id string) driver.Token {
	t.Helper()
	rev, err := p.do(t.Context(), postOp(p, driver.Put, p.post(p.author, id), driver.Absent, driver.Token{}))
	if err != nil {
		t.Fatal(err)
	}
	return rev
}

func cassandraPlay(t *testing.T, s *cassandraStore) *play {
	t.Helper()
	p, err := newPlay(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A conditional batch lies in one table and one partition.
func cassandraBatches(t *testing.T, s *cassandraStore) {
	p := cassandraPlay(t, s)
	other := s.in("elsewhere")
	if err := other.change(t.Context(), "cassandra/define", nil); err != nil {
		t.Fatal(err)
	}
	rev := s.insert(t, p, "1")
	update := postOp(p, driver.Put, p.post(p.author, "1"), driver.AtRev, rev)
	here := driver.Op{Do: driver.Put, Table: p.byAt, Row: driver.Row{Key: p.entry(p.author, 1, "1")}}
	there := driver.Op{Do: driver.Put, Table: p.byAt, Row: driver.Row{Key: p.entry(p.author+"x", 1, "1")}}
	for _, tt := range []struct {
		answer string
		store  *cassandraStore
		row    driver.Op
	}{{"multiple tables", other, here}, {"multiple partitions", s, there}, {"", s, here}} {
		batch := s.session.Batch(gocql.LoggedBatch)
		cql, args := s.statementOf(t, update, false)
		batch.Query(cql, args...)
		cql, args = tt.store.statementOf(t, tt.row, false)
		batch.Query(cql, args...)
		applied, _, err := batch.MapExecCASContext(t.Context(), map[string]any{})
		if tt.answer == "" {
			if !applied || err != nil {
				t.Errorf("one table, one partition: %v, %v", applied, err)
			}
			continue
		}
		var invalid *gocql.RequestErrInvalid
		if applied || !errors.As(err, &invalid) || !strings.Contains(err.Error(), tt.answer) {
			t.Errorf("batch over %s: %v, %v", tt.answer, applied, err)
		}
		if err := p.same(t.Context(), p.posts, p.post(p.author, "1")); err != nil {
			t.Errorf("batch over %s: %v", tt.answer, err)
		}
	}
}

// A refused UPDATE answers the columns of its condition, a refused INSERT the whole
// row, and a batch in which one of them is an INSERT the whole rows of all conditions.
func cassandraRefusals(t *testing.T, s *cassandraStore) {
	p := cassandraPlay(t, s)
	rev := s.insert(t, p, "1")
	k, missing := p.post(p.author, "1"), p.post(p.author, "missing")
	stale := postOp(p, driver.Put, k, driver.AtRev, driver.NewToken())
	taken := postOp(p, driver.Put, k, driver.Absent, rev)
	whole := func(m map[string]any) bool { return m["title"] == "after" }
	named := func(m map[string]any) bool { return string(m["_rev"].([]byte)) == string(rev[:]) }
	for name, tt := range map[string]struct {
		op   driver.Op
		want func(map[string]any) bool
	}{
		"update":            {stale, func(m map[string]any) bool { return named(m) && !whole(m) }},
		"update of nothing": {postOp(p, driver.Put, missing, driver.AtRev, rev), func(m map[string]any) bool { return len(m) == 0 }},
		"insert":            {taken, func(m map[string]any) bool { return named(m) && whole(m) }},
	} {
		cql, args := s.statementOf(t, tt.op, true)
		if applied, m := s.cas(t, cql, args...); applied || !tt.want(m) {
			t.Errorf("%s: applied %v, answer %v", name, applied, m)
		}
	}
	s.insert(t, p, "2")
	stale.Row.Key, taken.Row.Key = p.post(p.author, "2"), k
	for name, tt := range map[string]struct {
		ops  []driver.Op
		rows int
		all  bool
	}{
		"two updates":          {[]driver.Op{stale, postOp(p, driver.Put, k, driver.AtRev, rev)}, 2, false},
		"update and insert":    {[]driver.Op{stale, taken}, 2, true},
		"one row is not there": {[]driver.Op{stale, postOp(p, driver.Put, missing, driver.AtRev, rev)}, 1, false},
	} {
		rows := s.refusedRows(t, tt.ops)
		if len(rows) != tt.rows || slices.ContainsFunc(rows, whole) != tt.all {
			t.Errorf("%s: %d rows, whole: %v; want %d, %v: %v", name, len(rows), slices.ContainsFunc(rows, whole), tt.rows, tt.all, rows)
		}
	}
}

func (s *cassandraStore) refusedRows(t *testing.T, ops []driver.Op) []map[string]any {
	t.Helper()
	batch := s.session.Batch(gocql.LoggedBatch)
	for _, op := range ops {
		cql, args := s.statementOf(t, op, false)
		batch.Query(cql, args...)
	}
	m := map[string]any{}
	applied, iter, err := batch.MapExecCASContext(t.Context(), m)
	if applied || err != nil {
		t.Fatalf("batch: %v, %v", applied, err)
	}
	rows := []map[string]any{m}
	for {
		m := map[string]any{}
		if !iter.MapScan(m) {
			return rows
		}
		rows = append(rows, m)
	}
}

// No cell that a commit writes ends by itself.
func cassandraNoTTL(t *testing.T, s *cassandraStore) {
	p := cassandraPlay(t, s)
	op := postOp(p, driver.Put, p.post(p.author, "1"), driver.Absent, driver.Token{})
	op.Row.Expires = 1
	if _, err := p.do(t.Context(), op); err != nil {
		t.Fatal(err)
	}
	ttl := func(id string) (n int, err error) {
		return n, s.session.Query(`SELECT ttl("title") FROM posts WHERE "author" = ? AND "_sort" = ?`, p.author, ":"+id+"#").ScanContext(t.Context(), &n)
	}
	if n, err := ttl("1"); n != 0 || err != nil {
		t.Errorf("a row that has expired has a TTL of %d: %v", n, err)
	}
	cql, args := s.statementOf(t, postOp(p, driver.Put, p.post(p.author, "2"), driver.Absent, driver.Token{}), true)
	if err := s.exec(t, cql+" USING TTL 1", args...); err != nil {
		t.Fatal(err)
	}
	if n, err := ttl("2"); n == 0 && err == nil {
		t.Error("a row written with a TTL has none: nothing was compared")
	}
	time.Sleep(2100 * time.Millisecond)
	if _, err := ttl("2"); !errors.Is(err, gocql.ErrNotFound) {
		t.Errorf("after its TTL the row is there: %v", err)
	}
	if err := p.same(t.Context(), p.posts, op.Row.Key); err != nil {
		t.Error(err)
	}
}

// A write outside of a transaction has another clock than one inside, and may be
// lost in silence.
func cassandraNoPlainWrites(t *testing.T, s *cassandraStore) {
	p := cassandraPlay(t, s)
	s.insert(t, p, "1")
	title := func() (v string) {
		if err := s.session.Query(`SELECT "title" FROM posts WHERE "author" = ? AND "_sort" = ':1#'`, p.author).ScanContext(t.Context(), &v); err != nil {
			t.Fatal(err)
		}
		return v
	}
	slow := time.Now().Add(-time.Minute).UnixMicro() // a client whose clock is late
	if err := s.exec(t, `UPDATE posts USING TIMESTAMP ? SET "title" = 'plain' WHERE "author" = ? AND "_sort" = ':1#'`, slow, p.author); err != nil {
		t.Fatal(err)
	}
	if got := title(); got != "after" {
		t.Errorf("title %q: a plain write of a slow clock is not lost", got)
	}
	if applied, _ := s.cas(t, `UPDATE posts SET "title" = 'inside' WHERE "author" = ? AND "_sort" = ':1#' IF "title" = 'after'`, p.author); !applied || title() != "inside" {
		t.Errorf("title %q after a conditional write", title())
	}
}

var tombstones = regexp.MustCompile(`(\d+) tombstone cells`)

// A column set to null leaves a tombstone, one that is not set none. So a row that
// is written anew without its optional fields costs reads of its neighbours.
func cassandraNulls(t *testing.T, s *cassandraStore) {
	p := cassandraPlay(t, s)
	k := p.post(p.author, "1")
	rev := s.insert(t, p, "1")
	patch := driver.Op{Do: driver.Patch, Table: p.posts, If: driver.AtRev, Rev: rev, Row: driver.Row{Key: k, Ring: []driver.Token{rev}},
		Edits: []driver.Edit{{Do: driver.Set, Field: title, Value: text("patched")}}}
	rev, err := p.do(t.Context(), patch)
	if err != nil {
		t.Fatal(err)
	}
	patched, err := s.deadCells(t, p.author)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.do(t.Context(), postOp(p, driver.Put, k, driver.AtRev, rev)); err != nil {
		t.Fatal(err)
	}
	if put, err := s.deadCells(t, p.author); patched != 0 || put != postFields-2 || err != nil {
		t.Errorf("%d tombstones after insert and patch, %d after a put of 2 fields of %d: %v", patched, put, postFields, err)
	}
}

// A record without its flag is in no run, and only with ALLOW FILTERING is the server
// asked for those that have it; it says whether it may be.
func cassandraFlags(t *testing.T, s *cassandraStore) {
	p := cassandraPlay(t, s)
	s.insert(t, p, "1")
	if err := s.exec(t, `INSERT INTO posts ("author", "_sort", "_rev") VALUES (?, ':2#', 0x01)`, p.author); err != nil {
		t.Fatal(err)
	}
	span := driver.Span{Table: p.posts, Key: p.post(p.author, "")}
	if n, err := s.Count(t.Context(), span); n != 1 || err != nil {
		t.Errorf("one record with a flag and one without: %d are counted, %v", n, err)
	}
	unfiltered := *s
	unfiltered.statements = s.spoil(t, "cassandra/count", "<live>", "")
	if n, err := unfiltered.Count(t.Context(), span); n != 2 || err != nil {
		t.Errorf("of two rows %d are counted, %v", n, err)
	}
	unasked := *s
	unasked.statements = s.spoil(t, "cassandra/count", "<filtering>", "")
	if _, err := unasked.Count(t.Context(), span); err == nil || !strings.Contains(err.Error(), "ALLOW FILTERING") {
		t.Errorf("without ALLOW FILTERING: %v", err)
	}
	cql, err := s.text("cassandra/may-filter")
	if err != nil {
		t.Fatal(err)
	}
	var allowed string
	if err := s.session.Query(cql).ScanContext(t.Context(), &allowed); allowed != "true" || err != nil {
		t.Errorf("the server says of filtering %q, %v", allowed, err)
	}
}

// deadCells returns the tombstones that the server met in reading a partition. A
// busy server drops traces, so the partition is read until one is complete.
func (s *cassandraStore) deadCells(t *testing.T, author string) (int, error) {
	t.Helper()
	for range 10 {
		var id traceID
		if err := s.session.Query(`SELECT * FROM posts WHERE "author" = ?`, author).Trace(&id).IterContext(t.Context()).Close(); err != nil {
			return 0, err
		}
		for range 20 {
			time.Sleep(50 * time.Millisecond)
			if n, found, err := s.tombstonesOf(t, id); found || err != nil {
				return n, err
			}
		}
	}
	return 0, errors.New("the traces say nothing of tombstones")
}

// tombstonesOf returns what a trace says of tombstones, if it does already.
func (s *cassandraStore) tombstonesOf(t *testing.T, id traceID) (n int, found bool, err error) {
	t.Helper()
	iter := s.session.Query(`SELECT activity FROM system_traces.events WHERE session_id = ?`, []byte(id)).
		Consistency(gocql.One).IterContext(t.Context())
	for activity := ""; iter.Scan(&activity); {
		if m := tombstones.FindStringSubmatch(activity); m != nil {
			found = true
			n, err = strconv.Atoi(m[1])
		}
	}
	return n, found, errors.Join(err, iter.Close())
}

// A traceID is where a traced query leaves what to look for.
type traceID []byte

func (id *traceID) Trace(b []byte) { *id = b }
