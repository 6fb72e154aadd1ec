package cassandra_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/cassandra-gocql-driver/v2"

	"github.com/polystore/polystore/backends/cassandra"
	"github.com/polystore/polystore/internal/backendtest"
	"github.com/polystore/polystore/internal/testserver"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// fewTombstones is how many tombstones a read may meet on the servers of these tests: less than one
// for each of the rows that they delete.
const (
	fewTombstones = 40
	manyDeletes   = 70
)

// A job has ten fields.
type job struct {
	Queue string    `repo:"queue"`
	ID    int64     `repo:"id"`
	Due   int64     `repo:"due"`
	State string    `repo:"state"`
	Slug  string    `repo:"slug"`
	Title string    `repo:"title"`
	Note  string    `repo:"note"`
	Tries int64     `repo:"tries"`
	Cost  float64   `repo:"cost"`
	Open  bool      `repo:"open"`
	At    time.Time `repo:"at"`
	Blob  []byte    `repo:"blob"`
}

func newJob(queue string, i int64) *job {
	return &job{queue, i, 1000 + i, "open", fmt.Sprint("slug", i), "a title", "a note", 1, 1.5, true, time.UnixMilli(i), []byte{1}}
}

// jobs has indexes of three kinds beside the records: a key alone, with fields, and unique.
func jobs(collection string) repo.Schema {
	return repo.Schema{Collection: collection, Partition: []string{"queue"}, Sort: []string{"id"}, Indexes: []repo.Index{
		{Name: "by_due", Partition: []string{"queue"}, Sort: []string{"due"}},
		{Name: "by_state", Partition: []string{"queue"}, Sort: []string{"state"}, Covers: []string{"title", "tries"}},
		{Name: "by_slug", Partition: []string{"queue"}, Sort: []string{"slug"}, Unique: true},
	}}
}

// queries read a queue in every order, either way.
func queries(queue string) map[string]repo.Query {
	q := repo.Where("queue", queue)
	return map[string]repo.Query{
		"oldest":        q.Order("id").Limit(20),
		"newest":        q.Order("-id").Limit(20),
		"by due":        q.Order("due").Limit(20),
		"by due, last":  q.Order("-due").Limit(20),
		"by state":      q.Where("state", "open"),
		"by slug":       q.Order("slug"),
		"by slug, last": q.Order("-slug"),
	}
}

// A strict is a server that ends a read which meets few tombstones, with a keyspace of a test, and the name of
// the test's own collection: Maintain of others would sweep it.
type strict struct {
	url     string
	session *gocql.Session
	jobsOf  string
}

func newStrict(t *testing.T) *strict {
	t.Helper()
	server := testserver.Start(t, testserver.Cassandra, fmt.Sprint("-Dcassandra.settings.tombstone_failure_threshold=", fewTombstones), "-Dcassandra.settings.tombstone_warn_threshold=20")
	url := at(server.URL, common)
	open(t, url)
	return &strict{url, raw(t, server.URL, common), ""}
}

