package tree_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/tree"
)

// Where nodes come between the same two again and again, their places stay short, and their order is kept.
func TestRoomIsMade(t *testing.T) {
	for _, s := range []tree.Strategy{tree.Adjacency, tree.Path} {
		for _, parent := range []string{"", "top"} {
			t.Run(fmt.Sprintf("%s under %q", s, parent), func(t *testing.T) {
				f := open(t, s)
				tr, ctx := f.Tree("shop"), t.Context()
				ids := []string{"first", "last"}
				if parent != "" {
					if err := tr.Insert(ctx, tree.Under(""), &category{Node: tree.Node{ID: parent}}); err != nil {
						t.Fatal(err)
					}
				}
				for _, id := range ids {
					if err := tr.Insert(ctx, tree.Under(parent), &category{Node: tree.Node{ID: id}}); err != nil {
						t.Fatal(err)
					}
				}
				for i := range 1000 {
					id, pos := fmt.Sprint("n", i), tree.After("first")
					if i%3 == 0 {
						pos = tree.Before("last")
					}
					if err := tr.Insert(ctx, pos, &category{Node: tree.Node{ID: id}}); err != nil {
						t.Fatal(err)
					}
					if i%3 == 0 {
						ids = slices.Insert(ids, len(ids)-1, id)
					} else {
						ids = slices.Insert(ids, 1, id)
					}
				}
				children, err := repo.Collect(tr.Children(ctx, parent))
				if err != nil {
					t.Fatal(err)
				}
				got, longest, sum := []string{}, 0, 0
				for _, c := range children {
					got, longest, sum = append(got, c.ID), max(longest, len(c.Place)), sum+len(c.Place)
				}
				if !slices.Equal(got, ids) {
					t.Errorf("order: %q, want %q", got, ids)
				}
				if longest > 24 || sum/len(got) >= 16 {
					t.Errorf("places of up to %d bytes, %d on average", longest, sum/len(got))
				}
				sound(t, f, s)
			})
		}
	}
}
