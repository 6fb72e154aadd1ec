package tree_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/tree"
)

// Pages go on where the last one ended, whatever is deleted, moved or converted since; where a document cannot, its
// cursor is refused.
func TestPagesBesideChanges(t *testing.T) {
	for _, s := range all {
		for what, change := range map[string]func(tr *tree.Tree[category]) error{
			"nothing": func(*tree.Tree[category]) error { return nil },
			"delete":  func(tr *tree.Tree[category]) error { return tr.Delete(t.Context(), "b") },
			"move":    func(tr *tree.Tree[category]) error { return tr.Move(t.Context(), "b", tree.Under("")) },
			"convert": func(tr *tree.Tree[category]) error {
				return tr.Convert(t.Context(), all[(slices.Index(all, s)+1)%len(all)])
			},
		} {
			_, tr, _ := shopBeside(t, tree.Schema{Strategy: s, Also: all}, "r a<r b<r c<r d<r e<r")
			first, err := tr.ChildrenPage(t.Context(), "r", 2, "")
			if err == nil {
				err = change(tr)
			}
			if err != nil {
				t.Fatal(err)
			}
			page, err := tr.ChildrenPage(t.Context(), "r", 2, first.Next)
			if s == tree.Document && what != "nothing" || s == tree.NestedSets && what == "convert" {
				if !errors.Is(err, repo.ErrCursor) || !strings.Contains(err.Error(), "begin again") {
					t.Errorf("%s, %s: %v, want %v", s, what, err, repo.ErrCursor)
				}
				continue
			}
			if got := strings.Join(idsOf(t, page.Items, err), " "); got != "c d" {
				t.Errorf("%s, %s: %s", s, what, got)
			}
		}
	}
}

// A cursor is of one list, and is refused elsewhere, and where it was changed.
func TestCursorsOfOthers(t *testing.T) {
	each(t, "r a<r b<r c<r q d<q e<q a2<a", func(t *testing.T, tr *tree.Tree[category]) {
		ctx := t.Context()
		first, err := tr.ChildrenPage(ctx, "r", 1, "")
		if err != nil {
			t.Fatal(err)
		}
		for what, cursor := range map[string]string{"another list": first.Next, "changed": first.Next[:len(first.Next)-1] + "Z", "no cursor": "x", "a name": "ab"} {
			list := "r"
			if what == "another list" {
				list = "q"
			}
			if page, err := tr.ChildrenPage(ctx, list, 1, cursor); !errors.Is(err, repo.ErrCursor) || !errors.Is(err, repo.ErrInvalid) {
				t.Errorf("%s: %v, %v", what, page, err)
			}
		}
		all, err := tr.ChildrenPage(ctx, "r", 0, "")
		if len(all.Items) != 3 || err != nil {
			t.Errorf("without a limit: %d, %v", len(all.Items), err)
		}
		if _, err := tr.ChildrenPage(ctx, "r", -1, ""); !errors.Is(err, repo.ErrInvalid) {
			t.Errorf("a limit below zero: %v", err)
		}
		none, err := tr.ChildrenPage(ctx, "c", 2, "")
		if none.Items == nil || len(none.Items) > 0 || err != nil {
			t.Errorf("no children: %#v, %v", none.Items, err)
		}
	})
}
