package repo_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
)

type Article struct {
	Author  string       `repo:"author"`
	ID      string       `repo:"id"`
	Topic   string       `repo:"topic"`
	Title   string       `repo:"title"`
	Slug    string       `repo:"slug"`
	Views   int64        `repo:"views"`
	Created time.Time    `repo:"created"`
	Version repo.Version `repo:",version"`
}

// articles opens the repository of the examples with three articles in it.
func articles(ctx context.Context) *repo.Repo[Article] {
	store := repo.NewStore(memory.New(nil), nil)
	articles, err := repo.Open[Article](ctx, store, repo.Schema{
		Collection: "articles",
		Partition:  []string{"author"},
		Sort:       []string{"id"},
		Indexes: []repo.Index{
			{Partition: []string{"topic"}, Sort: []string{"-created"}, Covers: []string{"title"}},
			{Partition: []string{"slug"}, Unique: true},
		},
	})
	if err != nil {
		panic(err)
	}
	day := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i, a := range []Article{
		{Author: "ann", ID: "a1", Topic: "go", Title: "Iterators", Slug: "iterators"},
		{Author: "ann", ID: "a2", Topic: "go", Title: "Errors", Slug: "errors"},
		{Author: "bob", ID: "b1", Topic: "sea", Title: "Tides", Slug: "tides"},
	} {
		a.Created = day.AddDate(0, 0, i)
		if err := articles.Insert(ctx, &a); err != nil {
			panic(err)
		}
	}
	return articles
}

func ExampleRepo_Find() {
	ctx := context.Background()
	q := repo.Where("topic", "go").Order("-created").Limit(10)
	for a, err := range articles(ctx).Find(ctx, q) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(a.Created.Format(time.DateOnly), a.Title)
	}
	// Output:
	// 2026-01-02 Errors
	// 2026-01-01 Iterators
}

// The unique visitors of each day: a visitor has one record a day.
func ExampleRepo_GroupBy() {
	ctx := context.Background()
	visits, err := repo.Open[map[string]any](ctx, repo.NewStore(memory.New(nil), nil), repo.Schema{
		Collection: "visits", Partition: []string{"site"}, Sort: []string{"day", "visitor"},
		Fields: map[string]string{"site": "string", "day": "string", "visitor": "string", "pages": "int"},
	})
	if err != nil {
		panic(err)
	}
	for _, v := range []struct{ day, visitor string }{
		{"2026-01-01", "ann"}, {"2026-01-02", "bob"}, {"2026-01-02", "ann"}, {"2026-01-02", "ann"},
	} {
		if err := visits.Put(ctx, &map[string]any{"site": "a", "day": v.day, "visitor": v.visitor, "pages": 3}); err != nil {
			panic(err)
		}
	}
	for day, err := range visits.GroupBy("day").Sum("pages").Find(ctx, repo.Where("site", "a")) {
		if err != nil {
			panic(err)
		}
		fmt.Println(day.Key, day.Count, "visitors", day.Sums[0], "pages")
	}
	// Output:
	// 2026-01-01 1 visitors 3 pages
	// 2026-01-02 2 visitors 6 pages
}

func ExampleRepo_Insert() {
	ctx := context.Background()
	err := articles(ctx).Insert(ctx, &Article{Author: "eve", ID: "e1", Slug: "tides"})
	fmt.Println(err)
	if e, ok := errors.AsType[*repo.Error](err); ok && errors.Is(err, repo.ErrExists) {
		fmt.Println("taken in", e.Index)
	}
	// Output:
	// repo insert articles eve/e1: slug "tides" is taken by bob/b1: already exists
	// taken in by_slug
}

func ExampleRepo_Update() {
	ctx := context.Background()
	a, err := articles(ctx).Update(ctx, repo.Key{"ann", "a1"}, func(a *Article) error {
		a.Topic = "iterators"
		return nil
	})
	fmt.Println(a.Topic, a.Version.IsZero(), err)
	// Output: iterators false <nil>
}

func ExampleRepo_Patch() {
	ctx := context.Background()
	articles := articles(ctx)
	key := repo.Key{"bob", "b1"}
	if _, err := articles.Patch(ctx, key, repo.Set("title", "Ebb"), repo.Add("views", 1)); err != nil {
		fmt.Println(err)
	}
	a, err := articles.Get(ctx, key)
	fmt.Println(a.Title, a.Views, err)
	// Output: Ebb 1 <nil>
}

func ExampleRepo_Page() {
	ctx := context.Background()
	articles := articles(ctx)
	q := repo.Where("author", "ann").Limit(1)
	for cursor := ""; ; {
		page, err := articles.Page(ctx, q, cursor)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(page.Items[0].ID)
		if cursor = page.Next; cursor == "" {
			return
		}
	}
	// Output:
	// a1
	// a2
}

