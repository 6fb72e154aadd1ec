package cassandra_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/apache/cassandra-gocql-driver/v2"

	"github.com/polystore/polystore/backends/cassandra"
	"github.com/polystore/polystore/internal/backendtest"
	"github.com/polystore/polystore/internal/testserver"
	"github.com/polystore/polystore/repo/driver"
)

// Rows of other programs are an error that names them wherever they are read, and those
// of the store are as they were.
func TestRowsOfOtherPrograms(t *testing.T) {
	t.Parallel()
	_, url, session := ownKeyspace(t)
	s, ts := open(t, url)
	do(t, session, `ALTER TABLE posts ADD other text`)
	backendtest.MustCommit(t, s, ts.insert(t, "ann", "1"))
	const rev = "0x00000000000000000000000000000001"
	for column, set := range map[string]string{
		"_rev":   `"_dead" = false, title = 'no rev'`,
		"_dead":  `"_rev" = ` + rev,
		"rating": `"_rev" = ` + rev + `, "_dead" = false, rating = NaN`,
		"tags":   `"_rev" = ` + rev + `, "_dead" = false, tags = 'no JSON'`,
		"meta":   `"_rev" = ` + rev + `, "_dead" = false, meta = '[1]'`,
		"other":  `"_rev" = ` + rev + `, "_dead" = false, other = 'nobody declared it'`,
		"_ring":  `"_rev" = ` + rev + `, "_dead" = false, "_ring" = 0x00`,
		"_extra": `"_rev" = ` + rev + `, "_dead" = false, "_extra" = '{"b": 1, "a": 1}'`,
	} {
		sort := ":" + strings.ReplaceAll(column, "_", "x") + "#"
		do(t, session, fmt.Sprintf(`UPDATE posts SET %s WHERE author = 'bob' AND "_sort" = '%s'`, set, sort))
		key := driver.Key{Partition: "bob#", Sort: sort[1:]}
		errs := map[string]error{
			"get":    s.Get(t.Context(), ts.posts, []driver.Key{key}, nil, make([]driver.Row, 1)),
			"gets":   s.Get(t.Context(), ts.posts, []driver.Key{{Partition: "bob#", Sort: "x#"}, key}, nil, make([]driver.Row, 2)),
			"walk":   backendtest.Drain(s.Walk(t.Context(), ts.posts, "")),
			"insert": backendtest.Commit(t, s, []driver.Op{{Do: driver.Put, Table: ts.posts, If: driver.Absent, Row: driver.Row{Key: key}}}),
		}
		if column != "_dead" {
			errs["range"] = backendtest.Drain(s.Range(t.Context(), driver.Span{Table: ts.posts, Key: driver.Key{Partition: "bob#"}}))
		}
		for what, err := range errs {
			if !errors.Is(err, driver.ErrCorrupt) || !strings.Contains(err.Error(), `"`+sort+`" of the partition "bob#"`) || !strings.Contains(err.Error(), `"`+column+`"`) {
				t.Errorf("%s of a row with a bad %s: %v, want ErrCorrupt that names %s", what, column, err, sort)
			}
		}
		if keys, unread := backendtest.WalkAll(t, s, ts.posts); !slices.Equal(keys, []string{"ann#1#"}) || len(unread) != 1 {
			t.Errorf("beside a row with a bad %s a walk finds %q, and %d that it cannot read; want that of ann and one", column, keys, len(unread))
		}
		if n, err := s.Count(t.Context(), driver.Span{Table: ts.posts, Key: driver.Key{Partition: "ann#"}}); n != 1 || err != nil {
			t.Errorf("beside a row with a bad %s: %d posts of ann, %v", column, n, err)
		}
		do(t, session, fmt.Sprintf(`DELETE FROM posts WHERE author = 'bob' AND "_sort" = '%s'`, sort))
	}
	do(t, session, `UPDATE posts SET "_rev" = `+rev+`, "_dead" = false WHERE author = 'bob' AND "_sort" = ':no key'`)
	if err := backendtest.Drain(s.Range(t.Context(), driver.Span{Table: ts.posts, Key: driver.Key{Partition: "bob#"}})); !errors.Is(err, driver.ErrCorrupt) || !strings.Contains(err.Error(), `":no key"`) {
		t.Errorf("range over a row that no key has: %v, want ErrCorrupt that names it", err)
	}
	if !ts.there(t, s, ts.posts, ts.key(t, "ann", "1")) {
		t.Error("the store's own row is gone")
	}
	noBytesAreNoValue(t, s, ts, session)
	walksBesideOthers(t, s, ts, session)
}

