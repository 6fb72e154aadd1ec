package repo_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// What the store remembers opens the collection for programs that know no struct.
func TestSchemaOf(t *testing.T) {
	store := newStore(t, nil)
	posts, err := repo.Open[post](t.Context(), store, blogSchema())
	if err != nil {
		t.Fatal(err)
	}
	fillBlog(t, posts)
	got, err := repo.SchemaOf(t.Context(), store, "posts")
	if err != nil {
		t.Fatal(err)
	}
	want := blogSchema()
	for i, name := range []string{"by_author_created_desc", "by_category_created_desc", "by_tags_created_desc", "by_slug", "by_created"} {
		want.Indexes[i].Name = name
	}
	want.Fields = map[string]string{"author": "string", "id": "string", "category": "string", "title": "string",
		"slug": "string", "tags": "list", "views": "int", "created": "time"}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("SchemaOf (-want +got):\n%s", diff)
	}
	maps, err := repo.Open[map[string]any](t.Context(), store, got, repo.WithoutDefine())
	if err != nil {
		t.Fatal(err)
	}
	list, err := repo.Collect(maps.Find(t.Context(), repo.Where("tags[]", "redis").Order("-created")))
	if err != nil || len(list) != 1 || list[0]["title"] != "one" {
		t.Errorf("found %v, %v; want the post with that tag", list, err)
	}
	reports, err := maps.Verify(t.Context())
	for _, r := range reports {
		if !r.Clean() {
			t.Errorf("verify: %+v", r)
		}
	}
	if err != nil || len(reports) != 5 {
		t.Errorf("%d reports, %v; want 5", len(reports), err)
	}
}

