package cassandra_test

import (
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"github.com/apache/cassandra-gocql-driver/v2"

	"github.com/polystore/polystore/backends/cassandra"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// writeAhead writes the rows of an index again, an hour from now.
func writeAhead(t *testing.T, session *gocql.Session) {
	t.Helper()
	ahead := time.Now().Add(time.Hour).UnixMicro()
	rows := session.Query(`SELECT "_sort", "_rev", "_base" FROM "events_X_by_level" WHERE level = 'info'`).IterContext(t.Context())
	var sort, base string
	for rev := []byte(nil); rows.Scan(&sort, &rev, &base); rev = nil {
		do(t, session, `INSERT INTO "events_X_by_level" (level, "_sort", "_rev", "_base") VALUES ('info', ?, ?, ?) USING TIMESTAMP ?`, sort, rev, base, ahead)
	}
	if err := rows.Close(); err != nil {
		t.Fatal(err)
	}
}

// A program whose clock is an hour ahead leaves rows of indexes that no drop of others
// outdoes. No reader returns them, nothing of a record is lost, and Maintain removes them.
func TestClocksAhead(t *testing.T) {
	t.Parallel()
	_, url, session := ownKeyspace(t)
	s, err := cassandra.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	store := repo.NewStore(s, nil)
	schema := repo.Schema{Collection: "events", Partition: []string{"host"}, Sort: []string{"-id"}, Indexes: []repo.Index{{Name: "by_level", Partition: []string{"level"}}}}
	events, err := repo.Open[event](t.Context(), store, schema)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		if err := events.Insert(t.Context(), &event{Host: "h", ID: int64(i), Level: "info"}); err != nil {
			t.Fatal(err)
		}
	}
	writeAhead(t, session)
	if _, err := events.Patch(t.Context(), repo.Key{"h", 0}, repo.Set("level", "warn")); err != nil {
		t.Fatal(err)
	}
	left := func() (n int) {
		t.Helper()
		if err := session.Query(`SELECT count(*) FROM "events_X_by_level" WHERE level = 'info' AND "_rev" > 0x ALLOW FILTERING`).ScanContext(t.Context(), &n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	do(t, session, `DELETE FROM "events_X_by_level" WHERE level = 'info'`) // with a clock that is right, as the drop will be
	if n := left(); n != 2 {
		t.Fatalf("%d rows that are an hour ahead are there, want 2", n)
	}
	found := func() string {
		t.Helper()
		list, err := repo.Collect(events.Find(t.Context(), repo.Where("level", "info")))
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(len(list))
	}
	if got := found(); got != "1" {
		t.Errorf("%s records are found, want the one that did not change", got)
	}
	old := driver.NewToken() // as if the record had rested since, which Maintain waits for
	binary.BigEndian.PutUint32(old[:4], binary.BigEndian.Uint32(old[:4])-100)
	do(t, session, `UPDATE events SET "_rev" = ? WHERE host = 'h' AND "_sort" = ?`, old[:], sortOf(t, 0))
	done, err := events.Maintain(t.Context())
	if err != nil || done.Rows != 1 {
		t.Errorf("Maintain: %+v, %v, want one row removed", done, err)
	}
	if n := left(); n != 1 || found() != "1" {
		t.Errorf("after Maintain %d rows are there, and %s records are found; want 1 and 1", n, found())
	}
}
