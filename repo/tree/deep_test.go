package tree_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/tree"
)

// chain inserts nodes below each other, and returns their IDs.
func chain(t *testing.T, tr *tree.Tree[category], under, name string, n int) (ids []string) {
	t.Helper()
	for i := range n {
		id := fmt.Sprint(name, i)
		if err := tr.Insert(t.Context(), tree.Under(under), &category{Node: tree.Node{ID: id}}); err != nil {
			t.Fatal(err)
		}
		ids, under = append(ids, id), id
	}
	return ids
}

// A move for which something below the node has no room is refused, and the tree is as it was.
func TestTooDeep(t *testing.T) {
	for _, tt := range []struct {
		strategy   tree.Strategy
		id         string
		above, own int
	}{
		{tree.Path, strings.Repeat("x", 100), 6, 4},
		{tree.Ancestors, "n", 200, 80},
	} {
		t.Run(string(tt.strategy), func(t *testing.T) {
			f := open(t, tt.strategy)
			tr, ctx := f.Tree("shop"), t.Context()
			a := chain(t, tr, "", "a"+tt.id, tt.above)
			b := chain(t, tr, "", "b"+tt.id, tt.own)
			before := list(t, tr, "")
			if err := tr.Move(ctx, b[0], tree.Under(a[len(a)-1])); !errors.Is(err, repo.ErrTooLarge) {
				t.Fatalf("a move that makes it too deep: %v, want %v", err, repo.ErrTooLarge)
			}
			if got := list(t, tr, ""); !slices.Equal(got, before) {
				t.Errorf("%q after a move that was refused, want %q", got, before)
			}
			if err := tr.Insert(ctx, tree.Under(b[len(b)-1]), &category{Node: tree.Node{ID: "more"}}); err != nil {
				t.Error(err)
			}
			if err := tr.Move(ctx, b[0], tree.Under(a[1])); err != nil {
				t.Error(err)
			}
			sound(t, f, tt.strategy)
			err := error(nil)
			for i := 0; err == nil && i < 300; i++ {
				err = tr.Insert(ctx, tree.Under(a[len(a)-1]), &category{Node: tree.Node{ID: fmt.Sprint(tt.id, "-", i)}})
				a = append(a, fmt.Sprint(tt.id, "-", i))
			}
			if !errors.Is(err, repo.ErrTooLarge) {
				t.Errorf("an insert that is too deep: %v", err)
			}
			if bad, err := tr.Verify(ctx); len(bad) > 0 || err != nil {
				t.Error(bad, err)
			}
		})
	}
}
