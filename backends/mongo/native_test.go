package mongo_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	mongodriver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/polystore/polystore/backends/mongo"
	"github.com/polystore/polystore/internal/testserver"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// An article has a native index of each form.
type article struct {
	Author  string    `repo:"author"`
	ID      string    `repo:"id"`
	Topic   string    `repo:"topic"`
	Tags    []string  `repo:"tags"`
	Slug    *string   `repo:"slug"`
	Rank    int64     `repo:"rank"`
	Created time.Time `repo:"created"`
}

func articleSchema() repo.Schema {
	return repo.Schema{Collection: "articles", Partition: []string{"author"}, Sort: []string{"id"}, Indexes: []repo.Index{
		{Name: "by_topic", Partition: []string{"topic"}, Sort: []string{"-created", "rank"}},
		{Name: "by_tag", Partition: []string{"tags[]"}, Sort: []string{"rank"}},
		{Name: "by_rank", Sort: []string{"rank"}, Buckets: 4},
		{Name: "by_slug", Partition: []string{"slug"}, Unique: true},
	}}
}

// watched opens a store on a database of its own, whose commands are recorded.
func watched(t *testing.T) (*repo.Store, *recorder, *mongodriver.Database) {
	t.Helper()
	r := &recorder{}
	client, err := mongodriver.Connect(options.Client().ApplyURI(testserver.Shared(t, testserver.Mongo).URL).
		SetMonitor(&event.CommandMonitor{Started: r.started}))
	if err != nil {
		t.Fatal(err)
	}
	name := "test" + driver.NewToken().String()
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		client.Database(name).Drop(ctx)
		client.Disconnect(ctx)
	})
	s, err := mongo.New(t.Context(), client, &mongo.Options{Database: name})
	if err != nil {
		t.Fatal(err)
	}
	return repo.NewStore(s, nil), r, client.Database(name)
}

