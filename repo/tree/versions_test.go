package tree_test

import (
	"errors"
	"testing"
	"time"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/tree"
)

// A later program's record has a field more.
type laterCategory struct {
	tree.Node
	Name  string    `repo:"name"`
	Color string    `repo:"color"`
	Since time.Time `repo:"since"`
}

type extraCategory struct {
	tree.Node
	Name string         `repo:"name"`
	More map[string]any `repo:",extra"`
}

// What an earlier program writes leaves the fields of a later one, in each strategy and by each conversion.
func TestTwoVersionsOfAProgram(t *testing.T) {
	ctx, since := t.Context(), time.Date(2026, 11, 26, 0, 0, 0, 0, time.UTC)
	for _, first := range all {
		store := repo.NewStore(memory.New(nil), nil)
		schema := tree.Schema{Collection: "categories", Strategy: first, Also: all}
		earlier, err := tree.Open[category](ctx, store, schema)
		if err != nil {
			t.Fatal(err)
		}
		later, err := tree.Open[laterCategory](ctx, store, schema)
		if err != nil {
			t.Fatal(err)
		}
		extra, err := tree.Open[extraCategory](ctx, store, schema)
		if err != nil {
			t.Fatal(err)
		}
		old, now, third := earlier.Tree("shop"), later.Tree("shop"), extra.Tree("shop")
		check := func(after string) {
			t.Helper()
			rec, err := now.Get(ctx, "a")
			if err != nil || rec.Color != "red" || !rec.Since.Equal(since) {
				t.Errorf("%s, after %s: %+v, %v", first, after, rec, err)
			}
		}
		if err := now.Insert(ctx, tree.Under(""), &laterCategory{Node: tree.Node{ID: "a"}, Color: "red", Since: since}); err != nil {
			t.Fatal(err)
		}
		plant(t, old, "b c<b")
		check("an insert beside it")
		if err := old.Move(ctx, "a", tree.Under("c")); err != nil {
			t.Fatal(err)
		}
		check("a move")
		if _, err := old.Update(ctx, "a", func(c *category) error { c.Name = "new"; return nil }); err != nil {
			t.Fatal(err)
		}
		check("an update")
		if _, err := third.Update(ctx, "b", func(c *extraCategory) error { c.More = map[string]any{"size": int64(7)}; return nil }); err != nil {
			t.Fatal(err)
		}
		for _, to := range all {
			if err := old.Convert(ctx, to); err != nil {
				t.Fatal(err)
			}
			check("a conversion to " + string(to))
			if rec, err := third.Get(ctx, "b"); err != nil || rec.More["size"] != int64(7) {
				t.Errorf("%s, after a conversion to %s: %+v, %v", first, to, rec, err)
			}
		}
	}
}

// Nodes that expire would leave what is below them.
func TestNodesDoNotExpire(t *testing.T) {
	type expiring struct {
		tree.Node
		Until time.Time `repo:"until,expires"`
	}
	store := repo.NewStore(memory.New(nil), nil)
	if _, err := tree.Open[expiring](t.Context(), store, tree.Schema{Collection: "c"}); !errors.Is(err, repo.ErrSchema) {
		t.Errorf("%v, want %v", err, repo.ErrSchema)
	}
}
