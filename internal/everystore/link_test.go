package everystore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/link"
)

type tagging struct {
	User string `repo:"user"`
	Tag  string `repo:"tag"`
	At   int64  `repo:"at"`
}

var taggings = link.Schema{Collection: "taggings", From: "user", To: "tag", ToOrder: []string{"-at"},
	Indexes: []repo.Index{{Name: "by_user", Partition: []string{"tag"}, Sort: []string{"user"}}}}

func openTaggings(t *testing.T, store *repo.Store) *link.Links[tagging] {
	t.Helper()
	links, err := link.Open[tagging](t.Context(), store, taggings)
	if err != nil {
		t.Fatal(err)
	}
	return links
}

func addTaggings(t *testing.T, links *link.Links[tagging], list ...tagging) {
	t.Helper()
	for _, one := range list {
		if err := links.Add(t.Context(), &one); err != nil {
			t.Fatal(err)
		}
	}
}

// taggingsOf returns what pages of three links have, there and back.
func taggingsOf(t *testing.T, links *link.Links[tagging], q repo.Query) (texts []string) {
	t.Helper()
	var page repo.Page[tagging]
	read := func(cursor string) (texts []string) {
		var err error
		if page, err = links.Page(t.Context(), q.Limit(3), cursor); err != nil {
			t.Fatal(err)
		}
		for _, one := range page.Items {
			texts = append(texts, one.User+"-"+one.Tag)
		}
		return texts
	}
	texts = read("")
	last := texts
	for page.Next != "" {
		last = read(page.Next)
		texts = append(texts, last...)
	}
	back := last
	for page.Prev != "" {
		back = append(read(page.Prev), back...)
	}
	if n, err := links.Count(t.Context(), q); n != len(texts) || err != nil || !slices.Equal(back, texts) {
		t.Errorf("%s: %q, backwards %q, counted %d, %v", q, texts, back, n, err)
	}
	return texts
}

// Both ends find their links in their orders, sets are what they say, a join is one request, and the links of an end go.
func TestLink(t *testing.T) {
	run(t, func(t *testing.T, store *repo.Store) {
		links, ctx := openTaggings(t, store), t.Context()
		addTaggings(t, links, tagging{"a/b", "go", 1}, tagging{"a", "go", 3}, tagging{"a\x00", "go", 2}, tagging{"ß", "go", 5}, tagging{"", "go", 4},
			tagging{"a", "redis", 9}, tagging{"ß", "redis", 9}, tagging{"", "redis", 7}, tagging{"z", "redis", 8}, tagging{"a", "", 1}, tagging{"a", "b/go", 2})
		if err := links.Add(ctx, &tagging{"a", "go", 7}); !errors.Is(err, repo.ErrExists) {
			t.Error(err)
		}
		if err := links.Remove(ctx, "go", "a"); !errors.Is(err, repo.ErrNotFound) {
			t.Error(err)
		}
		sameTexts(t, "to go", taggingsOf(t, links, links.To("go")), "ß-go", "-go", "a-go", "a\x00-go", "a/b-go")
		sameTexts(t, "to redis", taggingsOf(t, links, links.To("redis")), "a-redis", "ß-redis", "z-redis", "-redis")
		sameTexts(t, "from a", taggingsOf(t, links, links.From("a")), "a-", "a-b/go", "a-go", "a-redis")
		users := links.Froms()
		sameTexts(t, "both", setOf(t, users.AllOf("go", "redis")), "", "a", "ß")
		sameTexts(t, "any", setOf(t, users.AnyOf("go", "redis")), "", "a", "a\x00", "a/b", "z", "ß")
		sameTexts(t, "one alone", setOf(t, users.AllOf("go").NoneOf("redis", "b/go")), "a\x00", "a/b")
		sameTexts(t, "common tags", setOf(t, links.Tos().AllOf("a", "ß")), "go", "redis")
		if _, err := links.Update(ctx, "a", "go", func(one *tagging) error { one.At = 0; return nil }); err != nil {
			t.Error(err)
		}
		if n, err := links.RemoveAll(ctx, links.From("ß")); n != 2 || err != nil {
			t.Errorf("removed %d, %v", n, err)
		}
		sameTexts(t, "to go later", taggingsOf(t, links, links.To("go")), "-go", "a\x00-go", "a/b-go", "a-go")
	})
}

