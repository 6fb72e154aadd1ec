package repo_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repotest"
)

// faulty returns a store whose calls can be made to fail.
func faulty(t *testing.T, opts *repo.Options) (*repo.Store, *repotest.Store) {
	t.Helper()
	faults, err := repotest.New(memory.New(nil), &repotest.Options{Uncertain: true})
	if err != nil {
		t.Fatal(err)
	}
	store := repo.NewStore(faults, opts)
	t.Cleanup(func() { store.Close() })
	return store, faults
}

// A rebuild that ends in the middle leaves every row that was right, so that no
// reader misses a record and no unique value is free.
func TestRebuildInterrupted(t *testing.T) {
	store, faults := faulty(t, nil)
	posts, err := repo.Open[post](t.Context(), store, blogSchema())
	if err != nil {
		t.Fatal(err)
	}
	other, err := repo.Open[post](t.Context(), store, blogSchema())
	if err != nil {
		t.Fatal(err)
	}
	fillBlog(t, posts)
	for i := range 8 {
		slug := fmt.Sprint("slug ", i)
		if err := posts.Insert(t.Context(), &post{Author: "u", ID: slug, Category: "IT", Slug: &slug}); err != nil {
			t.Fatal(err)
		}
	}
	tamper(t, store, "posts.by_category_created_desc")
	failed := 0
	for nth := range 40 {
		for _, index := range []string{"by_slug", "by_category_created_desc"} {
			if err := faults.Set(repotest.Rule{Nth: nth + 1, Fault: repotest.Unavailable}); err != nil {
				t.Fatal(err)
			}
			if posts.Rebuild(t.Context(), index) != nil {
				failed++
			}
		}
	}
	if err := faults.Set(); err != nil {
		t.Fatal(err)
	}
	if failed == 0 {
		t.Error("no rebuild was interrupted")
	}
	slug := "slug 7"
	if err := other.Insert(t.Context(), &post{Author: "u", ID: "second", Slug: &slug}); !errors.Is(err, repo.ErrExists) {
		t.Errorf("a taken slug after a rebuild: %v, want ErrExists", err)
	}
	if err := other.Insert(t.Context(), &post{Author: "u", ID: "third"}); err != nil {
		t.Errorf("a repository that was open during a rebuild: %v", err)
	}
	checkClean(t, other)
}

// Who wants a unique index on records that share a value is told which they are,
// and what to do about it.
func TestBuildUniqueOnSharedValue(t *testing.T) {
	for _, redact := range []bool{false, true} {
		store, schema := newStore(t, &repo.Options{Redact: redact}), blogSchema()
		schema.Indexes = nil
		posts, err := repo.Open[post](t.Context(), store, schema)
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{"one", "two"} {
			if err := posts.Insert(t.Context(), &post{Author: "u", ID: id, Title: "secret"}); err != nil {
				t.Fatal(err)
			}
		}
		schema.Indexes = []repo.Index{{Partition: []string{"title"}, Unique: true}}
		err = must[post](t, store, schema, repo.WithBuild()).Ready(t.Context(), "by_title")
		if !errors.Is(err, repo.ErrExists) || !strings.Contains(err.Error(), "change one of them") {
			t.Fatalf("Ready = %v, want ErrExists and the remedy", err)
		}
		for _, text := range []string{"u/one", "u/two", "secret"} {
			if strings.Contains(err.Error(), text) == redact {
				t.Errorf("redact is %v, and the error is %q", redact, err)
			}
		}
		checkRefusal(t, store.Driver(), redact)
	}
}

// checkRefusal sees that the catalog tells no program that redacts of keys and values, whoever kept them there, and
// holds none if the builder redacted.
func checkRefusal(t *testing.T, d driver.Store, builder bool) {
	t.Helper()
	for _, redact := range []bool{false, true} {
		states, err := repo.IndexStates(t.Context(), repo.NewStore(d, &repo.Options{Redact: redact}), "posts")
		if err != nil || len(states) != 1 || !strings.Contains(states[0].Refused, "change one of them") {
			t.Fatalf("%+v, %v", states, err)
		}
		for _, text := range []string{"u/one", "u/two", "secret"} {
			if strings.Contains(states[0].Refused, text) == (redact || builder) {
				t.Errorf("redact is %v of the builder and %v of the reader, and the refusal is %q", builder, redact, states[0].Refused)
			}
		}
	}
}

// A forgetting store loses the next row of a table.
type forgetting struct {
	driver.Store
	table string
}

func (s *forgetting) Commit(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
	kept := slices.DeleteFunc(slices.Clone(ops), func(op driver.Op) bool { return op.Table.Name == s.table })
	if len(kept) < len(ops) {
		s.table = ""
	}
	return s.Store.Commit(ctx, token, kept)
}

// A row that stands for its record is put again, also where the store knows the commit that wrote the record.
func TestRebuildOfWholeRecords(t *testing.T) {
	for _, uncertain := range []bool{false, true} {
		store := repo.NewStore(&forgetting{memory.New(&memory.Options{Uncertain: uncertain}), "logins.x"}, nil)
		defer store.Close()
		logins := must[login](t, store, indexed(
			repo.Index{Name: "x", Partition: []string{"user"}, Covers: []string{"*"}},
			repo.Index{Name: "y", Partition: []string{"seen"}, Covers: []string{"*"}}))
		if err := logins.Insert(t.Context(), &login{"1", "u", 1}); err != nil {
			t.Fatal(err)
		}
		if reports, err := logins.Verify(t.Context()); err != nil || reports[0].Missing+reports[1].Missing != 1 {
			t.Fatalf("%+v, %v; want one missing row", reports, err)
		}
		if err := logins.Rebuild(t.Context(), "x"); err != nil {
			t.Fatal(err)
		}
		checkClean(t, logins)
	}
}