// noBytesAreNoValue sees that a column of numbers which has no bytes, as a row has that lies over a deleted
// one, is read as if it were null.
func noBytesAreNoValue(t *testing.T, s *cassandra.Store, ts *tables, session *gocql.Session) {
	t.Helper()
	do(t, session, `UPDATE posts SET "_rev" = 0x00000000000000000000000000000001, "_dead" = false, title = 'old', views = blobasbigint(0x),`+
		` open = blobasboolean(0x), "at" = blobastimestamp(0x), "_expires" = blobastimestamp(0x) WHERE author = 'bob' AND "_sort" = ':7#'`)
	row := make([]driver.Row, 1)
	if err := s.Get(t.Context(), ts.posts, []driver.Key{{Partition: "bob#", Sort: "7#"}}, nil, row); err != nil {
		t.Fatal(err)
	}
	for i, v := range row[0].Fields {
		if name := ts.posts.Fields[i].Name; v.IsNone() == (name == "title") {
			t.Errorf("%s is %s", name, v)
		}
	}
	if row[0].Expires != 0 {
		t.Errorf("expires at %d", row[0].Expires)
	}
	do(t, session, `DELETE FROM posts WHERE author = 'bob' AND "_sort" = ':7#'`)
}

// walksBesideOthers sees that a walk finds what is ours among many rows that no key has.
func walksBesideOthers(t *testing.T, s *cassandra.Store, ts *tables, session *gocql.Session) {
	t.Helper()
	batch := session.Batch(gocql.UnloggedBatch) // chunks of nothing else, and marks that are no keys
	for i := range 600 {
		batch.Query(fmt.Sprintf(`UPDATE posts SET "_rev" = %s, "_dead" = false WHERE author = 'bob' AND "_sort" = ':%03d'`, "0x00000000000000000000000000000001", i))
	}
	if err := batch.ExecContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	backendtest.MustCommit(t, s, ts.insert(t, "eve", "1"))
	backendtest.MustCommit(t, s, ts.insert(t, "bob", "9"))
	keys, unread := backendtest.WalkAll(t, s, ts.posts)
	slices.Sort(keys)
	if !slices.Equal(keys, []string{"ann#1#", "bob#9#", "eve#1#"}) || len(unread) != 601 {
		t.Errorf("a walk finds %q, and %d that it cannot read; want those of ann, bob and eve, and 601", keys, len(unread))
	}
}

// Tables of other programs are refused with what is wrong, and stay.
func TestTablesOfOtherPrograms(t *testing.T) {
	t.Parallel()
	_, url, session := ownKeyspace(t)
	s, err := cassandra.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ts := newTables()
	do(t, session, `CREATE TABLE posts (author text PRIMARY KEY, title text)`)
	for what, err := range map[string]error{"define": s.Define(t.Context(), ts.all()), "attach": s.Attach(t.Context(), ts.all())} {
		if !errors.Is(err, driver.ErrSchema) || !strings.Contains(err.Error(), "another program") {
			t.Errorf("%s where there is another program's table: %v, want ErrSchema", what, err)
		}
	}
	if err := s.Drop(t.Context(), ts.all()); err != nil {
		t.Error(err)
	}
	do(t, session, `INSERT INTO posts (author, title) VALUES ('a', 'b')`) // it is still there
	do(t, session, `DROP TABLE posts`)
	if err := s.Define(t.Context(), ts.all()); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ change, back, want string }{
		{`ALTER TABLE posts WITH default_time_to_live = 60`, `ALTER TABLE posts WITH default_time_to_live = 0`, "60 seconds"},
		{`ALTER TABLE posts ADD s text STATIC`, `ALTER TABLE posts DROP s`, "static column s"},
		{`DROP TABLE posts`, `CREATE TABLE posts (author text, title int, "_sort" text, PRIMARY KEY (author, "_sort"))`, "no such table"},
		{`ALTER TABLE posts WITH comment = 'made anew'`, `DROP TABLE posts`, "_rev"},
	} {
		do(t, session, tt.change)
		if err := s.Attach(t.Context(), ts.all()); !errors.Is(err, driver.ErrSchema) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("attach after %s: %v, want ErrSchema that says %s", tt.change, err, tt.want)
		}
		do(t, session, tt.back)
	}
}

