package cassandra_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/polystore/polystore/backends/cassandra"
	"github.com/polystore/polystore/internal/testserver"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// An event has a native index by one field and one by two.
type event struct {
	Host  string         `repo:"host"`
	ID    int64          `repo:"id"`
	Level string         `repo:"level"`
	Code  int64          `repo:"code"`
	Extra map[string]any `repo:",extra"`
}

func eventSchema(kind string) repo.Schema {
	return repo.Schema{Collection: "events", Partition: []string{"host"}, Sort: []string{"-id"}, Indexes: []repo.Index{
		{Name: "by_level", Kind: kind, Partition: []string{"host", "level"}, Sort: []string{"-id"}},
		{Name: "by_both", Kind: kind, Partition: []string{"host", "level", "code"}, Sort: []string{"-id"}},
	}}
}

func event1(i int) event {
	return event{Host: fmt.Sprint("h", i%2), ID: int64(i), Level: []string{"info", "error", "warn"}[i%3], Code: int64(i % 5)}
}

// newEvents opens a collection of events in a keyspace of its own, whose statements are
// recorded.
func newEvents(t *testing.T, n int) (events *repo.Repo[event], store *repo.Store, sent *recorder, do1 func(string)) {
	t.Helper()
	name, _, session := ownKeyspace(t)
	sent = &recorder{}
	c := clusterOf(t, testserver.Shared(t, testserver.Cassandra).URL, "")
	c.QueryObserver, c.BatchObserver = sent, sent
	own, err := c.CreateSession()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(own.Close)
	s, err := cassandra.New(t.Context(), own, &cassandra.Options{Keyspace: name})
	if err != nil {
		t.Fatal(err)
	}
	store = repo.NewStore(s, nil)
	if events, err = repo.Open[event](t.Context(), store, eventSchema("native")); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		e := event1(i)
		if err := events.Insert(t.Context(), &e); err != nil {
			t.Fatal(err)
		}
	}
	sent.take()
	return events, store, sent, func(cql string) { t.Helper(); do(t, session, cql) }
}

func eventIDs(t *testing.T, events *repo.Repo[event], q repo.Query) []int64 {
	t.Helper()
	var ids []int64
	for e, err := range events.Find(t.Context(), q) {
		if err != nil {
			t.Fatalf("find %v: %v", q, err)
		}
		ids = append(ids, e.ID)
	}
	return ids
}

// Whatever is read by a native index is one statement, and one change of a record too.
func TestNativeStatements(t *testing.T) {
	t.Parallel()
	events, _, sent, _ := newEvents(t, 60)
	if _, err := events.Patch(t.Context(), repo.Key{"h0", int64(0)}, repo.Set("level", "error")); err != nil {
		t.Fatal(err)
	}
	if got := sent.take(); len(got) != 2 || !strings.HasPrefix(got[0], "SELECT * FROM") || !strings.HasPrefix(got[1], `UPDATE "events" SET`) {
		t.Errorf("a change of an indexed field sent %q, want a read and an update", got)
	}
	level := repo.Where("host", "h0").Where("level", "error")
	both := level.Where("code", 2)
	where := `FROM "events" WHERE "host" = ? AND "_sort" >= ? AND "_sort" < ? AND `
	for name, tt := range map[string]struct {
		q    repo.Query
		want string
		ids  []int64
	}{
		"newest":        {level.Limit(3), `SELECT * ` + where + `"level" = ? LIMIT ?`, []int64{58, 52, 46}},
		"oldest":        {level.Order("id").Limit(3), `SELECT * ` + where + `"level" IN ? ORDER BY "_sort" DESC LIMIT ? ALLOW FILTERING`, []int64{0, 4, 10}},
		"by two fields": {both, `SELECT * ` + where + `"level" = ? AND "code" = ? LIMIT ?`, []int64{52, 22}},
		"of some ids":   {both.Range("id", 0, 50), `SELECT * ` + where + `"level" = ? AND "code" = ? LIMIT ?`, []int64{22}},
		"none":          {both.Range("id", 23, 50), `SELECT * ` + where + `"level" = ? AND "code" = ? LIMIT ?`, nil},
	} {
		if ids := eventIDs(t, events, tt.q); !slices.Equal(ids, tt.ids) {
			t.Errorf("%s: %v, want %v", name, ids, tt.ids)
		}
		if got := sent.take(); !slices.Equal(got, []string{tt.want}) {
			t.Errorf("%s was sent as %q, want %q", name, got, tt.want)
		}
	}
	if n, err := events.Count(t.Context(), both); n != 2 || err != nil {
		t.Errorf("count: %d, %v", n, err)
	}
	if got, want := sent.take(), `SELECT count(*) `+where+`"level" = ? AND "code" = ?`; !slices.Equal(got, []string{want}) {
		t.Errorf("count was sent as %q, want %q", got, want)
	}
	plan, err := events.Explain(level.Order("id"))
	if err != nil || !plan.Covered || plan.Depth != 1 || !strings.Contains(plan.Why, "backwards the server reads the whole partition") {
		t.Errorf("plan %v, %v", plan, err)
	}
}

