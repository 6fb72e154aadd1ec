package api

import (
	"context"
	"fmt"
	"slices"

	"github.com/polystore/polystore/conformance/internal/rule"
	"github.com/polystore/polystore/repo"
)

func sparse(ctx context.Context, e *env) {
	posts, key := e.posts(ctx), e.postKey("a")
	insertAll(ctx, e, posts, e.post("a", "IT", 1), e.post("b", "IT", 2).with("", e.name("t")))
	rule.Equal(e, "the posts by tag", e.ids(ctx, repo.Where("tags[]", e.name("t"))), []string{"b"})
	_, err := posts.Patch(ctx, key, repo.Set("slug", e.name("s")), repo.Set("tags", []string{e.name("t")}))
	e.OK("patch", err)
	rule.Equal(e, "the posts by tag", e.ids(ctx, repo.Where("tags[]", e.name("t")).Order("created")), []string{"a", "b"})
	rule.Equal(e, "the posts by slug", e.ids(ctx, repo.Where("slug", e.name("s"))), []string{"a"})
	_, err = posts.Update(ctx, key, func(p *post) error { p.Slug, p.Tags = nil, []string{}; return nil })
	e.OK("update", err)
	rule.Equal(e, "the posts by tag", e.ids(ctx, repo.Where("tags[]", e.name("t"))), []string{"b"})
	rule.Equal(e, "the posts by slug", e.ids(ctx, repo.Where("slug", e.name("s"))), []string{})
	_, err = repo.Collect(posts.Find(ctx, repo.Where("slug", nil)))
	e.Is("find of records without a field", err, repo.ErrInvalid)
	clean(ctx, e, posts)
}

func elements(ctx context.Context, e *env) {
	posts := e.posts(ctx)
	t := func(names ...string) []string {
		for i := range names {
			names[i] = e.name(names[i])
		}
		return names
	}
	insertAll(ctx, e, posts, e.post("a", "IT", 1).with("", t("go", "redis", "go")...), e.post("b", "IT", 2).with("", t("go", "go")...), e.post("c", "IT", 3).with("", t("", "Go")...))
	for tag, want := range map[string][]string{"go": {"b", "a"}, "redis": {"a"}, "": {"c"}, "Go": {"c"}, "GO": {}} {
		q := repo.Where("tags[]", e.name(tag)).Order("-created")
		rule.Equal(e, "the posts tagged "+rule.Brief(tag), e.ids(ctx, q), want)
		n, err := posts.Count(ctx, q)
		e.OK("count", err)
		rule.Equal(e, "their count", n, len(want))
	}
	clean(ctx, e, posts)
}

func elementsMove(ctx context.Context, e *env) {
	posts, key := e.posts(ctx), e.postKey("a")
	insertAll(ctx, e, posts, e.post("a", "IT", 1).with("", e.name("x"), e.name("y")))
	for i, step := range [][]string{{"y", "z"}, {"z", "z", "x"}, {"x"}, {}, {"y"}} {
		var tags []string
		for _, s := range step {
			tags = append(tags, e.name(s))
		}
		_, err := posts.Update(ctx, key, func(p *post) error { p.Tags = tags; return nil })
		e.OK("update", err)
		for _, tag := range []string{"x", "y", "z"} {
			want := []string{}
			if slices.Contains(step, tag) {
				want = []string{"a"}
			}
			rule.Equal(e, fmt.Sprintf("the posts tagged %s after step %d", tag, i), e.ids(ctx, repo.Where("tags[]", e.name(tag))), want)
		}
	}
	clean(ctx, e, posts)
}

func manyElements(ctx context.Context, e *env) {
	products := rule.Fresh[product](ctx, e, productSchema()) // 255 rows of a record would slow others down
	p := product{ID: e.name("a"), Name: "many"}
	for i := range 255 {
		p.Categories = append(p.Categories, e.name(fmt.Sprintf("%03d", i)))
	}
	insertAll(ctx, e, products, p)
	for _, i := range []int{0, 100, 254} {
		got := find(ctx, e, products, repo.Where("categories[]", e.name(fmt.Sprintf("%03d", i))), func(p product) string { return p.ID })
		rule.Equal(e, "the products in a category", got, []string{p.ID})
	}
	for i := range 3 {
		p.Categories = append(p.Categories, e.name(fmt.Sprint("more", i)))
	}
	p.ID = e.name("b")
	e.Is("insert of a record with 258 rows", products.Insert(ctx, &p), repo.ErrTooLarge)
	ok, err := products.Exists(ctx, repo.Key{p.ID})
	e.That(err == nil && !ok, "no record", "%v %v", ok, err)
	got := find(ctx, e, products, repo.Where("categories[]", e.name("more0")), func(p product) string { return p.ID })
	rule.Equal(e, "the products of its last category", got, []string{})
}
