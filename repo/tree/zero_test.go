package tree_test

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/tree"
)

// Calls on what was not made are refused, and none panics.
func TestZeroValues(t *testing.T) {
	var none *tree.Forest[category]
	for name, tr := range map[string]*tree.Tree[category]{"zero": {}, "of no forest": none.Tree("a"), "of a zero forest": (&tree.Forest[category]{}).Tree("a")} {
		for call, err := range everyCall(t.Context(), tr) {
			if !errors.Is(err, repo.ErrInvalid) {
				t.Errorf("%s: %s: %v, want %v", name, call, err, repo.ErrInvalid)
			}
		}
	}
	for _, f := range []*tree.Forest[category]{none, {}} {
		if f.Nodes() != nil {
			t.Error("a forest that was not made has nodes")
		}
	}
	if _, err := tree.Open[category](t.Context(), nil, tree.Schema{Collection: "c"}); !errors.Is(err, repo.ErrInvalid) {
		t.Errorf("open on no store: %v", err)
	}
	if _, err := tree.Explain[category](nil, tree.Schema{Collection: "c"}, tree.Size{}); !errors.Is(err, repo.ErrInvalid) {
		t.Errorf("explain on no store: %v", err)
	}
	if _, err := tree.Explain[category](repo.NewStore(memory.New(nil), nil), tree.Schema{Collection: "c"}, tree.Size{Below: -1}); !errors.Is(err, repo.ErrInvalid) {
		t.Errorf("explain less than nothing: %v", err)
	}
}

// everyCall makes each call on a tree.
func everyCall(ctx context.Context, tr *tree.Tree[category]) map[string]error {
	rec := &category{Node: tree.Node{ID: "a"}}
	calls := map[string]error{
		"insert": tr.Insert(ctx, tree.Under(""), rec), "move": tr.Move(ctx, "a", tree.Under("")), "delete": tr.Delete(ctx, "a"),
		"delete subtree": tr.DeleteSubtree(ctx, "a"), "lift": tr.Lift(ctx, "a"), "convert": tr.Convert(ctx, tree.Path),
		"settle": tr.Settle(ctx), "lines": tr.WriteLines(ctx, &bytes.Buffer{}, ""), "nested": tr.WriteNested(ctx, &bytes.Buffer{}, "a"),
	}
	_, calls["update"] = tr.Update(ctx, "a", func(*category) error { return nil })
	_, calls["load"] = tr.Load(ctx, func(yield func(category, error) bool) { yield(*rec, nil) })
	_, calls["copy"] = tr.Copy(ctx, "a", tree.Under(""), func(id string) string { return id + "2" })
	_, calls["has children"] = tr.HasChildren(ctx, "a")
	_, calls["count children"] = tr.CountChildren(ctx, "a")
	_, calls["get"] = tr.Get(ctx, "a")
	_, calls["parent"] = tr.Parent(ctx, "a")
	_, calls["next"] = tr.Next(ctx, "a")
	_, calls["previous"] = tr.Previous(ctx, "a")
	_, calls["ancestors"] = tr.Ancestors(ctx, "a")
	_, calls["depth"] = tr.Depth(ctx, "a")
	_, calls["is below"] = tr.IsBelow(ctx, "a", "b")
	_, calls["common"] = tr.CommonAncestor(ctx, "a", "b")
	_, calls["find"] = tr.Find(ctx, "a")
	_, calls["count"] = tr.Count(ctx, "a")
	_, calls["page"] = tr.ChildrenPage(ctx, "a", 10, "")
	_, calls["strategy"] = tr.Strategy(ctx)
	_, calls["verify"] = tr.Verify(ctx)
	_, calls["repair"] = tr.Repair(ctx)
	_, calls["children"] = repo.Collect(tr.Children(ctx, "a"))
	_, calls["reversed"] = repo.Collect(tr.Reversed(ctx, "a"))
	_, calls["siblings"] = repo.Collect(tr.Siblings(ctx, "a"))
	_, calls["leaves"] = repo.Collect(tr.Leaves(ctx, "a"))
	_, calls["descendants"] = repo.Collect(tr.Descendants(ctx, "a", 0))
	_, calls["annotated"] = repo.Collect(tr.Annotated(ctx, "a", 0))
	return calls
}
