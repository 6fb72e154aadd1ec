package cassandra_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/apache/cassandra-gocql-driver/v2"

	"github.com/polystore/polystore/backends/cassandra"
	"github.com/polystore/polystore/internal/backendtest"
	"github.com/polystore/polystore/repo/driver"
)

// sweep sweeps a table to its end, and returns how many dead records it removed. Old is asked of each dead one.
func sweep(t *testing.T, s *cassandra.Store, table *driver.Table, old func(*driver.Row) bool) (dead int) {
	t.Helper()
	for mark, first := "", true; first || mark != ""; first = false {
		page, err := s.Sweep(t.Context(), table, mark, old)
		if err != nil {
			t.Fatal(err)
		}
		dead, mark = dead+page.Dead, page.Mark
	}
	return dead
}

// die returns the op that makes a post a dead one.
func (ts *tables) die(t testing.TB, author, id string) driver.Op {
	return driver.Op{Do: driver.Put, Table: ts.posts, Row: driver.Row{Key: ts.key(t, author, id), Dead: true, Expires: 7}}
}

// A rawCell is the bytes of a column, nil for null.
type rawCell struct{ data []byte }

func (c *rawCell) UnmarshalCQL(_ gocql.TypeInfo, data []byte) error {
	c.data = append([]byte(nil), data...)
	if data != nil && c.data == nil {
		c.data = []byte{}
	}
	return nil
}

func (c rawCell) MarshalCQL(gocql.TypeInfo) ([]byte, error) { return c.data, nil }

// remember returns what puts the cells of a record under another id, as a replica has them that was
// not told of what came after.
func remember(t *testing.T, session *gocql.Session, author, id string) func(other string) {
	t.Helper()
	var at int64
	if err := session.Query(`SELECT WRITETIME("_rev") FROM posts WHERE author = ? AND "_sort" = ?`, author, ":"+id+"#").ScanContext(t.Context(), &at); err != nil {
		t.Fatal(err)
	}
	iter := session.Query(`SELECT * FROM posts WHERE author = ? AND "_sort" = ?`, author, ":"+id+"#").IterContext(t.Context())
	cells := make([]rawCell, len(iter.Columns()))
	var dest, args []any
	var sets []string
	for i := range cells {
		dest = append(dest, &cells[i])
	}
	if !iter.Scan(dest...) {
		t.Fatal(iter.Close())
	}
	for i, c := range iter.Columns() {
		if c.Name != "author" && c.Name != "_sort" && cells[i].data != nil {
			sets, args = append(sets, `"`+c.Name+`" = ?`), append(args, cells[i])
		}
	}
	text := `UPDATE posts USING TIMESTAMP ? SET ` + strings.Join(sets, ", ") + ` WHERE author = ? AND "_sort" = ?`
	return func(other string) {
		do(t, session, text, append(append([]any{at}, args...), author, ":"+other+"#")...)
	}
}

// An insert where only some replicas have been swept is later read from the others, too: nothing of what
// was deleted shows through.
func TestNothingOfDeadRecordsShowsThrough(t *testing.T) {
	t.Parallel()
	_, url, session := ownKeyspace(t)
	s, ts := open(t, url)
	insert := ts.insert(t, "ann", "1")[0]
	insert.Row.Fields = make([]driver.Value, len(ts.posts.Fields))
	for i, f := range ts.posts.Fields {
		if f.Kind == driver.String {
			insert.Row.Fields[i] = text("was")
		}
	}
	backendtest.MustCommit(t, s, []driver.Op{insert})
	backendtest.MustCommit(t, s, []driver.Op{ts.die(t, "ann", "1")})
	again := remember(t, session, "ann", "1")
	want := driver.Op{Do: driver.Put, Table: ts.posts, If: driver.Absent, Row: driver.Row{Key: ts.key(t, "ann", "2"), Fields: []driver.Value{{}, driver.IntValue(5)}}}
	fence := driver.Op{Do: driver.Fence, Table: ts.posts, If: driver.Absent, Row: driver.Row{Key: ts.key(t, "ann", "3"), Expires: 9}}
	backendtest.MustCommit(t, s, []driver.Op{want})
	backendtest.MustCommit(t, s, []driver.Op{fence})
	before, fenced := get(t, s, ts.posts, want.Row.Key), get(t, s, ts.posts, fence.Row.Key)
	again("2")
	again("3")
	if row := get(t, s, ts.posts, want.Row.Key); fmt.Sprint(row) != fmt.Sprint(before) {
		t.Errorf("what was inserted: %+v, want %+v", row, before)
	}
	if row := get(t, s, ts.posts, fence.Row.Key); fmt.Sprint(row) != fmt.Sprint(fenced) {
		t.Errorf("what was fenced: %+v, want %+v", row, fenced)
	}
}