// jobs opens the collection by a clock that is ahead.
func (st *strict) jobs(t *testing.T, ahead time.Duration) (*repo.Repo[job], *cassandra.Store) {
	t.Helper()
	s, err := cassandra.Open(t.Context(), st.url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	if ahead > 0 {
		cassandra.SweepAtOnce(s)
	}
	r, err := repo.Open[job](t.Context(), repo.NewStore(s, &repo.Options{Now: func() time.Time { return time.Now().Add(ahead) }}), jobs(st.jobsOf))
	if err != nil {
		t.Fatal(err)
	}
	return r, s
}

// ids reads a query and returns which jobs it finds, ascending.
func ids(t *testing.T, r *repo.Repo[job], q repo.Query) (list []int64) {
	t.Helper()
	for j, err := range r.Find(t.Context(), q) {
		if err != nil {
			t.Errorf("find %v: %v", q, err)
			return nil
		}
		list = append(list, j.ID)
	}
	slices.Sort(list)
	return list
}

// finds compares what queries find with what is left.
func finds(t *testing.T, r *repo.Repo[job], queue string, left []int64) {
	t.Helper()
	for name, q := range queries(queue) {
		if got := ids(t, r, q); !slices.Equal(got, left) {
			t.Errorf("%s: %v, want %v", name, got, left)
		}
		if n, err := r.Count(t.Context(), q); n != len(left) || err != nil {
			t.Errorf("count of %s: %d, %v; want %d", name, n, err, len(left))
		}
	}
}

func insertJobs(t *testing.T, r *repo.Repo[job], queue string, n int64) {
	t.Helper()
	for i := range n {
		if err := r.Insert(t.Context(), newJob(queue, i)); err != nil {
			t.Fatal(err)
		}
	}
}

// What is deleted, and what moves within an index, leaves no tombstones in the way of a read,
// and Maintain few, whatever it removes.
func TestDeletesLeaveNoTombstones(t *testing.T) {
	t.Parallel()
	st := newStrict(t)
	for name, test := range map[string]func(*testing.T, *strict){
		"deletes":            strictDeletes,
		"moves":              strictMoves,
		"scattered":          strictScattered,
		"by and by":          strictByAndBy,
		"partitions":         strictPartitions,
		"plain rows":         strictPlain,
		"ends of remains":    strictEnds,
		"an earlier release": strictEarlier,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, &strict{st.url, st.session, unique()})
		})
	}
}

func strictDeletes(t *testing.T, st *strict) {
	queue := unique()
	r, _ := st.jobs(t, 0)
	insertJobs(t, r, queue, manyDeletes+5)
	left := []int64{1, 20, 21, manyDeletes, manyDeletes + 3}
	for i := range int64(manyDeletes + 5) {
		if !slices.Contains(left, i) {
			if err := r.Delete(t.Context(), repo.Key{queue, i}); err != nil {
				t.Fatal(err)
			}
		}
	}
	finds(t, r, queue, left)
	var rows int
	count := func() int {
		t.Helper()
		if err := st.session.Query(`SELECT count(*) FROM `+st.jobsOf+` WHERE queue = ?`, queue).ScanContext(t.Context(), &rows); err != nil {
			t.Fatal(err)
		}
		return rows
	}
	if n := count(); n != 4*(manyDeletes+5) {
		t.Errorf("%d rows are there, want what is left of all", n)
	}
	late, _ := st.jobs(t, time.Hour)
	done, err := late.Maintain(t.Context())
	if err != nil || done.Dead < manyDeletes {
		t.Errorf("Maintain an hour later: %+v, %v; want %d dead records at least", done, err, manyDeletes)
	}
	finds(t, r, queue, left)
	if n := count(); n > 4*len(left)+2*10 {
		t.Errorf("after Maintain %d rows are there, want few beside the %d of what is left", n, 4*len(left))
	}
	for _, i := range []int64{0, 5, manyDeletes + 1} { // where others were
		if err := r.Insert(t.Context(), newJob(queue, i)); err != nil {
			t.Errorf("insert where a job was: %v", err)
		}
		left = append(left, i)
	}
	slices.Sort(left)
	finds(t, r, queue, left)
	if reports, err := r.Verify(t.Context()); err != nil || slices.ContainsFunc(reports, func(r repo.Report) bool { return !r.Clean() }) {
		t.Errorf("verify: %+v, %v", reports, err)
	}
}

func strictMoves(t *testing.T, st *strict) {
	queue := unique()
	r, _ := st.jobs(t, 0)
	insertJobs(t, r, queue, 3)
	for i := range int64(manyDeletes) {
		if _, err := r.Patch(t.Context(), repo.Key{queue, int64(1)}, repo.Set("due", 1001+i%7+1000*(i%2)), repo.Set("slug", fmt.Sprint("moved", i))); err != nil {
			t.Fatal(err)
		}
	}
	finds(t, r, queue, []int64{0, 1, 2})
}