// The fields of dead records are texts without bytes, and yet they are not found by an empty text.
func TestNativeEmptyTexts(t *testing.T) {
	t.Parallel()
	events, _, _, _ := newEvents(t, 6)
	const n = 130 // more than a page
	for i := range int64(n) {
		if err := events.Insert(t.Context(), &event{Host: "empty", ID: i, Level: "", Code: 1}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range int64(n - 1) {
		if err := events.Delete(t.Context(), repo.Key{"empty", i}); err != nil {
			t.Fatal(err)
		}
	}
	empty := repo.Where("host", "empty").Where("level", "")
	for _, q := range []repo.Query{empty, empty.Order("id"), empty.Limit(1), empty.Order("id").Limit(1), empty.Where("code", 1)} {
		if ids := eventIDs(t, events, q); !slices.Equal(ids, []int64{n - 1}) {
			t.Errorf("%v finds %v, want the one that is left", q, ids)
		}
		if n, err := events.Count(t.Context(), q); n != 1 || err != nil {
			t.Errorf("count of %v: %d, %v", q, n, err)
		}
	}
}

// A row of a table with an index of its own can have the fields that another index finds:
// it is no record, and is not found.
func TestNativeBesideTables(t *testing.T) {
	t.Parallel()
	_, store, _, _ := newEvents(t, 0)
	schema := eventSchema("native")
	schema.Collection = "others"
	schema.Indexes = append(schema.Indexes, repo.Index{Name: "by_code", Kind: "table", Partition: []string{"host"}, Sort: []string{"code"}, Covers: []string{"level"}})
	events, err := repo.Open[event](t.Context(), store, schema)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 12 {
		e := event1(i)
		if err := events.Insert(t.Context(), &e); err != nil {
			t.Fatal(err)
		}
	}
	if ids := eventIDs(t, events, repo.Where("host", "h0").Where("level", "info")); !slices.Equal(ids, []int64{6, 0}) {
		t.Errorf("events by the native index: %v", ids)
	}
	if n, err := events.Count(t.Context(), repo.Where("host", "h0").Where("level", "info")); n != 2 || err != nil {
		t.Errorf("count by the native index: %d, %v", n, err)
	}
	if ids := eventIDs(t, events, repo.Where("host", "h0").Order("-code").Limit(1)); !slices.Equal(ids, []int64{4}) {
		t.Errorf("events by the table: %v", ids)
	}
}

// What other programs do to the indexes, and to rows, is told, with the remedy.
func TestNativeIndexesOfOtherPrograms(t *testing.T) {
	t.Parallel()
	events, store, _, other := newEvents(t, 6)
	q := repo.Where("host", "h0").Where("level", "info")
	other(`DROP INDEX "events_X_level"`)
	if _, err := events.Count(t.Context(), q); !errors.Is(err, repo.ErrSchema) || !strings.Contains(err.Error(), "Rebuild") {
		t.Errorf("count by an index that is gone: %v", err)
	}
	if _, err := repo.Collect(events.Find(t.Context(), q)); !errors.Is(err, repo.ErrSchema) || !strings.Contains(err.Error(), "Rebuild") {
		t.Errorf("find by an index that is gone: %v", err)
	}
	if _, err := repo.Open[event](t.Context(), store, eventSchema("native"), repo.WithoutDefine()); !errors.Is(err, repo.ErrSchema) {
		t.Errorf("open, without define, with an index that is gone: %v", err)
	}
	if err := events.Rebuild(t.Context(), "by_level"); err != nil {
		t.Fatal(err)
	}
	if ids := eventIDs(t, events, q); !slices.Equal(ids, []int64{0}) {
		t.Errorf("after Rebuild: %v", ids)
	}
	other(`UPDATE events SET "_dead" = true WHERE host = 'h0' AND "_sort" = '` + sortOf(t, 0) + `'`)
	if _, err := repo.Collect(events.Find(t.Context(), q)); !errors.Is(err, repo.ErrCorrupt) || !strings.Contains(err.Error(), "_dead") {
		t.Errorf("find of a record that another program made dead: %v", err)
	}
	other(`DROP INDEX "events_X_level"`)
	other(`CREATE CUSTOM INDEX theirs ON events (level) USING 'StorageAttachedIndex' WITH OPTIONS = {'case_sensitive': 'false'}`)
	if _, err := repo.Open[event](t.Context(), store, eventSchema("native")); !errors.Is(err, repo.ErrSchema) || !strings.Contains(err.Error(), "theirs") {
		t.Errorf("open with an index of another program that finds more: %v", err)
	}
}

// A program that finds an index which another one has just made waits until it answers.
func TestNativeIndexThatIsBuilt(t *testing.T) {
	t.Parallel()
	_, store, _, other := newEvents(t, 6)
	for from := 0; from < 10_000; from += 100 {
		var batch strings.Builder
		for i := from; i < from+100; i++ {
			fmt.Fprintf(&batch, `INSERT INTO events (host, "_sort", level) VALUES ('h%d', '~%d', 'l%d'); `, i%50+10, i, i)
		}
		other("BEGIN UNLOGGED BATCH " + batch.String() + "APPLY BATCH")
	}
	for range 5 {
		other(`DROP INDEX "events_X_level"`)
		other(`CREATE CUSTOM INDEX "events_X_level" ON events (level) USING 'StorageAttachedIndex'`)
		events, err := repo.Open[event](t.Context(), store, eventSchema("native"))
		if err != nil {
			t.Fatal(err)
		}
		if n, err := events.Count(t.Context(), repo.Where("host", "h0").Where("level", "info")); n != 1 || err != nil {
			t.Fatalf("count by an index that another program has just made: %d, %v", n, err)
		}
	}
}

// sortOf returns the clustering text of the event with an id.
func sortOf(t *testing.T, id int64) string {
	t.Helper()
	text, err := driver.AppendParts([]byte(":"), []driver.Column{{Kind: driver.Int, Desc: true}}, []driver.Value{driver.IntValue(id)})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// An early thing does not declare its color, and a late one does.
type early struct {
	ID    string         `repo:"id"`
	Extra map[string]any `repo:",extra"`
}

type late struct {
	ID    string         `repo:"id"`
	Color string         `repo:"color"`
	Extra map[string]any `repo:",extra"`
}

// An index is refused where the server would not find every record that there is: with
// a field where it lay before it was declared, or with a text that it leaves out.
func TestNativeIndexOnUnsoundRecords(t *testing.T) {
	t.Parallel()
	_, store, _, _ := newEvents(t, 0)
	schema := repo.Schema{Collection: "things", Partition: []string{"id"}}
	before, err := repo.Open[early](t.Context(), store, schema)
	if err != nil {
		t.Fatal(err)
	}
	if err := before.Insert(t.Context(), &early{ID: "1", Extra: map[string]any{"color": "red"}}); err != nil {
		t.Fatal(err)
	}
	things, err := repo.Open[late](t.Context(), store, schema)
	if err != nil {
		t.Fatal(err)
	}
	indexed := schema
	indexed.Indexes = []repo.Index{{Name: "by_color", Kind: "native", Partition: []string{"id", "color"}}}
	for _, tt := range []struct {
		color string
		kind  error
		want  string
	}{
		{"red", repo.ErrUnsupported, "write such records again"},
		{strings.Repeat("red", 1000), repo.ErrTooLarge, "3000 bytes in color"},
		{"blue", nil, ""},
	} {
		if tt.color != "red" {
			if err := things.Put(t.Context(), &late{ID: "1", Color: tt.color}); err != nil {
				t.Fatal(err)
			}
		}
		r, err := repo.Open[late](t.Context(), store, indexed, repo.WithBuild())
		if !errors.Is(err, tt.kind) || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("an index on a record that is %.9s: %v, want %v", tt.color, err, tt.kind)
		}
		if err == nil {
			if n, err := r.Count(t.Context(), repo.Where("id", "1").Where("color", tt.color)); n != 1 || err != nil {
				t.Errorf("%s things: %d, %v", tt.color, n, err)
			}
			if err := r.Put(t.Context(), &late{ID: "2", Color: strings.Repeat("x", 1100)}); !errors.Is(err, repo.ErrTooLarge) {
				t.Errorf("put of a text that the server would leave out: %v", err)
			}
			return
		}
		if err := repo.DropIndex(t.Context(), store, "things", "by_color"); err != nil {
			t.Fatal(err)
		}
		if things, err = repo.Open[late](t.Context(), store, schema); err != nil {
			t.Fatal(err)
		}
	}
}
