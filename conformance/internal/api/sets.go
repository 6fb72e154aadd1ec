package api

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/polystore/polystore/conformance/internal/rule"
	"github.com/polystore/polystore/repo"
)

// tagged inserts 40 posts, of which all are tagged "all", every second "2", and so on; one that is tagged "none" alone,
// and one without tags. It returns the posts, the newest first.
func (e *env) tagged(ctx context.Context) []post {
	var list []post
	for i := range 40 {
		tags := []string{e.name("all")}
		for _, n := range []int{2, 3, 5, 13} {
			if i%n == 0 {
				tags = append(tags, e.name(fmt.Sprint(n)))
			}
		}
		list = append(list, e.post(fmt.Sprintf("%02d", i), fmt.Sprint("cat", i%3), i/2).with("", tags...))
	}
	list = append(list, e.post("40", "cat0", 40).with("", e.name("none")), e.post("41", "cat0", 41))
	insertAll(ctx, e, e.posts(ctx), list...)
	slices.SortFunc(list, func(a, b post) int {
		return cmp.Or(b.Created.Compare(a.Created), cmp.Compare(a.ID, b.ID))
	})
	return list
}

// finds compares what a query finds with the posts that are to be found, whole, counted, and page by page.
func (e *env) finds(ctx context.Context, q repo.Query, list []post, has func(*post) bool) {
	want := []string{}
	for i := range list {
		if has(&list[i]) {
			want = append(want, list[i].ID)
		}
	}
	q = q.Order("-created")
	rule.Equal(e, "the posts of "+q.String(), e.ids(ctx, q), want)
	n, err := e.posts(ctx).Count(ctx, q)
	e.OK("count", err)
	rule.Equal(e, "the count of "+q.String(), n, len(want))
	paged := []string{}
	for cursor := ""; len(paged) <= len(list); {
		page, err := e.posts(ctx).Page(ctx, q.Limit(4), cursor)
		e.OK("page of "+q.String(), err)
		for i := range page.Items {
			paged = append(paged, page.Items[i].ID)
		}
		if cursor = page.Next; cursor == "" {
			break
		}
	}
	rule.Equal(e, "the pages of "+q.String(), paged, want)
}

// values returns the rule's own values of some names, and whether a post has one of them as a tag.
func (e *env) values(names ...string) (list []any, has func(*post) bool) {
	for _, name := range names {
		list = append(list, e.name(name))
	}
	return list, func(p *post) bool {
		return slices.ContainsFunc(p.Tags, func(tag string) bool { return slices.Contains(list, any(tag)) })
	}
}

func anyOf(ctx context.Context, e *env) {
	list := e.tagged(ctx)
	for _, names := range [][]string{{}, {"3"}, {"3", "5"}, {"5", "2", "none", "5", "nobody"}} {
		values, has := e.values(names...)
		e.finds(ctx, repo.All().AnyOf("tags[]", values...), list, has)
	}
	categories, _ := e.values("cat2", "cat0")
	e.finds(ctx, repo.All().AnyOf("category", categories...), list, func(p *post) bool { return p.Category != e.name("cat1") })
	e.finds(ctx, repo.All().AnyOf("category", categories...).Below("created", e.when(9)), list, func(p *post) bool {
		return p.Category != e.name("cat1") && p.Created.Before(e.when(9))
	})
	clean(ctx, e, e.posts(ctx))
}

func allOf(ctx context.Context, e *env) {
	list := e.tagged(ctx)
	for _, names := range [][]string{{"3"}, {"3", "5"}, {"all", "13"}, {"13", "2", "all"}, {"2", "none"}} {
		values, _ := e.values(names...)
		e.finds(ctx, repo.All().AllOf("tags[]", values...), list, func(p *post) bool {
			return !slices.ContainsFunc(values, func(v any) bool { return !slices.Contains(p.Tags, v.(string)) })
		})
	}
	clean(ctx, e, e.posts(ctx))
}

func noneOf(ctx context.Context, e *env) {
	list := e.tagged(ctx)
	for _, names := range [][]string{{}, {"2"}, {"2", "3", "nobody"}, {"all"}} {
		values, has := e.values(names...)
		e.finds(ctx, repo.Where("category", e.name("cat0")).NoneOf("tags[]", values...), list, func(p *post) bool {
			return p.Category == e.name("cat0") && !has(p)
		})
	}
	values, has := e.values("5")
	e.finds(ctx, repo.Where("tags[]", e.name("all")).NoneOf("tags[]", values...), list, func(p *post) bool {
		return slices.Contains(p.Tags, e.name("all")) && !has(p)
	})
	clean(ctx, e, e.posts(ctx))
}

