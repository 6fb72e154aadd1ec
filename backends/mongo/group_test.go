package mongo_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/polystore/polystore/repo"
)

// The ops of a group share statements, so that a large one takes as many as a small one, and what
// is in its way is told of as it is.
func TestGroupsShareStatements(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"native", "table"} {
		store, r, _ := watched(t)
		schema := articleSchema()
		for i := range schema.Indexes {
			schema.Indexes[i].Kind = kind
		}
		articles, err := repo.Open[article](t.Context(), store, schema)
		if err != nil {
			t.Fatal(err)
		}
		of := func(id int, slug string) *article {
			return &article{Author: "ann", ID: fmt.Sprintf("%03d", id), Topic: "go", Tags: []string{"a", "b"}, Slug: &slug, Rank: int64(id)}
		}
		sent := func(n int, add func(in repo.Writes[article], i int)) int {
			g := articles.Store().Group()
			in := articles.In(g)
			for i := range n {
				add(in, i)
			}
			r.take(t)
			if err := g.Commit(t.Context()); err != nil {
				t.Fatalf("%s: a group of %d: %v", kind, n, err)
			}
			return len(r.take(t))
		}
		insert := func(in repo.Writes[article], i int) { in.Insert(of(i, fmt.Sprint("s", i))) }
		replace := func(in repo.Writes[article], i int) { in.Replace(of(i, fmt.Sprint("t", i))) }
		remove := func(in repo.Writes[article], i int) { in.Delete(repo.Key{"ann", fmt.Sprintf("%03d", i)}) }
		want := []int{sent(2, insert), sent(2, replace), sent(2, remove)}
		got := []int{sent(90, func(in repo.Writes[article], i int) { insert(in, i+100) }), sent(90, func(in repo.Writes[article], i int) { replace(in, i+100) }),
			sent(90, func(in repo.Writes[article], i int) { remove(in, i+100) })}
		if !slices.Equal(got, want) {
			t.Errorf("%s: groups of 90 send %v commands to insert, replace and delete, and groups of 2 send %v", kind, got, want)
		}
		refusedInGroups(t, kind, articles, of)
	}
}

// refusedInGroups sees that the first record which cannot be written is told of.
func refusedInGroups(t *testing.T, kind string, articles *repo.Repo[article], of func(id int, slug string) *article) {
	t.Helper()
	if err := articles.Insert(t.Context(), of(500, "taken")); err != nil {
		t.Fatal(err)
	}
	for what, tt := range map[string]struct {
		at         int
		bad        *article
		key, index string
	}{
		"a value that is taken": {3, of(603, "taken"), "ann/603", "by_slug"},
		"a key that is there":   {4, of(500, "free"), "ann/500", ""},
	} {
		g := articles.Store().Group()
		in := articles.In(g)
		for i := range 8 {
			if i == tt.at {
				in.Insert(tt.bad)
			} else {
				in.Insert(of(600+i, fmt.Sprint("u", i)))
			}
		}
		err := g.Commit(t.Context())
		e, ok := errors.AsType[*repo.Error](err)
		if !ok || !errors.Is(err, repo.ErrExists) || e.Key != tt.key || e.Index != tt.index {
			t.Errorf("%s: %s: %v, want ErrExists of %s and index %q", kind, what, err, tt.key, tt.index)
		}
		if n, err := articles.Count(t.Context(), repo.Where("author", "ann")); n != 1 || err != nil {
			t.Errorf("%s: %s: %d records, %v; want the one of before", kind, what, n, err)
		}
	}
}