func openArticles(t *testing.T, s *repo.Store, opts ...repo.OpenOption) *repo.Repo[article] {
	t.Helper()
	r, err := repo.Open[article](t.Context(), s, articleSchema(), opts...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func article1(i int) article {
	return article{Author: fmt.Sprint("a", i%7), ID: fmt.Sprint(i), Topic: "go", Tags: []string{"x", fmt.Sprint("t", i%3)},
		Rank: int64(i / 10), Created: time.Unix(int64(1000+i/40), 0).UTC()}
}

// An index that another program may have open as a table does not become a native one, nor
// the reverse.
func TestKindStays(t *testing.T) {
	t.Parallel()
	for _, kinds := range [][2]string{{"table", "native"}, {"native", "table"}} {
		s, _, db := watched(t)
		schema := articleSchema()
		schema.Indexes = schema.Indexes[:1]
		schema.Indexes[0].Kind = kinds[0]
		before, err := repo.Open[article](t.Context(), s, schema)
		if err != nil {
			t.Fatal(err)
		}
		again, err := mongo.New(t.Context(), db.Client(), &mongo.Options{Database: db.Name()})
		if err != nil {
			t.Fatal(err)
		}
		schema.Indexes = []repo.Index{schema.Indexes[0]}
		schema.Indexes[0].Kind = kinds[1]
		_, err = repo.Open[article](t.Context(), repo.NewStore(again, nil), schema, repo.WithBuild())
		if !errors.Is(err, repo.ErrSchema) || !strings.Contains(err.Error(), "by_topic is of kind "+kinds[0]) {
			t.Errorf("%s, declared %s: %v, want ErrSchema", kinds[0], kinds[1], err)
		}
		a := article1(1)
		if err := before.Insert(t.Context(), &a); err != nil {
			t.Error(err)
		}
		if n, err := before.Count(t.Context(), repo.Where("topic", "go")); n != 1 || err != nil {
			t.Errorf("the program of before finds %d articles, %v; want 1", n, err)
		}
	}
}

// Whatever page of a run is read, MongoDB reads the entries of that page alone, in the
// order of the index, and one change of a record is one command.
func TestNativePlans(t *testing.T) {
	t.Parallel()
	store, sent, db := watched(t)
	articles := openArticles(t, store)
	for i := range 300 {
		a := article1(i)
		if err := articles.Insert(t.Context(), &a); err != nil {
			t.Fatal(err)
		}
	}
	sent.take(t)
	if _, err := articles.Patch(t.Context(), repo.Key{"a0", "0"}, repo.Set("rank", 0)); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, cmd := range sent.take(t) {
		names = append(names, cmd[0].Key)
	}
	if want := []string{"find", "update"}; !slices.Equal(names, want) {
		t.Errorf("a change of indexed fields sent %v, want %v", names, want)
	}
	for name, q := range map[string]repo.Query{
		"newest of a topic":      repo.Where("topic", "go").Order("-created"),
		"oldest of a topic":      repo.Where("topic", "go").Order("created"),
		"of a tag":               repo.Where("tags[]", "x").Order("rank"),
		"of all":                 repo.All().Order("-rank"),
		"ranks of all":           repo.All().Range("rank", 3, 27),
		"of a topic in a second": repo.Where("topic", "go").Where("created", time.Unix(1003, 0)).Order("rank"),
	} {
		n, pages := 0, 0
		for cursor := ""; pages == 0 || cursor != ""; pages++ {
			sent.take(t)
			page, err := articles.Page(t.Context(), q.Limit(17), cursor)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			n, cursor = n+len(page.Items), page.Next
			for _, cmd := range sent.take(t) {
				inspect(t, name, explained(t, db, cmd), 18)
			}
		}
		if want := map[string]int{"ranks of all": 240, "of a topic in a second": 40}[name]; n != want && (want > 0 || n != 300) {
			t.Errorf("%s: %d records on %d pages", name, n, pages)
		}
	}
	sorted := d("find", "articles", "filter", d("topic", "go"), "sort", d("title", 1), "limit", 18)
	if stages := stagesOf(explained(t, db, sorted)); !slices.Contains(stages, "SORT") {
		t.Errorf("a query that no index orders has the stages %v: SORT would not be seen", stages)
	}
}

// explained returns what MongoDB says of a command that it ran.
func explained(t *testing.T, db *mongodriver.Database, cmd bson.D) bson.Raw {
	t.Helper()
	return do(t, db, d("explain", cmd, "verbosity", "executionStats"))
}

// inspect sees that a plan reads no more entries than it must.
func inspect(t *testing.T, name string, plan bson.Raw, limit int64) {
	t.Helper()
	stages := stagesOf(plan)
	if slices.Contains(stages, "SORT") || slices.Contains(stages, "COLLSCAN") || !slices.Contains(stages, "IXSCAN") {
		t.Errorf("%s: the stages of the plan are %v, want entries of an index in its order", name, stages)
	}
	stats := plan.Lookup("executionStats")
	for _, count := range []string{"totalKeysExamined", "totalDocsExamined"} {
		if n := stats.Document().Lookup(count).AsInt64(); n > limit+6 { // each branch looks one further
			t.Errorf("%s: %s is %d for a page of %d", name, count, n, limit)
		}
	}
}

// stagesOf returns the stages of the plan that won.
func stagesOf(plan bson.Raw) []string {
	var stages []string
	var walk func(v bson.RawValue)
	walk = func(v bson.RawValue) {
		var elements []bson.RawElement
		if doc, ok := v.DocumentOK(); ok {
			elements, _ = doc.Elements()
		} else if list, ok := v.ArrayOK(); ok {
			elements, _ = bson.Raw(list).Elements()
		}
		for _, e := range elements {
			if name, ok := e.Value().StringValueOK(); ok && e.Key() == "stage" {
				stages = append(stages, name)
			}
			walk(e.Value())
		}
	}
	walk(plan.Lookup("queryPlanner", "winningPlan"))
	return stages
}

// Documents that other programs wrote, without fields or with others, are no entries, or
// corrupt, and others are found all the same.
func TestNativeDocumentsOfOtherPrograms(t *testing.T) {
	t.Parallel()
	store, _, db := watched(t)
	articles := openArticles(t, store)
	for i := range 4 {
		a := article1(i)
		if err := articles.Insert(t.Context(), &a); err != nil {
			t.Fatal(err)
		}
	}
	update := func(id string, u bson.D) {
		do(t, db, d("update", "articles", "updates", bson.A{d("q", d("_id", id), "u", u)}))
	}
	update("a0#0#", d("$set", d("created", "yesterday")))
	update("a1#1#", d("$set", d("rank", nil)))
	update("a2#2#", d("$unset", d("topic", "")))
	ids := func(q repo.Query) string {
		var list []string
		for a, err := range articles.Find(t.Context(), q) {
			if err != nil {
				return fmt.Sprint(list, " ", errors.Is(err, repo.ErrCorrupt))
			}
			list = append(list, a.ID)
		}
		return fmt.Sprint(list)
	}
	for q, want := range map[*repo.Query]string{
		new(repo.Where("topic", "go").Order("-created")): "[3]",
		new(repo.All().Order("rank")):                    "[] true", // that record 0 is corrupt must not be overlooked
	} {
		if got := ids(*q); got != want {
			t.Errorf("%v: %s, want %s", *q, got, want)
		}
	}
	if _, err := articles.Get(t.Context(), repo.Key{"a0", "0"}); !errors.Is(err, repo.ErrCorrupt) || !strings.Contains(err.Error(), "created") {
		t.Errorf("get of a document with a text for a time: %v", err)
	}
	reports, err := articles.Verify(t.Context())
	if len(reports) != len(articleSchema().Indexes) || !errors.Is(err, repo.ErrCorrupt) || !strings.Contains(err.Error(), "created") {
		t.Errorf("verify: %d reports, %v; want one of each index, and that of the others", len(reports), err)
	}
	for _, rep := range reports {
		if rep.Records != 3 || !rep.Clean() {
			t.Errorf("verify: %+v, want that three records agree", rep)
		}
	}
}

// What other programs do to the indexes is told, with the remedy.
func TestNativeIndexesOfOtherPrograms(t *testing.T) {
	t.Parallel()
	store, _, db := watched(t)
	articles := openArticles(t, store)
	a := article1(1)
	if err := articles.Insert(t.Context(), &a); err != nil {
		t.Fatal(err)
	}
	do(t, db, d("dropIndexes", "articles", "index", "articles.by_topic"))
	q := repo.Where("topic", "go").Order("-created")
	if _, err := articles.Count(t.Context(), q); !errors.Is(err, repo.ErrSchema) || !strings.Contains(err.Error(), "Rebuild") {
		t.Errorf("count by an index that is gone: %v", err)
	}
	if _, err := repo.Collect(articles.Find(t.Context(), q)); !errors.Is(err, repo.ErrSchema) || !strings.Contains(err.Error(), "Rebuild") {
		t.Errorf("find by an index that is gone: %v", err)
	}
	if err := articles.Rebuild(t.Context(), "by_topic"); err != nil {
		t.Fatal(err)
	}
	if n, err := articles.Count(t.Context(), q); n != 1 || err != nil {
		t.Errorf("count after Rebuild: %d, %v", n, err)
	}
	do(t, db, d("createIndexes", "articles", "indexes", bson.A{d("key", d("author", 1, "rank", 1), "name", "theirs", "unique", true)}))
	b := article1(1)
	b.ID = "other"
	if err := articles.Insert(t.Context(), &b); !errors.Is(err, repo.ErrExists) || !strings.Contains(err.Error(), "theirs") {
		t.Errorf("insert against a unique index of another program: %v", err)
	}
	do(t, db, d("dropIndexes", "articles", "index", "articles.by_topic"))
	do(t, db, d("createIndexes", "articles", "indexes", bson.A{d("key", d("topic", 1), "name", "articles.by_topic")}))
	if _, err := repo.Open[article](t.Context(), store, articleSchema()); !errors.Is(err, repo.ErrSchema) || !strings.Contains(err.Error(), "by_topic") {
		t.Errorf("open with an index of the name that has other fields: %v", err)
	}
}

// A record that has expired counts for an index of MongoDB's until it is removed.
func TestUniqueIndexOverExpiredRecords(t *testing.T) {
	t.Parallel()
	store, _, _ := watched(t)
	type ticket struct {
		ID    string    `repo:"id"`
		Seat  string    `repo:"seat"`
		Until time.Time `repo:",expires"`
	}
	schema := repo.Schema{Collection: "tickets", Partition: []string{"id"}}
	tickets, err := repo.Open[ticket](t.Context(), store, schema)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"a", "b"} {
		if err := tickets.Insert(t.Context(), &ticket{id, "1", time.Now().Add(50 * time.Millisecond)}); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(100 * time.Millisecond)
	schema.Indexes = []repo.Index{{Partition: []string{"seat"}, Unique: true}}
	_, err = repo.Open[ticket](t.Context(), store, schema, repo.WithBuild())
	if !errors.Is(err, repo.ErrExists) || !strings.Contains(err.Error(), "counts until Maintain has removed it") {
		t.Fatalf("open with a unique index over expired records: %v", err)
	}
	if err := store.Maintain(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if _, err = repo.Open[ticket](t.Context(), store, schema, repo.WithBuild()); err != nil {
		t.Error(err)
	}
}

// A field that records have from before it was declared lies where MongoDB does not look.
func TestNativeIndexOnLateField(t *testing.T) {
	t.Parallel()
	store, _, _ := watched(t)
	type loose struct {
		ID    string         `repo:"id"`
		Extra map[string]any `repo:",extra"`
	}
	type strict struct {
		ID    string         `repo:"id"`
		Color string         `repo:"color"`
		Extra map[string]any `repo:",extra"`
	}
	schema := repo.Schema{Collection: "things", Partition: []string{"id"}}
	before, err := repo.Open[loose](t.Context(), store, schema)
	if err != nil {
		t.Fatal(err)
	}
	if err := before.Insert(t.Context(), &loose{ID: "1", Extra: map[string]any{"color": "red"}}); err != nil {
		t.Fatal(err)
	}
	without, err := repo.Open[strict](t.Context(), store, schema)
	if err != nil {
		t.Fatal(err)
	}
	schema.Indexes = []repo.Index{{Partition: []string{"color"}}}
	if _, err = repo.Open[strict](t.Context(), store, schema, repo.WithBuild()); !errors.Is(err, repo.ErrUnsupported) || !strings.Contains(err.Error(), "write such records again") {
		t.Errorf("an index on a field of before: %v", err)
	}
	thing, err := without.Get(t.Context(), repo.Key{"1"})
	if err != nil {
		t.Fatal(err)
	}
	if thing.Color != "red" {
		t.Fatalf("the thing is %+v", thing)
	}
	if err := repo.DropIndex(t.Context(), store, "things", "by_color"); err != nil {
		t.Fatal(err)
	}
	again, err := repo.Open[strict](t.Context(), store, repo.Schema{Collection: "things", Partition: []string{"id"}})
	if err == nil {
		err = again.Put(t.Context(), &thing)
	}
	if err != nil {
		t.Fatal(err)
	}
	indexed, err := repo.Open[strict](t.Context(), store, schema, repo.WithBuild())
	if err != nil {
		t.Fatal(err)
	}
	if n, err := indexed.Count(t.Context(), repo.Where("color", "red")); n != 1 || err != nil {
		t.Errorf("red things: %d, %v", n, err)
	}
}
