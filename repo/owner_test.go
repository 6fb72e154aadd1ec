package repo_test

import (
	"context"
	"testing"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// A meddling store calls between before each Get of one row.
type meddling struct {
	driver.Store
	between func()
}

func (m *meddling) Get(ctx context.Context, t *driver.Table, keys []driver.Key, mask []int, rows []driver.Row) error {
	if f := m.between; f != nil {
		m.between = nil
		f()
	}
	return m.Store.Get(ctx, t, keys, mask, rows)
}

// A unique value that passes from one record to another in one commit, just
// between the reading of its claim and that of its record, is found all the same.
func TestUniqueValueIsFoundWhilePassedOn(t *testing.T) {
	m := &meddling{Store: memory.New(nil)}
	store, ctx := repo.NewStore(m, nil), t.Context()
	posts, err := repo.Open[post](ctx, store, blogSchema())
	if err != nil {
		t.Fatal(err)
	}
	slug := "s"
	a, b := post{Author: "u", ID: "a", Slug: &slug}, post{Author: "u", ID: "b"}
	for _, p := range []*post{&a, &b} {
		if err := posts.Insert(ctx, p); err != nil {
			t.Fatal(err)
		}
	}
	m.between = func() {
		a.Slug, b.Slug = nil, &slug
		g := posts.Store().Group()
		in := posts.In(g)
		in.Replace(&a)
		in.Replace(&b)
		if err := g.Commit(ctx); err != nil {
			t.Errorf("pass on: %v", err)
		}
	}
	if got, err := posts.One(ctx, repo.Where("slug", "s")); err != nil || got.ID != "b" {
		t.Errorf("One = %q, %v, want b", got.ID, err)
	}
	m.between = func() {
		if err := posts.Delete(ctx, repo.Key{"u", "b"}); err != nil {
			t.Errorf("delete: %v", err)
		}
	}
	if list, err := repo.Collect(posts.Find(ctx, repo.Where("slug", "s"))); err != nil || len(list) != 0 {
		t.Errorf("Find = %v, %v, want nothing", list, err)
	}
}