func filtered(ctx context.Context, e *env) {
	list := e.tagged(ctx)
	values, has := e.values("2", "5")
	by := repo.All().AnyOf("tags[]", values...).AtLeast("created", e.when(5)).AtMost("id", "30")
	e.finds(ctx, repo.Where("category", e.name("cat0")).Filter(by, 100), list, func(p *post) bool {
		return p.Category == e.name("cat0") && has(p) && !p.Created.Before(e.when(5)) && p.ID <= "30"
	})
	few := repo.Where("tags[]", e.name("all")).Order("-created").Filter(repo.Where("tags[]", e.name("13")), 7).Limit(2)
	_, err := repo.Collect(e.posts(ctx).Find(ctx, few))
	e.Is("a filter that looks at 7 of 40 records", err, repo.ErrNoIndex)
	paged := []string{}
	for cursor, n := "", 0; n < 20; n++ {
		page, err := e.posts(ctx).Page(ctx, few, cursor)
		e.OK("page of "+few.String(), err)
		for i := range page.Items {
			paged = append(paged, page.Items[i].ID)
		}
		if cursor = page.Next; cursor == "" {
			break
		}
	}
	rule.Equal(e, "the pages of "+few.String(), paged, []string{"39", "26", "13", "00"})
}

func ranked(ctx context.Context, e *env) {
	list := e.tagged(ctx)
	_, err := e.posts(ctx).Patch(ctx, e.postKey("30"), repo.Set("tags", []string{e.name("none")}))
	e.OK("patch", err)
	for i := range list {
		if list[i].ID == "30" {
			list[i].Tags = []string{e.name("none")}
		}
	}
	for _, names := range [][]string{{}, {"3"}, {"2", "nobody", "3", "5", "2"}, {"all", "13", "none", "2"}} {
		values, has := e.values(names...)
		e.best(ctx, repo.All().AnyOf("tags[]", values...), list, values, has)
		e.best(ctx, repo.All().AnyOf("tags[]", values...).AtLeast("created", e.when(5)).NoneOf("category", e.name("cat1")), list, values, func(p *post) bool {
			return has(p) && !p.Created.Before(e.when(5)) && p.Category != e.name("cat1")
		})
	}
	clean(ctx, e, e.posts(ctx))
}

// best compares the best that a query finds with the posts that are to be found, from the first on and behind some.
func (e *env) best(ctx context.Context, q repo.Query, list []post, values []any, has func(*post) bool) {
	count := func(p *post) (n int) {
		for i, v := range values {
			if !slices.Contains(values[:i], v) && slices.Contains(p.Tags, v.(string)) {
				n++
			}
		}
		return n
	}
	want := []string{}
	for n := len(values); n > 0; n-- {
		for i := range list {
			if p := &list[i]; has(p) && count(p) == n {
				want = append(want, fmt.Sprint(p.ID, ": ", n))
			}
		}
	}
	for offset, limit := range map[int]int{0: 50, 4: 7} {
		got := []string{}
		found, err := repo.Best(ctx, e.posts(ctx), q.Order("-created").Offset(offset).Limit(limit))
		e.OK("best of "+q.String(), err)
		for _, one := range found {
			got = append(got, fmt.Sprint(one.Record.ID, ": ", one.Count))
		}
		some := want[min(offset, len(want)):]
		rule.Equal(e, fmt.Sprintf("the best %d behind %d of %s", limit, offset, q), got, append([]string{}, some[:min(limit, len(some))]...))
	}
}

func passedOver(ctx context.Context, e *env) {
	list := e.tagged(ctx)
	var ids []string
	for i := range list {
		if slices.Contains(list[i].Tags, e.name("all")) {
			ids = append(ids, list[i].ID)
		}
	}
	q := repo.Where("tags[]", e.name("all")).Order("-created")
	for _, n := range []int{0, 1, 39, 40, 41} {
		rest := ids[min(n, len(ids)):]
		rule.Equal(e, fmt.Sprintf("the posts behind %d", n), e.ids(ctx, q.Offset(n)), append([]string{}, rest...))
		rule.Equal(e, fmt.Sprintf("the three posts behind %d", n), e.ids(ctx, q.Offset(n).Limit(3)), append([]string{}, rest[:min(3, len(rest))]...))
		count, err := e.posts(ctx).Count(ctx, q.Offset(n))
		e.OK("count", err)
		rule.Equal(e, fmt.Sprintf("the count behind %d", n), count, len(rest))
	}
	first, err := e.posts(ctx).First(ctx, q)
	e.OK("first", err)
	rule.Equal(e, "the first post", first.ID, ids[0])
	_, err = e.posts(ctx).First(ctx, repo.Where("tags[]", e.name("nobody")))
	e.Is("the first of no posts", err, repo.ErrNotFound)
}

