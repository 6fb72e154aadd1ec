package everystore

import (
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/polystore/polystore/repo"
)

// The steps of docs/howto/indexes.md: an index is added to a running service, the service is rolled back, and a unique
// rule is changed.

type article struct {
	ID       string `repo:"id"`
	Author   string `repo:"author"`
	Category string `repo:"category"`
	Slug     string `repo:"slug"`
}

var (
	byCategory = repo.Index{Name: "by_category", Partition: []string{"category"}, Sort: []string{"-slug"}}
	slugs      = repo.Index{Name: "slugs", Partition: []string{"slug"}, Unique: true}
	ownSlugs   = repo.Index{Name: "slugs_of_author", Partition: []string{"author", "slug"}, Unique: true}
)

// articles opens the collection as a version of the service does, whose schema has some indexes.
func articles(t *testing.T, store *repo.Store, indexes ...repo.Index) *repo.Repo[article] {
	t.Helper()
	schema := repo.Schema{Collection: "articles", Partition: []string{"id"}, Indexes: indexes, Fields: map[string]string{"category": "string", "slug": "string"}}
	return good(repo.Open[article](t.Context(), store, schema, repo.WithBuild()))(t)
}

// another returns the store as another program has it, where several may.
func another(store *repo.Store) *repo.Store {
	if store.Facts().OneProcess {
		return store
	}
	return repo.NewStore(store.Driver(), nil)
}

func TestIndexOfARunningService(t *testing.T) {
	run(t, func(t *testing.T, store *repo.Store) {
		t.Parallel()
		ctx := t.Context()
		one := articles(t, store, slugs)
		must(t, one.Ready(ctx, slugs.Name))
		must(t, one.Insert(ctx, &article{"1", "ann", "IT", "a"}))

		two := articles(t, another(store), slugs, byCategory)
		must(t, one.Insert(ctx, &article{"2", "bob", "IT", "b"}))
		if _, err := repo.Collect(two.Find(ctx, repo.Where("category", "IT"))); err != nil {
			if e, ok := errors.AsType[*repo.Error](err); !ok || !e.Retryable || !errors.Is(err, repo.ErrNoIndex) {
				t.Errorf("a query that nothing answers yet: %v", err)
			}
		}
		must(t, two.Ready(ctx, byCategory.Name))
		must(t, one.Insert(ctx, &article{"3", "cid", "IT", "c"}))
		good(one.Patch(ctx, repo.Key{"1"}, repo.Set("category", "art")))(t)
		wantArticles(t, two, "IT", "3", "2")

		back := articles(t, another(store), slugs) // rolled back, and it writes
		must(t, back.Delete(ctx, repo.Key{"2"}))
		good(back.Patch(ctx, repo.Key{"1"}, repo.Set("category", "IT")))(t)
		wantArticles(t, articles(t, another(store), slugs, byCategory), "IT", "3", "1")
	})
}

func TestChangedUniqueRule(t *testing.T) {
	run(t, func(t *testing.T, store *repo.Store) {
		t.Parallel()
		ctx := t.Context()
		one := articles(t, store, slugs)
		must(t, one.Ready(ctx, slugs.Name))
		must(t, one.Insert(ctx, &article{"1", "ann", "IT", "a"}))

		two := articles(t, another(store), slugs, ownSlugs)
		must(t, two.Ready(ctx, ownSlugs.Name))
		if err := two.Insert(ctx, &article{"2", "bob", "IT", "a"}); !errors.Is(err, repo.ErrExists) {
			t.Errorf("the former rule: %v, want ErrExists", err)
		}
		three := articles(t, another(store), ownSlugs)
		must(t, repo.DropIndex(ctx, store, "articles", slugs.Name))
		must(t, three.Insert(ctx, &article{"2", "bob", "IT", "a"}))
		for _, r := range []*repo.Repo[article]{two, three} {
			if err := r.Insert(ctx, &article{"3", "bob", "IT", "a"}); !errors.Is(err, repo.ErrExists) {
				t.Errorf("the rule: %v, want ErrExists", err)
			}
		}
	})
}

// A draft lasts until a time.
type draft struct {
	ID    string    `repo:"id"`
	Slug  string    `repo:"slug"`
	Until time.Time `repo:",expires"`
}

func TestUniqueIndexBesideExpiredRecords(t *testing.T) {
	run(t, func(t *testing.T, store *repo.Store) {
		t.Parallel()
		ctx, schema := t.Context(), repo.Schema{Collection: "drafts", Partition: []string{"id"}}
		old := good(repo.Open[draft](ctx, store, schema))(t)
		for i, id := range []string{"put", "deleted", "maintained", "again"} {
			must(t, old.Insert(ctx, &draft{id, "s" + strconv.Itoa(i), time.Now().Add(100 * time.Millisecond)}))
		}
		time.Sleep(200 * time.Millisecond)
		schema.Indexes = []repo.Index{{Name: "slugs", Partition: []string{"slug"}, Unique: true, Kind: "table"}}
		now := good(repo.Open[draft](ctx, another(store), schema, repo.WithBuild()))(t)
		must(t, now.Ready(ctx, "slugs"))
		for _, slug := range []string{"s0", "s1", "s2"} {
			must(t, old.Insert(ctx, &draft{"new " + slug, slug, time.Time{}}))
		}
		must(t, old.Put(ctx, &draft{"put", "other", time.Time{}}))
		must(t, now.Delete(ctx, repo.Key{"deleted"}))
		must(t, now.Insert(ctx, &draft{"again", "s3", time.Time{}}))
		good(now.Maintain(ctx))(t)
		for _, slug := range []string{"s0", "s1", "s2", "s3", "other"} {
			if err := now.Insert(ctx, &draft{"second", slug, time.Time{}}); !errors.Is(err, repo.ErrExists) {
				t.Errorf("a second record with %s: %v, want ErrExists", slug, err)
			}
		}
		for _, rep := range good(now.Verify(ctx))(t) {
			if !rep.Clean() {
				t.Errorf("%+v", rep)
			}
		}
	})
}

// wantArticles sees which articles of a category an index finds, and in which order.
func wantArticles(t *testing.T, r *repo.Repo[article], category string, ids ...string) {
	t.Helper()
	list := good(repo.Collect(r.Find(t.Context(), repo.Where("category", category).Order("-slug"))))(t)
	if len(list) != len(ids) {
		t.Errorf("%d of %s, want %q: %v", len(list), category, ids, list)
		return
	}
	for i, id := range ids {
		if list[i].ID != id {
			t.Errorf("%s has %q at %d, want %q", category, list[i].ID, i, id)
		}
	}
}