// It opens also a collection with an index over the elements of a list that are no texts.
func TestSchemaOfListsOfNumbers(t *testing.T) {
	type chart struct {
		ID     string      `repo:"id"`
		Points []int64     `repo:"points"`
		Days   []time.Time `repo:"days"`
	}
	store := newStore(t, nil)
	charts, err := repo.Open[chart](t.Context(), store, repo.Schema{Collection: "charts", Partition: []string{"id"},
		Indexes: []repo.Index{{Partition: []string{"points[]"}}, {Partition: []string{"days[]"}}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := charts.Insert(t.Context(), &chart{"a", []int64{1, 2}, []time.Time{time.Unix(1, 0)}}); err != nil {
		t.Fatal(err)
	}
	schema, err := repo.SchemaOf(t.Context(), store, "charts")
	if err != nil {
		t.Fatal(err)
	}
	maps, err := repo.Open[map[string]any](t.Context(), store, schema, repo.WithoutDefine())
	if err != nil {
		t.Fatal(err)
	}
	list, err := repo.Collect(maps.Find(t.Context(), repo.Where("points[]", 2)))
	if err != nil || len(list) != 1 {
		t.Errorf("found %v, %v; want the chart with that point", list, err)
	}
	reports, err := maps.Verify(t.Context())
	for _, r := range reports {
		if !r.Clean() {
			t.Errorf("verify: %+v", r)
		}
	}
	if err != nil || len(reports) != 2 {
		t.Errorf("%d reports, %v; want 2", len(reports), err)
	}
}

func TestSchemaOfNothing(t *testing.T) {
	store := newStore(t, nil)
	for range 2 {
		if _, err := repo.SchemaOf(t.Context(), store, "posts"); !errors.Is(err, repo.ErrNotFound) || errors.Is(err, repo.ErrSchema) {
			t.Errorf("SchemaOf = %v, want ErrNotFound", err)
		}
		if _, err := repo.Open[thing](t.Context(), store, thingSchema()); err != nil { // now there is a catalog
			t.Fatal(err)
		}
	}
}

func TestSizes(t *testing.T) {
	posts := openBlog(t)
	empty, err := posts.Sizes(t.Context())
	if err != nil || empty.Total() != 0 || len(empty.Indexes) != 5 {
		t.Errorf("sizes of nothing: %+v, %v", empty, err)
	}
	fillBlog(t, posts)
	got, err := posts.Sizes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	sum := got.Records
	for _, name := range []string{"by_author_created_desc", "by_category_created_desc", "by_tags_created_desc", "by_created"} {
		if got.Indexes[name] <= 0 {
			t.Errorf("index %s has %d bytes", name, got.Indexes[name])
		}
		sum += got.Indexes[name]
	}
	if got.Records <= 0 || got.Indexes["by_slug"] != 0 || got.Total() != sum {
		t.Errorf("sizes: %+v, total %d; want no slug and total %d", got, got.Total(), sum)
	}
}

// A store that only is a driver.Store knows no sizes.
func TestSizesUnsupported(t *testing.T) {
	store := repo.NewStore(struct{ driver.Store }{memory.New(nil)}, nil)
	defer store.Close()
	r, err := repo.Open[thing](t.Context(), store, thingSchema())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Sizes(t.Context()); !errors.Is(err, repo.ErrUnsupported) {
		t.Errorf("Sizes = %v, want ErrUnsupported", err)
	}
}

func TestErrNoIndex(t *testing.T) {
	posts := openBlog(t)
	for _, q := range []repo.Query{
		repo.Where("title", "x"),
		repo.Query{}.Order("title"),
		repo.Where("category", "IT").Range("created", nil, time.Unix(1, 0)).Order("title"),
	} {
		_, err := posts.Explain(q)
		if !errors.Is(err, repo.ErrInvalid) || !errors.Is(err, repo.ErrNoIndex) {
			t.Errorf("Explain: %v, want ErrInvalid and ErrNoIndex", err)
		}
	}
	_, err := posts.Explain(repo.Where("title", "x"))
	if !errors.Is(err, repo.ErrNoIndex) || err.Error() != `repo explain posts: no index answers title = ?; add {Partition: ["title"]}, or use Scan: invalid` {
		t.Errorf("Explain: %v, want ErrNoIndex", err)
	}
	if _, err = posts.Explain(repo.Where("nope", "x")); errors.Is(err, repo.ErrNoIndex) || !errors.Is(err, repo.ErrInvalid) {
		t.Errorf("Explain with a field that is not there: %v, want ErrInvalid alone", err)
	}
}

// counting counts the tables that a backend is told to know.
type counting struct {
	driver.Store
	known map[*driver.Table]bool
}

func (c *counting) Define(ctx context.Context, tables []*driver.Table) error {
	for _, t := range tables {
		c.known[t] = true
	}
	return c.Store.Define(ctx, tables)
}

// A program that opens a collection again and again gives the backend nothing more
// to remember, and one with other fields does.
func TestOpenAgainSharesTables(t *testing.T) {
	backend := &counting{memory.New(nil), map[*driver.Table]bool{}}
	store := repo.NewStore(backend, nil)
	defer store.Close()
	for range 20 {
		posts, err := repo.Open[post](t.Context(), store, blogSchema())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := repo.SchemaOf(t.Context(), store, "posts"); err != nil {
			t.Fatal(err)
		}
		p := post{Author: "a", ID: "1", Category: "IT", Created: time.Unix(1, 0)}
		if err := posts.Put(t.Context(), &p); err != nil {
			t.Fatal(err)
		}
	}
	if want := 1 + 6; len(backend.known) != want {
		t.Errorf("the backend knows %d tables, want %d: the catalog, the records and 5 indexes", len(backend.known), want)
	}
	type longer struct {
		post
		Pages int `repo:"pages"`
	}
	if _, err := repo.Open[longer](t.Context(), store, blogSchema()); err != nil {
		t.Fatal(err)
	}
	if want := 1 + 6 + 6; len(backend.known) != want {
		t.Errorf("the backend knows %d tables, want %d after another struct", len(backend.known), want)
	}
}

// The outcome of a write to one collection says nothing of another one, even if
// the keys are alike.
func TestOutcomeOfAnotherCollection(t *testing.T) {
	store := newStore(t, nil)
	things, err := repo.Open[thing](t.Context(), store, thingSchema())
	if err != nil {
		t.Fatal(err)
	}
	others := thingSchema()
	others.Collection = "others"
	other, err := repo.Open[thing](t.Context(), store, others)
	if err != nil {
		t.Fatal(err)
	}
	var o repo.Outcome
	token := driver.NewToken().String()
	if err := o.UnmarshalText([]byte(`{"collection":"things","partition":"a#","token":"` + token + `","based":true}`)); err != nil {
		t.Fatal(err)
	}
	if v, err := things.Resolve(t.Context(), &o); v != repo.NotCommitted || err != nil {
		t.Errorf("Resolve = %v, %v; want not committed", v, err)
	}
	if v, err := other.Resolve(t.Context(), &o); v != repo.Unknown || !errors.Is(err, repo.ErrInvalid) {
		t.Errorf("Resolve by another collection = %v, %v; want ErrInvalid", v, err)
	}
}

// The collections of a store are those of all its programs, and an entry that cannot be read keeps
// none of the others back.
func TestCollections(t *testing.T) {
	backend := memory.New(nil)
	store := repo.NewStore(backend, nil)
	if names, err := repo.Collections(t.Context(), store); err != nil || len(names) != 0 {
		t.Errorf("a new store has %v, %v", names, err)
	}
	for _, name := range []string{"b", "a", "c"} {
		if _, err := repo.Open[post](t.Context(), store, repo.Schema{Collection: name, Partition: []string{"author"}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := repo.DropCollection(t.Context(), store, "c"); err != nil {
		t.Fatal(err)
	}
	if names, err := repo.Collections(t.Context(), repo.NewStore(backend, nil)); err != nil || !cmp.Equal(names, []string{"a", "b"}) {
		t.Errorf("the store has %v, %v, want a and b", names, err)
	}
	catalog := &driver.Table{Name: "_catalog", Class: driver.Records,
		Partition: []driver.Column{{Name: "collection", Kind: driver.String}}, Fields: []driver.Column{{Name: "entry", Kind: driver.String}}}
	if err := backend.Define(t.Context(), []*driver.Table{catalog}); err != nil {
		t.Fatal(err)
	}
	put := driver.Op{Do: driver.Put, Table: catalog, Row: driver.Row{Key: driver.Key{Partition: "ab#"}, Fields: []driver.Value{driver.StringValue("{")}}}
	if refusal, err := backend.Commit(t.Context(), driver.NewToken(), []driver.Op{put}); err != nil || refusal != nil {
		t.Fatal(refusal, err)
	}
	if names, err := repo.Collections(t.Context(), store); !errors.Is(err, repo.ErrCorrupt) || !cmp.Equal(names, []string{"a", "b"}) {
		t.Errorf("with a broken entry %v, %v, want a, b and ErrCorrupt", names, err)
	}
}
