package repo_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
)

type post struct {
	Author   string       `repo:"author"`
	ID       string       `repo:"id"`
	Category string       `repo:"category"`
	Title    string       `repo:"title"`
	Slug     *string      `repo:"slug"`
	Tags     []string     `repo:"tags"`
	Views    int64        `repo:"views"`
	Created  time.Time    `repo:"created"`
	Version  repo.Version `repo:",version"`
}

func blogSchema() repo.Schema {
	return repo.Schema{
		Collection: "posts",
		Partition:  []string{"author"},
		Sort:       []string{"id"},
		Indexes: []repo.Index{
			{Partition: []string{"author"}, Sort: []string{"-created"}},
			{Partition: []string{"category"}, Sort: []string{"-created"}, Covers: []string{"title"}},
			{Partition: []string{"tags[]"}, Sort: []string{"-created"}},
			{Partition: []string{"slug"}, Unique: true},
			{Sort: []string{"created"}, Buckets: 4, Covers: []string{"*"}},
		},
	}
}

func openBlog(t *testing.T) *repo.Repo[post] {
	t.Helper()
	store := repo.NewStore(memory.New(nil), nil)
	t.Cleanup(func() { store.Close() })
	posts, err := repo.Open[post](t.Context(), store, blogSchema())
	if err != nil {
		t.Fatal(err)
	}
	return posts
}

// The fixed example of the source documents: three posts of user:1000.
func fillBlog(t *testing.T, posts *repo.Repo[post]) {
	t.Helper()
	for _, p := range []post{
		{Author: "user:1000", ID: "P0001", Category: "IT", Title: "one", Tags: []string{"go", "redis"}, Created: time.Unix(1521080087, 0).UTC()},
		{Author: "user:1000", ID: "P0002", Category: "Daily", Title: "two", Tags: []string{"go", "go"}, Created: time.Unix(1521080201, 0).UTC()},
		{Author: "user:1000", ID: "P0003", Category: "IT", Title: "three", Created: time.Unix(1521080482, 0).UTC()},
	} {
		if err := posts.Insert(t.Context(), &p); err != nil {
			t.Fatal(err)
		}
		if p.Version.IsZero() {
			t.Fatalf("Insert(%s) left no version", p.ID)
		}
	}
}

func ids(t *testing.T, posts *repo.Repo[post], q repo.Query) []string {
	t.Helper()
	list, err := repo.Collect(posts.Find(t.Context(), q))
	if err != nil {
		t.Fatalf("Find(%s): %v", q, err)
	}
	var ids []string
	for _, p := range list {
		ids = append(ids, p.ID)
	}
	return ids
}

func TestBlogQueries(t *testing.T) {
	posts := openBlog(t)
	fillBlog(t, posts)
	tests := []struct {
		q    repo.Query
		want []string
	}{
		{repo.Where("category", "IT").Order("created"), []string{"P0001", "P0003"}},
		{repo.Where("category", "IT").Order("-created"), []string{"P0003", "P0001"}},
		{repo.Where("author", "user:1000").Range("created", time.Unix(1521080000, 0), time.Unix(1521080400, 0)).Order("created"), []string{"P0001", "P0002"}},
		{repo.Where("author", "user:1000"), []string{"P0001", "P0002", "P0003"}},
		{repo.Where("author", "user:1000").Prefix("id", "P000").Order("-id").Limit(2), []string{"P0003", "P0002"}},
		{repo.Where("author", "user:1000").Where("id", "P0002"), []string{"P0002"}},
		{repo.Where("tags[]", "go").Order("-created"), []string{"P0002", "P0001"}},
		{repo.All().Range("created", nil, time.Unix(1521080400, 0)).Order("-created"), []string{"P0002", "P0001"}},
		{repo.Where("category", "none"), nil},
	}
	for _, tt := range tests {
		if got := ids(t, posts, tt.q); !slices.Equal(got, tt.want) {
			t.Errorf("Find(%s) = %v, want %v", tt.q, got, tt.want)
		}
		n, err := posts.Count(t.Context(), tt.q)
		if err != nil || n != len(tt.want) {
			t.Errorf("Count(%s) = %d, %v, want %d", tt.q, n, err, len(tt.want))
		}
		scanned, err := repo.Collect(posts.Scan(t.Context(), tt.q))
		if err != nil || len(scanned) != len(tt.want) {
			t.Errorf("Scan(%s) = %d records, %v, want %d", tt.q, len(scanned), err, len(tt.want))
		}
	}
}

