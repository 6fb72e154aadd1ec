package repo_test

import (
	"context"
	"testing"

	"github.com/polystore/polystore/backends/memory"
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

// A stale store gives the rows of a table another version than the commit.
type stale struct {
	driver.Store
	table string
}

func (s *stale) Commit(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
	refusal, err := s.Store.Commit(ctx, token, ops)
	for _, op := range ops {
		if err == nil && refusal == nil && op.Do == driver.Put && op.Table.Name == s.table {
			op.If = driver.Any
			_, err = s.Store.Commit(ctx, driver.NewToken(), []driver.Op{op})
		}
	}
	return refusal, err
}

// A row that stands for its record has the record's version, or the record is read under a wrong one.
func TestVerifyComparesVersions(t *testing.T) {
	bad := &stale{Store: memory.New(nil), table: "logins.x"}
	store := repo.NewStore(bad, nil)
	defer store.Close()
	logins := must[login](t, store, repo.Schema{Collection: "logins", Partition: []string{"id"}, Indexes: []repo.Index{{Name: "x", Partition: []string{"user"}, Covers: []string{"*"}}}})
	for _, id := range []string{"1", "2"} {
		if err := logins.Insert(t.Context(), &login{id, "u", 1}); err != nil {
			t.Fatal(err)
		}
		bad.table = "" // of the first
	}
	reports, err := logins.Verify(t.Context())
	if err != nil || len(reports) != 1 || reports[0].Stale != 1 || reports[0].Missing != 0 {
		t.Errorf("%+v, %v; want one stale row", reports, err)
	}
	if err := logins.Rebuild(t.Context(), "x"); err != nil {
		t.Fatal(err)
	}
	checkClean(t, logins)
}
