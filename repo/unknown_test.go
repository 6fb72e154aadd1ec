package repo_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// A keeper is a store that keeps the tables which it was told of.
type keeper struct {
	driver.Store
	tables []*driver.Table
}

func (k *keeper) Define(ctx context.Context, tables []*driver.Table) error {
	k.tables = append(k.tables, tables...)
	return k.Store.Define(ctx, tables)
}

// Records that another program wrote without the indexes of this one, since the collection
// was made anew, have no rows. Verify tells, and Rebuild puts them: where they lie with their records,
// and in other partitions.
func TestRecordsOfProgramsWithoutIndexes(t *testing.T) {
	for _, scope := range []driver.Scope{driver.ScopePartition, driver.ScopeStore} {
		ctx, text := t.Context(), func(s string) *string { return &s }
		shared := memory.New(&memory.Options{Scope: &scope})
		plain := blogSchema()
		plain.Indexes = nil
		its := &keeper{Store: shared}
		older, err := repo.Open[post](ctx, repo.NewStore(its, nil), plain)
		if err != nil {
			t.Fatal(err)
		}
		store := repo.NewStore(shared, nil)
		if err := repo.DropCollection(ctx, store, plain.Collection); err != nil {
			t.Fatal(err)
		}
		posts, err := repo.Open[post](ctx, store, blogSchema())
		if err != nil {
			t.Fatal(err)
		}
		if err := shared.Define(ctx, its.tables); err != nil { // the store of another process would know them still
			t.Fatal(err)
		}
		for _, p := range []post{{Author: "u", ID: "1", Category: "IT", Slug: text("home"), Tags: []string{"a", "b"}}, {Author: "v", ID: "2", Category: "IT", Slug: text("home")}} {
			p.Created = time.Unix(1521080087, 0)
			if err := older.Insert(ctx, &p); err != nil {
				t.Fatal(err)
			}
		}
		missing := 0
		reports, err := posts.Verify(ctx)
		for _, r := range reports {
			missing += r.Missing
		}
		if want := 6 + 4; missing != want || err != nil { // those of two tags, and none
			t.Errorf("scope %s: Verify misses %d rows, %v, want %d", scope, missing, err, want)
		}
		err = rebuildAll(ctx, posts, reports)
		if e, ok := errors.AsType[*repo.Error](err); !ok || !errors.Is(err, repo.ErrExists) {
			t.Errorf("scope %s: Rebuild where two records have a unique value: %v, %v, want ErrExists", scope, e, err)
		}
		if err := older.Delete(ctx, repo.Key{"v", "2"}); err != nil {
			t.Fatal(err)
		}
		if err := rebuildAll(ctx, posts, reports); err != nil {
			t.Fatal(err)
		}
		checkClean(t, posts)
		for _, q := range []repo.Query{repo.Where("category", "IT").Order("created"), repo.Where("tags[]", "b").Order("created"), repo.Where("slug", "home"), repo.Where("author", "u").Order("created")} {
			if list, err := repo.Collect(posts.Find(ctx, q)); len(list) != 1 || list[0].ID != "1" || err != nil {
				t.Errorf("scope %s, after Rebuild: %v finds %v, %v", scope, q, list, err)
			}
		}
	}
}

// rebuildAll rebuilds every index and returns the first error.
func rebuildAll(ctx context.Context, posts *repo.Repo[post], reports []repo.Report) error {
	for _, r := range reports {
		if err := posts.Rebuild(ctx, r.Index); err != nil {
			return err
		}
	}
	return nil
}
