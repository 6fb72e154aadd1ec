package api

import (
	"context"
	"fmt"
	"time"

	"github.com/polystore/polystore/conformance/internal/rule"
	"github.com/polystore/polystore/repo"
)

// openBlog inserts the three posts of user:1000.
func openBlog(ctx context.Context, e *env) *repo.Repo[post] {
	for _, p := range []struct {
		id, category, title string
		at                  int64
	}{
		{"P0001", "IT", "NoSQL Modeling", 1521080087}, {"P0002", "Daily", "Post to watch Black Panther", 1521080201}, {"P0003", "IT", "Spring, Redis and Jedis", 1521080482},
	} {
		insertAll(ctx, e, e.posts(ctx), post{Author: e.name("user:1000"), ID: p.id, Category: e.name(p.category), Title: p.title, Created: time.Unix(p.at, 0).UTC()})
	}
	return e.posts(ctx)
}

func categoriesOfUser(ctx context.Context, e *env) {
	for _, c := range [][2]string{{"user:1000", "IT"}, {"user:1000", "Life"}, {"user:10001", "Cars"}, {"user:1000", "Daily"}, {"user:100", "IT"}} {
		insertAll(ctx, e, e.items(ctx), item{Shelf: e.name(c[0]), ID: c[1], Text: "category " + c[1]})
	}
	name := func(it item) string { return it.ID + ", " + it.Text }
	q := repo.Where("shelf", e.name("user:1000"))
	rule.Equal(e, "the categories", find(ctx, e, e.items(ctx), q, name), []string{"Daily, category Daily", "IT, category IT", "Life, category Life"})
	e.OK("delete", e.items(ctx).Delete(ctx, repo.Key{e.name("user:1000"), "IT"}))
	rule.Equal(e, "the categories that are left", find(ctx, e, e.items(ctx), q, name), []string{"Daily, category Daily", "Life, category Life"})
}

func blogByCategory(ctx context.Context, e *env) {
	openBlog(ctx, e)
	rule.Equal(e, "the posts in IT", e.ids(ctx, repo.Where("category", e.name("IT")).Order("created")), []string{"P0001", "P0003"})
	rule.Equal(e, "the newest first", e.ids(ctx, repo.Where("category", e.name("IT")).Order("-created")), []string{"P0003", "P0001"})
	rule.Equal(e, "those of IT before the second", e.ids(ctx, repo.Where("category", e.name("IT")).Range("created", nil, time.Unix(1521080201, 0))), []string{"P0001"})
	rule.Equal(e, "the posts in Daily", e.ids(ctx, repo.Where("category", e.name("Daily"))), []string{"P0002"})
}

func blogBetween(ctx context.Context, e *env) {
	openBlog(ctx, e)
	between := repo.Where("author", e.name("user:1000")).Range("created", time.Unix(1521080000, 0), time.Unix(1521080400, 0))
	rule.Equal(e, "the posts between the dates", e.ids(ctx, between.Order("created")), []string{"P0001", "P0002"})
	n, err := e.posts(ctx).Count(ctx, between)
	e.That(err == nil && n == 2, "a count of 2", "%d, %v", n, err)
}

func blogNewest(ctx context.Context, e *env) {
	posts := openBlog(ctx, e)
	var got []string
	for _, p := range collect(e, "find", posts.Find(ctx, repo.Where("author", e.name("user:1000")).Order("-created"))) {
		got = append(got, p.ID+" "+p.Category+" "+p.Title)
	}
	rule.Equal(e, "the posts newest first", got, []string{"P0003 " + e.name("IT") + " Spring, Redis and Jedis", "P0002 " + e.name("Daily") + " Post to watch Black Panther", "P0001 " + e.name("IT") + " NoSQL Modeling"})
	rule.Equal(e, "the posts in the order of their ids", e.ids(ctx, repo.Where("author", e.name("user:1000"))), []string{"P0001", "P0002", "P0003"})
}

func attachments(ctx context.Context, e *env) {
	posts, messages := openBlog(ctx, e), e.messages(ctx)
	key := repo.Key{e.name("user:1000"), "P0001"}
	_, err := posts.Update(ctx, key, func(p *post) error {
		p.Tags = []string{e.name("F0001.png"), e.name("F0002.png")}
		p.Views++
		return nil
	})
	e.OK("update", err)
	got, err := posts.Get(ctx, key)
	e.OK("get", err)
	rule.Equal(e, "the attachments", got.Tags, []string{e.name("F0001.png"), e.name("F0002.png")})
	for i, by := range []string{"Jack", "Paul", "Tom"} {
		insertAll(ctx, e, messages, message{Host: e.name("user:1000:P0001"), Time: e.when(i), ID: int64(i), Level: "comment", Text: by})
	}
	rule.Equal(e, "the comments newest first", find(ctx, e, messages, repo.Where("host", e.name("user:1000:P0001")), textOfMessage), []string{"Tom", "Paul", "Jack"})
	clean(ctx, e, posts)
}

func timeline(ctx context.Context, e *env) {
	posts := e.posts(ctx)
	for i := range 50 {
		insertAll(ctx, e, posts, e.post(fmt.Sprintf("P%04d", i), "timeline", i))
	}
	q := repo.Where("category", e.name("timeline")).Order("-created").Limit(20)
	var got []string
	for cursor, n := "", 0; n < 10; n++ {
		page, err := posts.Page(ctx, q, cursor)
		e.OK("page", err)
		for _, p := range page.Items {
			got = append(got, p.ID)
		}
		insertAll(ctx, e, posts, e.post(fmt.Sprint("new", n), "timeline", 100+n))
		e.OK("delete", posts.Delete(ctx, e.postKey(rule.At(e, "the posts shown", got, len(got)-1))))
		if cursor = page.Next; cursor == "" {
			break
		}
	}
	var want []string
	for i := range 50 {
		want = append(want, fmt.Sprintf("P%04d", 49-i))
	}
	rule.Equal(e, "the posts of three pages", got, want)
}
