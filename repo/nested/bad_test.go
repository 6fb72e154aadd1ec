package nested_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/nested"
)

func TestBadQueries(t *testing.T) {
	inBoth(t, func(t *testing.T, c *nested.Collection[person]) {
		insert(t, c, ann)
		var none *string
		for _, q := range []nested.Query{
			{}, nested.Where("name", "x"), nested.Where("", "x"), nested.Where("note", "x"), nested.Where("skill", 1), nested.Where("skill", nil),
			nested.Where("skill", none), nested.Where("years", "1"), nested.Where("years", 1.0), nested.Where("years", ^uint64(0)),
			nested.Where("certified", 1), nested.Where("skill", []byte("x")), nested.Where("skill", "x").Near(-1), nested.Where("skill", "x").Limit(-1),
		} {
			n := 0
			for p, err := range c.Find(t.Context(), q) {
				if n++; !isA(err, repo.ErrInvalid) || p.ID != "" {
					t.Errorf("%s: %v", q, err)
				}
			}
			_, err := c.Page(t.Context(), q, "")
			_, err2 := c.Explain(q)
			if n != 1 || !isA(err, repo.ErrInvalid) || !isA(err2, repo.ErrInvalid) {
				t.Errorf("%s: %d times, %v, %v", q, n, err, err2)
			}
		}
		if err := c.Insert(t.Context(), nil); !isA(err, repo.ErrInvalid) {
			t.Error(err)
		}
	})
}

func TestBadCursors(t *testing.T) {
	inBoth(t, func(t *testing.T, c *nested.Collection[person]) {
		insert(t, c, ann, bob)
		q := nested.Where("skill", "Poetry").Limit(1)
		page, err := c.Page(t.Context(), q, "")
		if err != nil || page.Next == "" {
			t.Fatal(page, err)
		}
		for _, cursor := range []string{"x", "!", page.Next + "A", page.Next[1:], page.Next + "\n", "AAAAAAAAAAAAAA", strings.ToUpper(page.Next)} {
			if _, err := c.Page(t.Context(), q, cursor); !isA(err, repo.ErrCursor) || !isA(err, repo.ErrInvalid) {
				t.Errorf("%q: %v", cursor, err)
			}
		}
		if _, err := c.Page(t.Context(), q.Near(1), page.Next); !isA(err, repo.ErrCursor) {
			t.Error(err)
		}
		if last, err := c.Page(t.Context(), q.Limit(9), page.Next); err != nil || len(last.Items) != 1 || last.Items[0].ID != "bob" || last.Next != "" {
			t.Error(last, err)
		}
	})
}

func refused[T any](t *testing.T, name string, s nested.Schema) {
	t.Helper()
	if _, err := nested.Open[T](t.Context(), newStore(t, "memory:"), s); !isA(err, repo.ErrSchema) {
		t.Errorf("%s: %v", name, err)
	} else {
		t.Log(err)
	}
}

func TestBadSchemas(t *testing.T) {
	type bare struct {
		ID     string
		Skills []skill
	}
	type odd struct {
		nested.Terms
		ID    float64
		Texts []string
		Times []time.Time
		Lists []struct{ A []string }
		Maps  []map[string]string
	}
	of := func(list string, fields ...string) nested.Schema {
		return nested.Schema{Records: people, List: list, Fields: fields}
	}
	refused[bare](t, "no terms", of("skills"))
	refused[map[string]any](t, "map", of("skills"))
	refused[*person](t, "pointer", of("skills"))
	for _, s := range []nested.Schema{of(""), of("name"), of("no"), of("skills", "no"), of("skills", "note"), {Records: people, List: "skills", Strategy: "x"},
		{Records: people, List: "skills", Strategy: nested.Numbered, Numbers: -1}, {Records: people, List: "skills", Strategy: nested.Numbered, Numbers: 65},
		{List: "skills"}, {Records: repo.Schema{Collection: "people", Partition: []string{"no"}}, List: "skills"}} {
		refused[person](t, "person", s)
	}
	for _, list := range []string{"texts", "times", "lists", "maps"} {
		refused[odd](t, list, of(list))
	}
}

func TestCancelled(t *testing.T) {
	inBoth(t, func(t *testing.T, c *nested.Collection[person]) {
		for i := range 300 {
			insert(t, c, person{ID: string(rune('A' + i)), Skills: bob.Skills})
		}
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		n, failures := 0, 0
		for _, err := range c.Find(ctx, poets) {
			if err != nil {
				if failures++; !isA(err, repo.ErrTimeout) && !isA(err, context.Canceled) {
					t.Error(err)
				}
				continue
			}
			if n++; n == 20 {
				stop()
			}
		}
		if failures != 1 || n < 20 || n >= 300 {
			t.Errorf("%d records and %d errors", n, failures)
		}
		if _, err := c.Page(ctx, poets, ""); err == nil {
			t.Error("a page after the end of the context")
		}
		for range c.Verify(ctx) {
			break
		}
		if _, err := c.Repair(ctx); err == nil {
			t.Error("a repair after the end of the context")
		}
	})
}

// Errors keep values back where the store redacts.
func TestRedact(t *testing.T) {
	type item struct {
		Count uint64 `repo:"count"`
	}
	type box struct {
		nested.Terms
		ID    string `repo:"id"`
		Items []item `repo:"items"`
	}
	for _, redact := range []bool{true, false} {
		store := repo.NewStore(memory.New(nil), &repo.Options{Redact: redact})
		c := open[box](t, store, nested.Schema{Records: repo.Schema{Collection: "boxes", Partition: []string{"id"}}, List: "items", Fields: []string{"count"}})
		err := c.Insert(t.Context(), &box{ID: "a", Items: []item{{Count: 1<<64 - 1}}})
		if !isA(err, repo.ErrInvalid) || strings.Contains(err.Error(), "18446744073709551615") == redact {
			t.Errorf("redacted %v: %v", redact, err)
		}
	}
}
