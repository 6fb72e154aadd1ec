package tree_test

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/tree"
)

// What knows only the name of a collection reads its trees as the program does that made them, and writes nothing.
func TestInspect(t *testing.T) {
	for _, k := range kinds() {
		t.Run(k.String(), func(t *testing.T) {
			ctx, store := t.Context(), repo.NewStore(memory.New(nil), nil)
			schema := k.schema()
			schema.Name = "name"
			f, err := tree.Open[category](ctx, store, schema)
			if err != nil {
				t.Fatal(err)
			}
			plant(t, f.Tree("shop"), jobs)
			plant(t, f.Tree("other"), "a")
			seen, err := tree.Inspect(ctx, store, "categories")
			if err != nil {
				t.Fatal(err)
			}
			trees, err := repo.Collect(seen.Trees(ctx))
			if slices.Sort(trees); err != nil || !slices.Equal(trees, []string{"other", "shop"}) {
				t.Errorf("%q, %v", trees, err)
			}
			tr := seen.Tree("shop")
			var got, want bytes.Buffer
			for item, err := range tr.Descendants(ctx, "", 0) {
				if err != nil || item.Node.Fields["name"] != item.Node.ID {
					t.Errorf("%+v, %v", item, err)
				}
				got.WriteString(item.Node.ID + " ")
			}
			for item := range f.Tree("shop").Descendants(ctx, "", 0) {
				want.WriteString(item.Node.ID + " ")
			}
			if got.String() != want.String() {
				t.Errorf("%s, want %s", &got, &want)
			}
			if n, err := tr.Find(ctx, "it", "web", "back"); err != nil || n.ID != "back" {
				t.Errorf("%+v, %v", n, err)
			}
			if bad, err := tr.Verify(ctx); len(bad) > 0 || err != nil {
				t.Error(bad, err)
			}
			has, err := tr.HasChildren(ctx, "it", "front")
			if !slices.Equal(has, []bool{true, false}) || err != nil {
				t.Errorf("has children: %v, %v", has, err)
			}
			counts, err := tr.CountChildren(ctx, "it", "front")
			if !slices.Equal(counts, []int{2, 0}) || err != nil {
				t.Errorf("children: %v, %v", counts, err)
			}
			refusesWrites(t, tr)
		})
	}
}

func refusesWrites(t *testing.T, tr *tree.Tree[tree.Inspected]) {
	t.Helper()
	ctx, rec := t.Context(), tree.Inspected{Node: tree.Node{ID: "new"}}
	_, update := tr.Update(ctx, "it", func(*tree.Inspected) error { return nil })
	_, load := tr.Load(ctx, func(yield func(tree.Inspected, error) bool) { yield(rec, nil) })
	_, copied := tr.Copy(ctx, "it", tree.Under(""), func(id string) string { return id + "2" })
	for call, err := range map[string]error{
		"insert": tr.Insert(ctx, tree.Under(""), &rec), "move": tr.Move(ctx, "it", tree.FirstUnder("")), "delete": tr.Delete(ctx, "sales"),
		"delete subtree": tr.DeleteSubtree(ctx, "it"), "lift": tr.Lift(ctx, "it"), "convert": tr.Convert(ctx, tree.Adjacency),
		"update": update, "load": load, "copy": copied,
	} {
		if !errors.Is(err, repo.ErrUnsupported) {
			t.Errorf("%s: %v, want %v", call, err, repo.ErrUnsupported)
		}
	}
}

func TestInspectRefusals(t *testing.T) {
	ctx, store := t.Context(), repo.NewStore(memory.New(nil), nil)
	if _, err := tree.Inspect(ctx, store, "nothing"); !errors.Is(err, repo.ErrNotFound) {
		t.Errorf("no collection: %v", err)
	}
	if _, err := repo.Open[struct {
		ID string `repo:"id"`
	}](ctx, store, repo.Schema{Collection: "others", Partition: []string{"id"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := tree.Inspect(ctx, store, "others"); !errors.Is(err, repo.ErrSchema) {
		t.Errorf("other records: %v", err)
	}
	if _, err := tree.Inspect(ctx, nil, "categories"); !errors.Is(err, repo.ErrInvalid) {
		t.Errorf("no store: %v", err)
	}
}