// A sweep asks replicas that answer each at its own time: a row that one has not yet, and the other not any
// more, is not removed with those around it.
func TestSweepOfWhatItDidNotRead(t *testing.T) {
	t.Parallel()
	_, url, session := ownKeyspace(t)
	for at, survives := range map[string]bool{"rests": true, "control": false} {
		s, ts := open(t, url)
		if !survives { // the control: as if what was written just now had rested
			cassandra.SweepAtOnce(s)
		}
		const n = 30
		for i := range n {
			backendtest.MustCommit(t, s, []driver.Op{ts.die(t, at, fmt.Sprintf("%02d", i))})
		}
		last := fmt.Sprintf(":%02d#", n-1)
		var young int64
		if err := session.Query(`SELECT WRITETIME("_rev") FROM posts WHERE author = ? AND "_sort" = ?`, at, last).ScanContext(t.Context(), &young); err != nil {
			t.Fatal(err)
		}
		rev := driver.NewToken()
		dead := sweep(t, s, ts.posts, func(row *driver.Row) bool {
			if row.Key == ts.key(t, at, "10") { // the page has been read
				do(t, session, `UPDATE posts USING TIMESTAMP ? SET "_rev" = ?, "_dead" = false WHERE author = ? AND "_sort" = ':10a#'`, young-1, rev[:], at)
			}
			return strings.HasPrefix(row.Key.Partition, at)
		})
		if there := ts.there(t, s, ts.posts, ts.key(t, at, "10a")); there != survives || dead != n {
			t.Errorf("%s: a row that was not read is there: %v, want %v; %d were removed, want %d", at, there, survives, dead, n)
		}
	}
}

// A partition of several pages goes as a whole: with it goes what is older and shows up behind the sweep. What
// came meanwhile stays, even if a record that died after it is gone by then.
func TestSweepOfPages(t *testing.T) {
	t.Parallel()
	_, url, session := ownKeyspace(t)
	for at, want := range map[string]string{"an old one shows up": "", "one comes": "00", "one comes and another dies": "00"} {
		s, ts := open(t, url)
		cassandra.SweepAtOnce(s)
		cassandra.SweepBy(s, 1)
		const n = 9
		for i := range n {
			backendtest.MustCommit(t, s, []driver.Op{ts.die(t, at, fmt.Sprint(1+i))})
		}
		asked := 0
		sweep(t, s, ts.posts, func(row *driver.Row) bool {
			if row.Key.Partition != ts.key(t, at, "").Partition {
				return false
			}
			switch asked++; {
			case asked == 5 && want == "":
				rev := driver.NewToken()
				do(t, session, `UPDATE posts USING TIMESTAMP 7 SET "_rev" = ?, "_dead" = false WHERE author = ? AND "_sort" = ':00#'`, rev[:], at)
			case asked == 5:
				backendtest.MustCommit(t, s, ts.insert(t, at, "00")[:1])
			case asked == 6 && strings.Contains(at, "dies"):
				backendtest.MustCommit(t, s, []driver.Op{ts.die(t, at, "95")})
			}
			return true
		})
		var sorts []string
		iter := session.Query(`SELECT "_sort" FROM posts WHERE author = ?`, at).IterContext(t.Context())
		for sort := ""; iter.Scan(&sort); {
			sorts = append(sorts, strings.Trim(sort, ":#"))
		}
		if err := iter.Close(); err != nil || strings.Join(sorts, " ") != want {
			t.Errorf("%s: %q is left, %v; want %q", at, sorts, err, want)
		}
	}
}

