package repo_test

import (
	"testing"

	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// tamper changes rows of an index behind the library's back: it removes one of
// the first record, and writes one that no record has.
func tamper(t *testing.T, store *repo.Store, table string) {
	t.Helper()
	tab := &driver.Table{Name: table, Class: driver.Rows,
		Partition: []driver.Column{{Name: "category", Kind: driver.String}},
		Sort:      []driver.Column{{Name: "created", Kind: driver.Time, Desc: true}, {Name: "author", Kind: driver.String}, {Name: "id", Kind: driver.String}}}
	if err := store.Driver().Attach(t.Context(), []*driver.Table{tab}); err != nil {
		t.Fatal(err)
	}
	for chunk, err := range store.Driver().Walk(t.Context(), tab, "") {
		if err != nil || len(chunk.Rows) == 0 {
			t.Fatalf("Walk: %d rows, %v", len(chunk.Rows), err)
		}
		key := chunk.Rows[0].Key
		stray := driver.Key{Partition: "stray#", Sort: key.Sort}
		_, err := store.Driver().Commit(t.Context(), driver.NewToken(), []driver.Op{
			{Do: driver.Delete, Table: tab, Row: driver.Row{Key: key}},
			{Do: driver.Put, Table: tab, Row: driver.Row{Key: stray}},
		})
		if err != nil {
			t.Fatal(err)
		}
		return
	}
}

func TestVerifyFindsAndRebuildMends(t *testing.T) {
	store := newStore(t, nil)
	posts, err := repo.Open[post](t.Context(), store, blogSchema())
	if err != nil {
		t.Fatal(err)
	}
	fillBlog(t, posts)
	const index = "by_category_created_desc"
	tamper(t, store, "posts."+index)
	reports, err := posts.Verify(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, rep := range reports {
		if rep.Index != index && !rep.Clean() {
			t.Errorf("index %s was not touched: %+v", rep.Index, rep)
		}
		if rep.Index == index && (rep.Missing != 1 || rep.Stale != 1 || rep.Rows != 3 || rep.Records != 3 || len(rep.Samples) != 2) {
			t.Errorf("report of %s: %+v, want one missing and one stale row", index, rep)
		}
	}
	if err := posts.Rebuild(t.Context(), index); err != nil {
		t.Fatal(err)
	}
	checkClean(t, posts)
}