func TestBlogWrites(t *testing.T) {
	posts, ctx := openBlog(t), t.Context()
	fillBlog(t, posts)
	slug := "hello"
	key := repo.Key{"user:1000", "P0001"}
	p, err := posts.Update(ctx, key, func(p *post) error { p.Category, p.Slug = "Daily", &slug; return nil })
	if err != nil {
		t.Fatal(err)
	}
	if got := ids(t, posts, repo.Where("category", "IT")); !slices.Equal(got, []string{"P0003"}) {
		t.Errorf("after the move IT has %v, want P0003", got)
	}
	if one, err := posts.One(ctx, repo.Where("slug", "hello")); err != nil || one.ID != "P0001" || one.Version != p.Version {
		t.Errorf("One(slug hello) = %+v, %v, want P0001 at %s", one, err, p.Version)
	}
	taken := post{Author: "user:1001", ID: "P0007", Slug: &slug}
	err = posts.Insert(ctx, &taken)
	if e, ok := errors.AsType[*repo.Error](err); !ok || !errors.Is(err, repo.ErrExists) || e.Index != "by_slug" {
		t.Errorf("Insert with a taken slug: %v, want ErrExists of by_slug", err)
	}
	t.Log(err)
	if err := posts.Delete(ctx, key, repo.IfVersion(p.Version)); err != nil {
		t.Fatal(err)
	}
	if err := posts.Insert(ctx, &taken); err != nil {
		t.Errorf("Insert after the slug was freed: %v", err)
	}
	if err := posts.Replace(ctx, &p); !errors.Is(err, repo.ErrNotFound) {
		t.Errorf("Replace of a deleted record: %v, want ErrNotFound", err)
	}
	v, err := posts.Patch(ctx, repo.Key{"user:1000", "P0002"}, repo.Set("title", "new"), repo.Add("views", 3))
	if err != nil {
		t.Fatal(err)
	}
	got, err := posts.Get(ctx, repo.Key{"user:1000", "P0002"})
	if err != nil || got.Title != "new" || got.Views != 3 || got.Version != v {
		t.Errorf("Get after Patch = %+v, %v", got, err)
	}
	reports, err := posts.Verify(ctx)
	if err != nil || len(reports) != 5 {
		t.Fatalf("Verify: %v, %v", reports, err)
	}
	for _, rep := range reports {
		if !rep.Clean() {
			t.Errorf("index %s: %+v", rep.Index, rep)
		}
	}
	_, err = repo.Collect(posts.Find(ctx, repo.Where("title", "x").Order("-created")))
	t.Log(err)
	if !errors.Is(err, repo.ErrInvalid) {
		t.Errorf("Find without an index: %v, want ErrInvalid", err)
	}
}

func TestPages(t *testing.T) {
	posts, ctx := openBlog(t), t.Context()
	fillBlog(t, posts)
	q := repo.Where("author", "user:1000").Order("created").Limit(2)
	one, err := posts.Page(ctx, q, "")
	if err != nil || len(one.Items) != 2 || one.Prev != "" || one.Next == "" {
		t.Fatalf("first page: %+v, %v", one, err)
	}
	two, err := posts.Page(ctx, q, one.Next)
	if err != nil || len(two.Items) != 1 || two.Items[0].ID != "P0003" || two.Prev == "" || two.Next != "" {
		t.Fatalf("second page: %+v, %v", two, err)
	}
	back, err := posts.Page(ctx, q, two.Prev)
	if err != nil || len(back.Items) != 2 || back.Items[0].ID != "P0001" || back.Prev != "" || back.Next != one.Next {
		t.Fatalf("page back: %+v, %v", back, err)
	}
	if _, err := posts.Page(ctx, repo.Where("category", "IT"), one.Next); !errors.Is(err, repo.ErrInvalid) {
		t.Errorf("a cursor of another query: %v, want ErrInvalid", err)
	}
}