// A sweep of a collection of which nothing is left leaves alone what lies with it in its partition.
func TestSweepBesideAnother(t *testing.T) {
	t.Parallel()
	_, url, _ := ownKeyspace(t)
	s, ts := open(t, url)
	cassandra.SweepAtOnce(s)
	notes := &driver.Table{Name: "notes", Partition: ts.posts.Partition, Sort: ts.posts.Sort, Fields: []driver.Column{{Name: "title", Kind: driver.Int}}, Home: ts.posts}
	if err := s.Define(t.Context(), []*driver.Table{notes}); err != nil {
		t.Fatal(err)
	}
	note := driver.Op{Do: driver.Put, Table: notes, If: driver.Absent, Row: driver.Row{Key: ts.key(t, "ann", "1"), Fields: []driver.Value{driver.IntValue(7)}}}
	backendtest.MustCommit(t, s, append(ts.insert(t, "ann", "1")[:1], note))
	backendtest.MustCommit(t, s, []driver.Op{ts.die(t, "ann", "1")})
	if n := sweep(t, s, ts.posts, func(*driver.Row) bool { return true }); n != 1 {
		t.Errorf("%d records were removed, want one", n)
	}
	if row := get(t, s, notes, note.Row.Key); row.Rev.IsZero() || row.Fields[0].Int() != 7 {
		t.Errorf("what lies with them: %+v", row)
	}
	if ts.there(t, s, ts.posts, note.Row.Key) {
		t.Error("the dead record is there")
	}
}

// A sweep removes what has nothing but its key, which an earlier release left, and leaves alone what another
// program wrote, or a dead record that has changed. One with fields it removes, too.
func TestSweepOfOddRows(t *testing.T) {
	t.Parallel()
	_, url, session := ownKeyspace(t)
	s, ts := open(t, url)
	cassandra.SweepAtOnce(s)
	past := time.Now().Add(-time.Hour).UnixMicro()
	for i := range 12 {
		do(t, session, fmt.Sprintf(`INSERT INTO posts (author, "_sort") VALUES ('ann', 'by_at:%02d') USING TIMESTAMP %d`, i, past))
	}
	do(t, session, `INSERT INTO posts (author, "_sort", title) VALUES ('ann', 'by_at:xx', 'another program wrote it') USING TIMESTAMP ?`, past)
	backendtest.MustCommit(t, s, ts.insert(t, "ann", "1")[:1])
	full, changed := ts.die(t, "ann", "2"), ts.die(t, "ann", "3")
	full.Row.Fields, full.Row.Meta = []driver.Value{text("dead, with fields")}, "a note"
	changed.Row.Fields = full.Row.Fields
	backendtest.MustCommit(t, s, []driver.Op{full})
	backendtest.MustCommit(t, s, []driver.Op{changed})
	dead := sweep(t, s, ts.posts, func(row *driver.Row) bool {
		if row.Key == changed.Row.Key {
			backendtest.MustCommit(t, s, []driver.Op{{Do: driver.Put, Table: ts.posts, Row: driver.Row{Key: row.Key, Fields: []driver.Value{text("back")}}}})
		}
		return true
	})
	var sorts []string
	iter := session.Query(`SELECT "_sort" FROM posts WHERE author = 'ann'`).IterContext(t.Context())
	for sort := ""; iter.Scan(&sort); {
		sorts = append(sorts, sort)
	}
	if err := iter.Close(); err != nil || fmt.Sprint(sorts) != "[:1# :3# by_at:xx]" || dead != 1 {
		t.Errorf("after a sweep that removed %d records there are %q, %v", dead, sorts, err)
	}
	if row := get(t, s, ts.posts, changed.Row.Key); row.Dead || row.Fields[fTitle].Str() != "back" {
		t.Errorf("a record that came back: %+v", row)
	}
}

// Texts that are like what stands for none are values all the same, and so is that without bytes, in records
// and in rows of indexes.
func TestTextsLikeNone(t *testing.T) {
	t.Parallel()
	s, ts := shared(t)
	author, stands := unique(), cassandra.NoText
	for i, value := range []string{"", stands, stands + "x", stands + stands, stands[:3]} {
		ops := ts.insert(t, author, fmt.Sprint(i))[:2]
		ops[0].Row.Fields = []driver.Value{fTitle: text(value)}
		ops[1].Row.Fields = ops[0].Row.Fields[:1]
		backendtest.MustCommit(t, s, ops)
		row := get(t, s, ts.posts, ops[0].Row.Key)
		entry := get(t, s, ts.byAt, ops[1].Row.Key)
		for what, got := range map[string]driver.Value{"a record": row.Fields[fTitle], "an index": entry.Fields[0]} {
			if got.IsNone() || got.Str() != value {
				t.Errorf("in %s %q is %v", what, value, got)
			}
		}
	}
}
