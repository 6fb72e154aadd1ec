package repo_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/polystore/polystore/repo"
)

// ended returns a tracer that is told how operations end, one at a time.
func ended(end func(repo.Event)) repo.Tracer {
	if end == nil {
		return repo.Tracer{}
	}
	return repo.Tracer{Begin: func(ctx context.Context, _ repo.Event) (context.Context, func(repo.Event)) { return ctx, end }}
}

func TestTracedCosts(t *testing.T) {
	var events []repo.Event
	store := newStore(t, &repo.Options{Tracer: ended(func(e repo.Event) { events = append(events, e) })})
	posts, err := repo.Open[post](t.Context(), store, blogSchema())
	if err != nil {
		t.Fatal(err)
	}
	fillBlog(t, posts)
	tests := []struct {
		op              string
		depth, requests int
		run             func() error
	}{
		{"insert", 1, 1, func() error { return posts.Insert(t.Context(), &post{Author: "x", ID: "1"}) }},
		{"get", 1, 1, func() error { return second(posts.Get(t.Context(), repo.Key{"x", "1"})) }},
		{"update", 2, 2, func() error {
			return second(posts.Update(t.Context(), repo.Key{"x", "1"}, func(*post) error { return nil }))
		}},
		{"get many", 1, 2, func() error {
			_, _, err := posts.GetMany(t.Context(), []repo.Key{{"x", "1"}, {"x", "2"}})
			return err
		}},
		{"find", 2, 4, func() error { // one range, three records
			return second(repo.Collect(posts.Find(t.Context(), repo.Where("author", "user:1000").Order("-created"))))
		}},
		{"find", 1, 4, func() error { // four buckets, covered
			return second(repo.Collect(posts.Find(t.Context(), repo.All().Order("created"))))
		}},
	}
	for _, tt := range tests {
		events = events[:0]
		if err := tt.run(); err != nil {
			t.Fatal(err)
		}
		if len(events) != 1 || events[0].Op != tt.op || events[0].Depth != tt.depth || events[0].Requests != tt.requests || events[0].Collection != "posts" || events[0].Took <= 0 {
			t.Errorf("%s: events %+v, want one with depth %d and %d requests", tt.op, events, tt.depth, tt.requests)
		}
	}
	events = events[:0]
	if _, err := posts.Get(t.Context(), repo.Key{"none", "0"}); len(events) != 1 || !errors.Is(events[0].Err, repo.ErrNotFound) || err == nil {
		t.Errorf("events of a failed Get: %+v", events)
	}
}

func TestRedact(t *testing.T) {
	store := newStore(t, &repo.Options{Redact: true})
	posts, err := repo.Open[post](t.Context(), store, blogSchema())
	if err != nil {
		t.Fatal(err)
	}
	secret := "secret"
	if err := posts.Insert(t.Context(), &post{Author: secret, ID: secret, Slug: &secret}); err != nil {
		t.Fatal(err)
	}
	group := posts.Store().Group()
	groupIn := posts.In(group)
	groupIn.Delete(repo.Key{secret})
	for name, err := range map[string]error{
		"group":        group.Commit(t.Context()),
		"taken key":    posts.Insert(t.Context(), &post{Author: secret, ID: secret}),
		"taken value":  posts.Insert(t.Context(), &post{Author: "b", ID: "b", Slug: &secret}),
		"missing":      second(posts.Get(t.Context(), repo.Key{secret, "2"})),
		"no index":     second(repo.Collect(posts.Find(t.Context(), repo.Where("title", secret)))),
		"stale":        posts.Replace(t.Context(), &post{Author: secret, ID: secret, Version: repo.Version{1}}),
		"found twice":  second(posts.One(t.Context(), repo.Where("author", secret).Where("id", "none"))),
		"wrong kind":   second(posts.Get(t.Context(), repo.Key{secret, 5})),
		"many parts":   second(posts.Get(t.Context(), repo.Key{secret, secret, secret})),
		"index, order": second(repo.Collect(posts.Find(t.Context(), repo.Where("title", secret).Range("views", 1, 2).Order("id")))),
	} {
		if err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v, want an error without the value", name, err)
		}
	}
}

func TestSignedCursor(t *testing.T) {
	open := func(key string) *repo.Repo[post] {
		store := newStore(t, &repo.Options{CursorKey: []byte(key)})
		posts, err := repo.Open[post](t.Context(), store, blogSchema())
		if err != nil {
			t.Fatal(err)
		}
		fillBlog(t, posts)
		return posts
	}
	q := repo.Where("author", "user:1000").Limit(1)
	mine, other := open("k1"), open("k2")
	page, err := mine.Page(t.Context(), q, "")
	if err != nil {
		t.Fatal(err)
	}
	if next, err := mine.Page(t.Context(), q, page.Next); err != nil || len(next.Items) != 1 {
		t.Errorf("own cursor: %v", err)
	}
	if _, err := other.Page(t.Context(), q, page.Next); !errors.Is(err, repo.ErrInvalid) {
		t.Errorf("a cursor signed with another key: %v, want ErrInvalid", err)
	}
	for i := range len(page.Next) {
		bent := []byte(page.Next)
		bent[i] ^= 1
		if _, err := mine.Page(t.Context(), q, string(bent)); !errors.Is(err, repo.ErrInvalid) {
			t.Errorf("cursor with character %d changed: %v, want ErrInvalid", i, err)
		}
	}
}

func TestExplain(t *testing.T) {
	posts := openBlog(t)
	for _, tt := range []struct {
		q    repo.Query
		want string
	}{
		{repo.Where("author", "a"), "posts: the records, read forwards; 1 deep, 1 requests; the key itself has the order"},
		{repo.Where("author", "a").Order("created"), "posts: index by_author_created_desc, read backwards; 2 deep, 1 + 1 a record requests; the index gives the keys, and the records are read by them"},
		{repo.All().Order("-created"), "posts: index by_created, read backwards; 1 deep, 4 requests; the index covers all fields wanted"},
	} {
		plan, err := posts.Explain(tt.q)
		if err != nil || plan.String() != tt.want {
			t.Errorf("Explain(%s) = %v, %v, want %s", tt.q, plan, err, tt.want)
		}
	}
}