// strictScattered deletes every other job: Maintain removes what is between those that stay, which leaves as
// many tombstones as there are jobs.
func strictScattered(t *testing.T, st *strict) {
	queue := unique()
	r, _ := st.jobs(t, 0)
	const n = fewTombstones
	insertJobs(t, r, queue, n)
	var left []int64
	for i := range int64(n) {
		if i%2 == 0 {
			left = append(left, i)
		} else if err := r.Delete(t.Context(), repo.Key{queue, i}); err != nil {
			t.Fatal(err)
		}
	}
	late, _ := st.jobs(t, time.Hour)
	if done, err := late.Maintain(t.Context()); err != nil || done.Dead < n/2 {
		t.Errorf("Maintain: %+v, %v", done, err)
	}
	finds(t, r, queue, left)
	dead := 0
	iter := st.session.Query(`SELECT "_dead" FROM `+st.jobsOf+` WHERE queue = ?`, queue).IterContext(t.Context())
	for flag := false; iter.Scan(&flag); {
		if flag {
			dead++
		}
	}
	if err := iter.Close(); dead > 0 || err != nil {
		t.Errorf("after Maintain %d dead records are there, %v", dead, err)
	}
}

// strictByAndBy deletes jobs here and there, with Maintain after each few: what that leaves is no more for all
// of them than for the last.
func strictByAndBy(t *testing.T, st *strict) {
	queue := unique()
	r, _ := st.jobs(t, 0)
	late, _ := st.jobs(t, time.Hour)
	insertJobs(t, r, queue, manyDeletes+1)
	for i := range int64(manyDeletes) {
		if err := r.Delete(t.Context(), repo.Key{queue, i * 29 % manyDeletes}); err != nil {
			t.Fatal(err)
		}
		if i%5 < 4 {
			continue
		}
		if _, err := late.Maintain(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	finds(t, r, queue, []int64{manyDeletes})
}

// strictPartitions deletes records that have a partition each: Maintain leaves nothing in the way of a walk.
func strictPartitions(t *testing.T, st *strict) {
	type session struct {
		ID   string `repo:"id"`
		User string `repo:"user"`
	}
	open := func(ahead time.Duration) *repo.Repo[session] {
		_, s := st.jobs(t, ahead)
		r, err := repo.Open[session](t.Context(), repo.NewStore(s, &repo.Options{Now: func() time.Time { return time.Now().Add(ahead) }}), repo.Schema{
			Collection: "sessions_" + st.jobsOf, Partition: []string{"id"},
		})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	r, late := open(0), open(time.Hour)
	for i := range manyDeletes + 1 {
		if err := r.Insert(t.Context(), &session{fmt.Sprint(i), "a user"}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range manyDeletes {
		if err := r.Delete(t.Context(), repo.Key{fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
	}
	if done, err := late.Maintain(t.Context()); err != nil || done.Dead != manyDeletes {
		t.Errorf("Maintain: %+v, %v", done, err)
	}
	n := 0
	for chunk, err := range r.Walk(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		n += len(chunk.Items)
	}
	if n != 1 {
		t.Errorf("a walk finds %d records, want the one that is left", n)
	}
}

func strictPlain(t *testing.T, st *strict) {
	s, _ := open(t, st.url)
	rows := byCategory()
	if err := s.Define(t.Context(), []*driver.Table{rows}); err != nil {
		t.Fatal(err)
	}
	category := unique()
	for range manyDeletes {
		op := rowOf(t, rows, category, driver.NewToken())
		backendtest.MustCommit(t, s, []driver.Op{op})
		backendtest.MustCommit(t, s, []driver.Op{dropped(op)})
	}
	last := rowOf(t, rows, category, driver.NewToken())
	backendtest.MustCommit(t, s, []driver.Op{last})
	span := driver.Span{Table: rows, Key: last.Row.Key}
	n := 0
	for row, err := range s.Range(t.Context(), span) {
		if err != nil || row.Key != last.Row.Key {
			t.Fatalf("range: %+v, %v", row, err)
		}
		n++
	}
	if count, err := s.Count(t.Context(), span); n != 1 || count != 1 || err != nil {
		t.Errorf("%d rows are found and %d counted, %v; want one", n, count, err)
	}
}

// strictEarlier reads records that an earlier release deleted by nulls: the server ends a read of
// them, which is the control of these tests, and they are read in pieces until Maintain removes them.
func strictEarlier(t *testing.T, st *strict) {
	queue := unique()
	r, s := st.jobs(t, 0)
	cassandra.ReadPieces(s, 2)
	insertJobs(t, r, queue, 8)
	for i := range 7 {
		rev := driver.NewToken()
		do(t, st.session, `UPDATE `+st.jobsOf+` SET "_rev" = ?, "due" = null, "state" = null, "slug" = null, "title" = null, "note" = null, "tries" = null, "cost" = null, "open" = null, "at" = null,
			"blob" = null, "_dead" = true, "_expires" = 1, "_note" = '', "_extra" = '', "_later" = false WHERE queue = ? AND "_sort" = ?`, rev[:], queue, fmt.Sprintf(":a%d#", i))
	}
	atOnce := func() error {
		return st.session.Query(`SELECT * FROM `+st.jobsOf+` WHERE queue = ? AND "_sort" >= ':' AND "_sort" < ';' AND "_dead" = false ALLOW FILTERING`, queue).ExecContext(t.Context())
	}
	if err := atOnce(); err == nil || !strings.Contains(err.Error(), "TOO_MANY_TOMBSTONES") {
		t.Fatalf("a read of seven records with ten nulls: %v, want that the server ends it", err)
	}
	for _, q := range []repo.Query{repo.Where("queue", queue).Order("id"), repo.Where("queue", queue).Order("-id")} {
		if got := ids(t, r, q); !slices.Equal(got, []int64{7}) {
			t.Errorf("%v finds %v, want the one that is left", q, got)
		}
		if n, err := r.Count(t.Context(), q); n != 1 || err != nil {
			t.Errorf("count: %d, %v", n, err)
		}
	}
	late, _ := st.jobs(t, time.Hour)
	if done, err := late.Maintain(t.Context()); err != nil || done.Dead < 7 {
		t.Errorf("Maintain: %+v, %v", done, err)
	}
	if err := atOnce(); err != nil {
		t.Errorf("after Maintain: %v", err)
	}
}

// strictEnds sees that cells which end after the time for which tombstones are kept are none, and
// those that end before are.
func strictEnds(t *testing.T, st *strict) {
	do(t, st.session, `CREATE TABLE ends (p text, c int, v blob, PRIMARY KEY (p, c)) WITH gc_grace_seconds = 2`)
	for i := range manyDeletes {
		do(t, st.session, `UPDATE ends USING TTL 4 SET v = 0x WHERE p = 'later' AND c = ?`, i)
		do(t, st.session, `INSERT INTO ends (p, c, v) VALUES ('key', ?, 0x) USING TTL 4`, i)
	}
	do(t, st.session, `UPDATE ends SET v = 0x01 WHERE p = 'later' AND c = 1000`)
	time.Sleep(5 * time.Second)
	read := func(p string) error {
		return st.session.Query(`SELECT * FROM ends WHERE p = ?`, p).ExecContext(t.Context())
	}
	if err := read("later"); err != nil {
		t.Errorf("a read past cells that have ended: %v", err)
	}
	do(t, st.session, `ALTER TABLE ends WITH gc_grace_seconds = 864000`)
	for _, p := range []string{"later", "key"} {
		if err := read(p); err == nil || !strings.Contains(err.Error(), "TOO_MANY_TOMBSTONES") {
			t.Errorf("a read past cells %s that ended before tombstones do: %v, want that the server ends it", p, err)
		}
	}
}