func ExampleStore_Group() {
	ctx := context.Background()
	articles := articles(ctx)
	g := articles.Store().Group()
	in := articles.In(g)
	in.Insert(&Article{Author: "ann", ID: "a3", Slug: "errors-again"})
	in.Delete(repo.Key{"ann", "a2"})
	fmt.Println(g.Commit(ctx))
	n, err := articles.Count(ctx, repo.Where("author", "ann"))
	fmt.Println(n, err)
	// Output:
	// <nil>
	// 2 <nil>
}

func ExampleStore_ReadPartition() {
	ctx := context.Background()
	type Order struct {
		ID     string `repo:"id"`
		Status string `repo:"status"`
	}
	type Line struct {
		Order string `repo:"id"`
		N     int    `repo:"n"`
		Item  string `repo:"item"`
	}
	store := repo.NewStore(memory.New(nil), nil)
	orders, err1 := repo.Open[Order](ctx, store, repo.Schema{Collection: "orders", Partition: []string{"id"}})
	lines, err2 := repo.Open[Line](ctx, store, repo.Schema{Collection: "lines", With: "orders", Partition: []string{"id"}, Sort: []string{"n"}})
	g := store.Group()
	orders.In(g).Insert(&Order{ID: "A7", Status: "open"})
	lines.In(g).Insert(&Line{"A7", 1, "tea"})
	lines.In(g).Insert(&Line{"A7", 2, "milk"})
	fmt.Println(errors.Join(err1, err2, g.Commit(ctx)))

	var order []Order
	var items []Line
	err := store.ReadPartition(ctx, repo.Key{"A7"}, orders.Into(&order), lines.Into(&items))
	fmt.Println(order, items, err)
	// Output:
	// <nil>
	// [{A7 open}] [{A7 1 tea} {A7 2 milk}] <nil>
}

func ExampleWrites_Check() {
	ctx := context.Background()
	type Author struct {
		Name string `repo:"name"`
	}
	articles := articles(ctx)
	authors, err := repo.Open[Author](ctx, articles.Store(), repo.Schema{Collection: "authors", Partition: []string{"name"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	g := articles.Store().Group()
	authors.In(g).Check(repo.Key{"ann"})
	articles.In(g).Insert(&Article{Author: "ann", ID: "a3", Slug: "errors-again"})
	fmt.Println(g.Commit(ctx))
	// Output:
	// repo commit authors ann: check, write 0 of the group: not found
}

func ExampleViewOf() {
	ctx := context.Background()
	type Headline struct {
		Author string `repo:"author"`
		Title  string `repo:"title"`
	}
	headlines, err := repo.ViewOf[Headline](articles(ctx))
	if err != nil {
		fmt.Println(err)
		return
	}
	q := repo.Where("topic", "go").Order("created")
	plan, err := headlines.Explain(q)
	fmt.Println(plan, err)
	list, err := repo.Collect(headlines.Find(ctx, q))
	fmt.Println(list, err)
	// Output:
	// articles: index by_topic_created_desc, read backwards; 1 deep, 1 requests; the index covers all fields wanted <nil>
	// [{ann Iterators} {ann Errors}] <nil>
}

func ExampleRepo_One() {
	ctx := context.Background()
	a, err := articles(ctx).One(ctx, repo.Where("slug", "tides"))
	fmt.Println(a.Title, err)
	// Output: Tides <nil>
}

func ExampleRepo_Scan() {
	ctx := context.Background()
	articles := articles(ctx)
	q := repo.Where("title", "Tides")
	_, err := repo.Collect(articles.Find(ctx, q))
	fmt.Println(err)
	list, err := repo.Collect(articles.Scan(ctx, q))
	fmt.Println(len(list), err)
	// Output:
	// repo find articles: no index answers title = ?; add {Partition: ["title"]}, or use Scan: invalid
	// 1 <nil>
}

// A tracer that prints what it is told. Its spans go through the context.
func ExampleTracer() {
	ctx := context.Background()
	store := repo.NewStore(memory.New(nil), &repo.Options{Tracer: repo.Tracer{
		Begin: func(ctx context.Context, e repo.Event) (context.Context, func(repo.Event)) {
			fmt.Println(e.Op, e.Collection, "begins")
			return ctx, func(e repo.Event) {
				fmt.Printf("%s %s ends: %d records, error %q\n", e.Op, e.Collection, e.Records, e.Kind())
			}
		},
	}})
	articles, err := repo.Open[Article](ctx, store, repo.Schema{Collection: "articles", Partition: []string{"author"}, Sort: []string{"id"}})
	if err != nil {
		panic(err)
	}
	_, _ = articles.Get(ctx, repo.Key{"ann", "a9"})
	for range articles.Find(ctx, repo.Where("author", "ann")) {
	}
	// Output:
	// open articles begins
	// open articles ends: 0 records, error ""
	// get articles begins
	// get articles ends: 0 records, error "not_found"
	// find articles begins
	// find articles ends: 0 records, error ""
}