// A catalog that this release cannot read is refused, and so is a table of its name.
func TestOtherCatalogs(t *testing.T) {
	t.Parallel()
	_, url, session := ownKeyspace(t)
	do(t, session, `CREATE TABLE "_tables" (id int PRIMARY KEY)`)
	if _, err := cassandra.Open(t.Context(), url); !errors.Is(err, driver.ErrSchema) || !strings.Contains(err.Error(), "_tables") {
		t.Errorf("open where there is a table _tables: %v, want ErrSchema", err)
	}
	do(t, session, `DROP TABLE "_tables"`)
	s, ts := open(t, url)
	for _, tt := range []struct {
		set  string
		want error
	}{
		{`"layout" = 3`, driver.ErrSchema},
		{`"layout" = 1`, driver.ErrSchema},
		{`"layout" = 2, "key" = ''`, driver.ErrCorrupt},
		{`"key" = '{"partition":[]}'`, driver.ErrSchema},
		{`"key" = null`, driver.ErrCorrupt},
	} {
		do(t, session, `UPDATE "_tables" SET `+tt.set+` WHERE "name" = 'posts'`)
		if err := s.Attach(t.Context(), ts.all()); !errors.Is(err, tt.want) {
			t.Errorf("attach with %s: %v, want %v", tt.set, err, tt.want)
		}
	}
	do(t, session, `UPDATE "_tables" SET "fields"['title'] = 'complex' WHERE "name" = 'posts.by_at'`)
	if err := s.Attach(t.Context(), ts.all()[1:2]); !errors.Is(err, driver.ErrCorrupt) {
		t.Errorf("attach with an unknown kind: %v, want ErrCorrupt", err)
	}
}

// Programs of two datacenters, or of one and all, would not see each other's conditions.
func TestOtherConsistency(t *testing.T) {
	t.Parallel()
	server := testserver.Shared(t, testserver.Cassandra).URL
	session := raw(t, server, "")
	var dc string
	if err := session.Query(`SELECT data_center FROM system.local`).ScanContext(t.Context(), &dc); err != nil {
		t.Fatal(err)
	}
	_, all, _ := ownKeyspace(t)
	s, _ := open(t, all)
	if !strings.Contains(s.Facts().Detail, "QUORUM, SERIAL") {
		t.Errorf("facts: %s", s.Facts().Detail)
	}
	if _, err := cassandra.Open(t.Context(), all+"?dc="+dc); !errors.Is(err, driver.ErrSchema) || !strings.Contains(err.Error(), "same dc") {
		t.Errorf("open with dc=%s where another program uses all: %v, want ErrSchema", dc, err)
	}
	if _, err := cassandra.Open(t.Context(), all+"?dc=elsewhere"); err == nil {
		t.Error("a datacenter that there is not is taken")
	}
	name := unique()
	one := strings.TrimSuffix(server, "/") + "/" + name + "?replication=" + dc + ":1&dc=" + dc
	t.Cleanup(func() { do(t, session, fmt.Sprintf(`DROP KEYSPACE "%s"`, name)) })
	s, ts := open(t, one)
	if !strings.Contains(s.Facts().Detail, "LOCAL_QUORUM, LOCAL_SERIAL in "+dc) {
		t.Errorf("facts: %s", s.Facts().Detail)
	}
	backendtest.MustCommit(t, s, ts.insert(t, "ann", "1"))
	if _, err := cassandra.Open(t.Context(), strings.TrimSuffix(server, "/")+"/"+name); !errors.Is(err, driver.ErrSchema) {
		t.Errorf("open with all where another program uses %s: %v, want ErrSchema", dc, err)
	}
}