func queriesAtOnce(ctx context.Context, e *env) {
	list := e.tagged(ctx)
	var queries []repo.Query
	var want [][]string
	for _, category := range []string{"cat2", "nobody", "cat0", "cat1", "cat2"} {
		queries = append(queries, repo.Where("category", e.name(category)).Order("-created").Limit(9))
		ids := []string{}
		for i := range list {
			if list[i].Category == e.name(category) && len(ids) < 9 {
				ids = append(ids, list[i].ID)
			}
		}
		want = append(want, ids)
	}
	lists, err := e.posts(ctx).FindMany(ctx, queries)
	e.OK("find many", err)
	got := [][]string{}
	for _, posts := range lists {
		ids := []string{}
		for i := range posts {
			ids = append(ids, posts[i].ID)
		}
		got = append(got, ids)
	}
	rule.Equal(e, "the posts of five queries", got, want)
}

// groups compares the groups of what a query finds, by one field, with those of the posts, in the order of their first
// ones. The posts have the group's value by name, and the views that are summed.
func (e *env) groups(ctx context.Context, q repo.Query, by string, list []post, value func(*post) string) {
	want, values, views := []string{}, []string{}, map[string]int64{}
	count, first := map[string]int{}, []string{}
	for i := range list {
		v := value(&list[i])
		if v == "" {
			continue
		}
		if count[v]++; count[v] == 1 {
			values, first = append(values, v), append(first, list[i].ID)
		}
		views[v] += list[i].Views
	}
	for _, v := range values {
		want = append(want, fmt.Sprint(v, ": ", count[v], " with ", views[v]))
	}
	g := e.posts(ctx).GroupBy(by)
	got := []string{}
	found, err := repo.Collect(g.Sum("views").Find(ctx, q))
	e.OK("groups by "+by, err)
	for _, one := range found {
		got = append(got, fmt.Sprint(one.Key, ": ", one.Count, " with ", one.Sums[0]))
	}
	rule.Equal(e, "the groups by "+by+" of "+q.String(), got, want)
	counted, err := repo.Collect(g.Find(ctx, q))
	e.OK("counts by "+by, err)
	for i, one := range counted {
		rule.Equal(e, "a count by "+by, one.Count, found[i].Count)
	}
	n, err := g.Count(ctx, q)
	e.OK("number of groups", err)
	rule.Equal(e, "the number of groups by "+by, n, len(want))
	ids := []string{}
	for p, err := range g.First(ctx, q) {
		e.OK("first of groups", err)
		ids = append(ids, p.ID)
	}
	rule.Equal(e, "the first of the groups by "+by, ids, first)
}

func groupsOf(ctx context.Context, e *env) {
	posts := e.posts(ctx)
	list := e.tagged(ctx)
	for i := range list {
		if i%4 == 0 {
			list[i].Views = int64(i)
			_, err := posts.Patch(ctx, e.postKey(list[i].ID), repo.Set("views", i))
			e.OK("patch", err)
		}
	}
	day := func(p *post) string { return fmt.Sprint(repo.Key{p.Created}) }
	within := func(has func(*post) bool) func(*post) string {
		return func(p *post) string {
			if has(p) {
				return day(p)
			}
			return ""
		}
	}
	cat0 := func(p *post) bool { return p.Category == e.name("cat0") }
	e.groups(ctx, repo.Where("author", e.name("author")).Order("-created"), "created", list, day)
	e.groups(ctx, repo.Where("category", e.name("cat0")).Order("-created"), "created", list, within(cat0))
	e.groups(ctx, repo.Where("category", e.name("cat0")).Order("-created"), "category", list, func(p *post) string {
		if cat0(p) {
			return p.Category
		}
		return ""
	})
	tags, has := e.values("2", "5")
	e.groups(ctx, repo.All().AnyOf("tags[]", tags...).Order("-created"), "created", list, within(has))
	slices.SortStableFunc(list, func(a, b post) int { return a.Created.Compare(b.Created) }) // and by the key
	for _, created := range [][2]int{{0, 100}, {3, 9}} {
		from, to := e.when(created[0]), e.when(created[1])
		e.groups(ctx, repo.All().Range("created", from, to).Order("created"), "created", list, within(func(p *post) bool {
			return !p.Created.Before(from) && p.Created.Before(to)
		}))
	}
}

func groupsOfElements(ctx context.Context, e *env) {
	list := e.tagged(ctx)
	values, _ := e.values("5", "all", "nobody", "3", "none")
	got, want := []string{}, []string{}
	for _, v := range values {
		n := 0
		for i := range list {
			if slices.Contains(list[i].Tags, v.(string)) {
				n++
			}
		}
		if n > 0 {
			want = append(want, fmt.Sprint(v, ": ", n))
		}
	}
	for one, err := range e.posts(ctx).GroupBy("tags[]").Find(ctx, repo.All().AnyOf("tags[]", values...)) {
		e.OK("groups by tags", err)
		got = append(got, fmt.Sprint(one.Key, ": ", one.Count))
	}
	rule.Equal(e, "the groups by tags", got, want)
}
