package repo_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// An outcome that was made up is the caller's mistake and no damage of the store.
func TestForgedOutcome(t *testing.T) {
	posts := openBlog(t)
	for _, key := range []string{`"partition":"x","sort":"y"`, `"partition":"","sort":""`, `"partition":"a#","sort":"b#c"`} {
		var o repo.Outcome
		if err := o.UnmarshalText([]byte(`{` + key + `,"token":"00000000000000000000000000000001"}`)); err != nil {
			t.Fatal(err)
		}
		if v, err := posts.Resolve(t.Context(), &o); v != repo.Unknown || !errors.Is(err, repo.ErrInvalid) || errors.Is(err, repo.ErrCorrupt) {
			t.Errorf("%s: %s, %v, want ErrInvalid", key, v, err)
		}
	}
}

// An end of a range that is empty is not one that is open.
func TestEmptyEndOfRange(t *testing.T) {
	type blob struct {
		Dir  string `repo:"dir"`
		Name []byte `repo:"name"`
	}
	blobs, err := repo.Open[blob](t.Context(), newStore(t, nil), repo.Schema{Collection: "blobs", Partition: []string{"dir"}, Sort: []string{"name"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := blobs.Insert(t.Context(), &blob{"d", []byte("n")}); err != nil {
		t.Fatal(err)
	}
	var none *[]byte
	for _, q := range []repo.Query{
		repo.Where("dir", "d").Range("name", nil, []byte{}),
		repo.Where("dir", "d").Range("name", none, nil),
	} {
		if list, err := repo.Collect(blobs.Find(t.Context(), q)); len(list) != 0 || !errors.Is(err, repo.ErrInvalid) {
			t.Errorf("%s: %d records, %v, want ErrInvalid", q, len(list), err)
		}
	}
	if n, err := blobs.Count(t.Context(), repo.Where("dir", "d").Range("name", nil, nil)); n != 1 || err != nil {
		t.Errorf("open at both ends: %d, %v", n, err)
	}
}

// A scan in order holds as many records as its limit says, however many there are.
func TestScanHoldsItsLimit(t *testing.T) {
	type number struct {
		N int64 `repo:"n"`
		M int64 `repo:"m"`
	}
	numbers, err := repo.Open[number](t.Context(), newStore(t, nil), repo.Schema{Collection: "numbers", Partition: []string{"n"}})
	if err != nil {
		t.Fatal(err)
	}
	const count, limit = 100_200, 60_000
	if _, err := numbers.InsertAll(t.Context(), func(yield func(number, error) bool) {
		for n := int64(0); n < count && yield(number{n, n * 7919 % count}, nil); n++ {
		}
	}); err != nil {
		t.Fatal(err)
	}
	list, err := repo.Collect(numbers.Scan(t.Context(), repo.All().Order("m").Limit(limit)))
	if err != nil || len(list) != limit || list[limit-1].M != limit-1 {
		t.Errorf("%d records, %v; want %d", len(list), err, limit)
	}
	if _, err := repo.Collect(numbers.Scan(t.Context(), repo.All().Order("m"))); !errors.Is(err, repo.ErrTooLarge) {
		t.Errorf("without a limit: %v, want ErrTooLarge", err)
	}
}

// A program that may not change the store writes no record that expires where the
// others know of no expiry: they would go on to find it.
func TestNoExpiryWithoutDefine(t *testing.T) {
	store := newStore(t, nil)
	posts, err := repo.Open[post](t.Context(), store, blogSchema())
	if err != nil {
		t.Fatal(err)
	}
	schema, err := repo.SchemaOf(t.Context(), store, "posts")
	if err != nil {
		t.Fatal(err)
	}
	maps, err := repo.Open[map[string]any](t.Context(), store, schema, repo.WithoutDefine())
	if err != nil {
		t.Fatal(err)
	}
	past := time.Now().Add(-time.Hour)
	record := map[string]any{"author": "a", "id": "b", "title": "", "category": "IT", "created": past, "views": 0, "_expires": past}
	if err := maps.Put(t.Context(), &record); !errors.Is(err, repo.ErrInvalid) {
		t.Errorf("Put = %v, want ErrInvalid", err)
	}
	delete(record, "_expires")
	if err := maps.Put(t.Context(), &record); err != nil {
		t.Fatal(err)
	}
	_, err = maps.Update(t.Context(), repo.Key{"a", "b"}, func(m *map[string]any) error { (*m)["_expires"] = past; return nil })
	if !errors.Is(err, repo.ErrInvalid) {
		t.Errorf("Update = %v, want ErrInvalid", err)
	}
	if _, err := maps.Patch(t.Context(), repo.Key{"a", "b"}, repo.ExpireAt(past)); !errors.Is(err, repo.ErrInvalid) {
		t.Errorf("Patch = %v, want ErrInvalid", err)
	}
	if n, err := posts.Count(t.Context(), repo.Where("category", "IT")); n != 1 || err != nil {
		t.Errorf("%d posts, %v; want the one that was put", n, err)
	}
}

// What a damaged store says is ErrCorrupt, at once and with the remedy.
func TestDamagedClaim(t *testing.T) {
	store, slug, schema := newStore(t, nil), "slug", blogSchema()
	schema.Indexes[3].Covers = []string{"title"} // so that a new title concerns the claim
	posts, err := repo.Open[post](t.Context(), store, schema)
	if err != nil {
		t.Fatal(err)
	}
	p := post{Author: "a", ID: "b", Slug: &slug, Created: time.Unix(5, 0)}
	if err := posts.Insert(t.Context(), &p); err != nil {
		t.Fatal(err)
	}
	claims := &driver.Table{Name: "posts.by_slug", Class: driver.Claims, Partition: []driver.Column{{Name: "slug", Kind: driver.String}}}
	if err := store.Driver().Attach(t.Context(), []*driver.Table{claims}); err != nil {
		t.Fatal(err)
	}
	op := driver.Op{Do: driver.Delete, Table: claims, Row: driver.Row{Key: driver.Key{Partition: "slug#"}}}
	if _, err := store.Driver().Commit(t.Context(), driver.NewToken(), []driver.Op{op}); err != nil {
		t.Fatal(err)
	}
	p.Title = "another"
	if err := posts.Put(t.Context(), &p); !errors.Is(err, repo.ErrCorrupt) || !strings.Contains(err.Error(), "Rebuild") {
		t.Errorf("Put = %v, want ErrCorrupt and the remedy", err)
	}
	if err := posts.Rebuild(t.Context(), "by_slug"); err != nil {
		t.Error(err)
	}
	if err := posts.Put(t.Context(), &p); err != nil {
		t.Errorf("Put after Rebuild = %v", err)
	}
	checkClean(t, posts)
}

func TestDamagedCatalog(t *testing.T) {
	for _, entry := range []string{"", "{", `{"layout":1}`,
		`{"layout":1,"collection":"posts","partition":[{"name":"author","kind":"string"}],"sort":[{"name":"id","kind":"string"}]}`,
		`{"layout":1,"collection":"others","partition":[{"name":"author","kind":"string"}],"sort":[{"name":"id","kind":"string"}],"fields":{}}`,
	} {
		store := repo.NewStore(memory.New(nil), nil)
		catalog := &driver.Table{Name: "_catalog", Partition: []driver.Column{{Name: "collection", Kind: driver.String}},
			Fields: []driver.Column{{Name: "entry", Kind: driver.String}}}
		if err := store.Driver().Define(t.Context(), []*driver.Table{catalog}); err != nil {
			t.Fatal(err)
		}
		row := driver.Row{Key: driver.Key{Partition: "posts#"}, Fields: []driver.Value{driver.StringValue(entry)}}
		if _, err := store.Driver().Commit(t.Context(), driver.NewToken(), []driver.Op{{Do: driver.Put, Table: catalog, Row: row}}); err != nil {
			t.Fatal(err)
		}
		_, err := repo.Open[post](t.Context(), store, blogSchema())
		if !errors.Is(err, repo.ErrCorrupt) || !strings.Contains(fmt.Sprint(err), "catalog entry of posts") {
			t.Errorf("entry %q: %v, want ErrCorrupt", entry, err)
		}
	}
}

// An error does not grow with what a caller sends.
func TestLongTextsInErrors(t *testing.T) {
	posts, long := openBlog(t), strings.Repeat("long", 1<<20)
	for _, err := range []error{
		second(posts.Get(t.Context(), repo.Key{long, "x"})),
		second(posts.Get(t.Context(), repo.Key{long})),
		posts.Insert(t.Context(), &post{Author: "u", ID: long}),
		posts.Insert(t.Context(), &post{Author: "u", ID: "x", Category: long}),
		second(repo.Collect(posts.Find(t.Context(), repo.Where("author", "u").Range("title", long, nil).Order("id")))),
	} {
		if err == nil || len(err.Error()) > 4<<10 {
			t.Errorf("an error of %d bytes, want a short one", len(fmt.Sprint(err)))
		}
	}
}