func sameTexts(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

// setOf returns the members of a set by pages of two.
func setOf(t *testing.T, s link.Set) (texts []string) {
	t.Helper()
	for next, n := "", 0; n == 0 || next != ""; n++ {
		page, err := s.Limit(2).Page(t.Context(), next)
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range page.Items {
			texts = append(texts, key[0].(string))
		}
		next = page.Next
	}
	return texts
}

// What programs that add and remove the same links at the same time leave is there for both ends or for neither, and as
// many links as were added and not removed.
func TestLinkRaces(t *testing.T) {
	run(t, func(t *testing.T, store *repo.Store) {
		links, ctx := openTaggings(t, store), t.Context()
		var left atomic.Int64
		var all sync.WaitGroup
		for worker := range 4 {
			all.Go(func() {
				for i := range 40 {
					user, tag := fmt.Sprint(i*7%3), fmt.Sprint(i%2)
					var err error
					if (i+worker)%2 == 0 {
						if err = settled(t, links, links.Add(ctx, &tagging{user, tag, int64(worker)})); err == nil {
							left.Add(1)
						}
					} else if err = settled(t, links, links.Remove(ctx, user, tag)); err == nil {
						left.Add(-1)
					}
					if err != nil && !errors.Is(err, repo.ErrExists) && !errors.Is(err, repo.ErrNotFound) && !errors.Is(err, repo.ErrContention) {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		var from, to []string
		for i := range 3 {
			from = append(from, taggingsOf(t, links, links.From(fmt.Sprint(i)))...)
			to = append(to, taggingsOf(t, links, links.To(fmt.Sprint(i)))...)
		}
		slices.Sort(from)
		slices.Sort(to)
		if !slices.Equal(from, to) || len(from) != int(left.Load()) {
			t.Errorf("from the users %q, to the tags %q; %d were added and not removed", from, to, left.Load())
		}
	})
}

// settled returns the error of a write, nil or ErrContention if its outcome was unknown and is now known.
func settled(t *testing.T, links *link.Links[tagging], err error) error {
	t.Helper()
	e, ok := errors.AsType[*repo.Error](err)
	if !ok || !errors.Is(err, repo.ErrUnknownOutcome) {
		return err
	}
	switch verdict, failed := links.Repo().Resolve(t.Context(), e.Outcome); verdict {
	case repo.Committed:
		return nil
	case repo.NotCommitted:
		return repo.ErrContention
	default:
		return errors.Join(err, failed)
	}
}

// A level of a join is one GetMany of the different keys, whatever the number of records.
func TestLinkJoin(t *testing.T) {
	run(t, func(t *testing.T, store *repo.Store) {
		r, err := repo.Open[tagging](t.Context(), store, repo.Schema{Collection: "users", Partition: []string{"user"}})
		if err != nil {
			t.Fatal(err)
		}
		var page []tagging
		for i := range 60 {
			user := tagging{User: fmt.Sprint(i), Tag: fmt.Sprint(i + 1)}
			if err := r.Insert(t.Context(), &user); err != nil {
				t.Fatal(err)
			}
			page = append(page, user, user)
		}
		asked := &asked{of: r}
		lists, err := link.Join(t.Context(), page, func(u tagging) []repo.Key { return []repo.Key{{u.Tag}, {u.User}} }, asked)
		if err != nil || asked.calls != 1 || asked.keys != 61 {
			t.Fatalf("%d calls for %d keys, %v", asked.calls, asked.keys, err)
		}
		for i, list := range lists {
			if list[1] == nil || list[1].User != page[i].User || (list[0] == nil) != (page[i].Tag == "60") || list[0] != nil && list[0].User != page[i].Tag {
				t.Errorf("record %d, %v: got %v", i, page[i], list)
			}
		}
	})
}

// asked counts what a repository is asked for.
type asked struct {
	of          *repo.Repo[tagging]
	calls, keys int
}

func (a *asked) GetMany(ctx context.Context, keys []repo.Key) ([]tagging, []bool, error) {
	a.calls, a.keys = a.calls+1, a.keys+len(keys)
	return a.of.GetMany(ctx, keys)
}
