package repo_test

import (
	"context"
	"errors"
	"iter"
	"testing"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// A wide store returns a field more than it was asked for.
type wide struct {
	driver.Store
	on bool
}

func (w *wide) Get(ctx context.Context, t *driver.Table, keys []driver.Key, mask []int, rows []driver.Row) error {
	err := w.Store.Get(ctx, t, keys, mask, rows)
	for i := range rows {
		if w.on && !rows[i].Rev.IsZero() {
			rows[i].Fields = append(rows[i].Fields, driver.IntValue(1))
		}
	}
	return err
}

func (w *wide) Range(ctx context.Context, span driver.Span) iter.Seq2[*driver.Row, error] {
	return func(yield func(*driver.Row, error) bool) {
		for row, err := range w.Store.Range(ctx, span) {
			if w.on && err == nil {
				row.Fields = append(row.Fields, driver.IntValue(1))
			}
			if !yield(row, err) {
				return
			}
		}
	}
}

func (w *wide) Commit(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
	refusal, err := w.Store.Commit(ctx, token, ops)
	if w.on && refusal != nil {
		refusal.Row.Fields = append(refusal.Row.Fields, driver.IntValue(1))
	}
	return refusal, err
}

// What a broken store returns is an error, never a panic.
func TestWideRows(t *testing.T) {
	w := &wide{Store: memory.New(nil)}
	store := repo.NewStore(w, nil)
	defer store.Close()
	posts, err := repo.Open[post](t.Context(), store, blogSchema())
	if err != nil {
		t.Fatal(err)
	}
	fillBlog(t, posts)
	titles, err := repo.ViewOf[struct {
		Title string `repo:"title"`
	}](posts)
	if err != nil {
		t.Fatal(err)
	}
	key := repo.Key{"user:1000", "P0001"}
	it := repo.Where("category", "IT").Order("-created")
	calls := map[string]func() error{
		"get":       func() error { _, err := posts.Get(t.Context(), key); return err },
		"view":      func() error { _, err := titles.Get(t.Context(), key); return err },
		"find":      func() error { _, err := repo.Collect(posts.Find(t.Context(), it)); return err },
		"find view": func() error { _, err := repo.Collect(titles.Find(t.Context(), it)); return err },
		"keys":      func() error { _, err := repo.Collect(posts.Keys(t.Context(), it)); return err },
		"update": func() error {
			_, err := posts.Update(t.Context(), key, func(*post) error { return nil })
			return err
		},
		"insert": func() error { return posts.Insert(t.Context(), &post{Author: "user:1000", ID: "P0001"}) },
	}
	for name, call := range calls {
		w.on = false
		if err := call(); err != nil && name != "insert" { // the control
			t.Errorf("%s on the sound store: %v", name, err)
		}
		w.on = true
		if err := call(); !errors.Is(err, repo.ErrInternal) {
			t.Errorf("%s = %v, want ErrInternal", name, err)
		}
	}
}
