package tree_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/tree"
)

// Writers that do anything to few nodes leave a tree, and readers meanwhile see one.
func TestWritersAtOnce(t *testing.T) {
	for _, k := range kinds() {
		t.Run(k.String(), func(t *testing.T) {
			f := openOn(t, k.store(), k.schema())
			tr := f.Tree("shop")
			ctx, stop := context.WithCancel(t.Context())
			var readers, writers sync.WaitGroup
			for r := range 2 {
				readers.Go(func() { look(ctx, t, tr, r) })
			}
			for w := range 6 {
				writers.Go(func() { change(t, tr, w, 200) })
			}
			writers.Wait()
			stop()
			readers.Wait()
			sound(t, f, k.Strategy)
		})
	}
}

const few = 14

func change(t *testing.T, tr *tree.Tree[category], seed, n int) {
	ctx, rng := t.Context(), rand.New(rand.NewPCG(uint64(seed), 3))
	for range n {
		id, at := fmt.Sprint(rng.IntN(few)), fmt.Sprint(rng.IntN(few))
		pos := position([]string{"under", "first", "before", "after"}[rng.IntN(4)], at)
		if rng.IntN(6) == 0 {
			pos = tree.Under("")
		}
		var err error
		switch rng.IntN(10) {
		case 0, 1, 2, 3:
			err = tr.Insert(ctx, pos, &category{Node: tree.Node{ID: id}})
		case 4, 5, 6, 7:
			err = tr.Move(ctx, id, pos)
		case 8:
			err = tr.Delete(ctx, id)
		case 9:
			err = tr.DeleteSubtree(ctx, id)
		}
		for _, fine := range []error{repo.ErrNotFound, repo.ErrExists, repo.ErrInvalid, tree.ErrHasChildren} {
			if errors.Is(err, fine) {
				err = nil
			}
		}
		if err != nil {
			t.Errorf("%s %s: %v", id, pos, err)
			return
		}
	}
}

// look reads until the context ends. No read finds a node twice or a node without its parent.
func look(ctx context.Context, t *testing.T, tr *tree.Tree[category], seed int) {
	rng := rand.New(rand.NewPCG(uint64(seed), 4))
	for ctx.Err() == nil {
		id := fmt.Sprint(rng.IntN(few))
		if rng.IntN(2) == 0 {
			if list, err := tr.Ancestors(t.Context(), id); err == nil {
				for i := range list {
					if i > 0 && list[i].Parent != list[i-1].ID || i == 0 && list[i].Parent != "" {
						t.Errorf("%s: an ancestor %s below %q", id, list[i].ID, list[i].Parent)
					}
				}
			} else if !errors.Is(err, repo.ErrNotFound) {
				t.Error(err)
			}
			continue
		}
		seen := []string{}
		for item, err := range tr.Descendants(t.Context(), "", 0) {
			switch {
			case err != nil:
				t.Error(err)
			case slices.Contains(seen, item.Node.ID):
				t.Errorf("%s is there twice, after %v", item.Node.ID, seen)
			case item.Node.Parent != "" && !slices.Contains(seen, item.Node.Parent):
				t.Errorf("%s comes before its parent %s: %v", item.Node.ID, item.Node.Parent, seen)
			}
			seen = append(seen, item.Node.ID)
		}
	}
}

// sound says what is wrong with the records of a tree that nobody changes.
func sound(t *testing.T, f *tree.Forest[category], s tree.Strategy) {
	t.Helper()
	nodes := map[string]category{}
	for n, err := range f.Nodes().Scan(t.Context(), repo.Where("tree", "shop")) {
		if err != nil {
			t.Fatal(err)
		}
		nodes[n.ID] = n
	}
	if s == tree.Document { // which was seen to be sound when it was read
		if len(nodes) > 0 {
			t.Errorf("%d records beside the document", len(nodes))
		}
		return
	}
	if bad := unsound(nodes, s); bad != "" {
		t.Error(bad)
	}
	if got := list(t, f.Tree("shop"), ""); len(got) != len(nodes) {
		t.Errorf("%d nodes are found from the roots, of %d: %q", len(got), len(nodes), got)
	}
	t.Logf("%d nodes", len(nodes))
}

// unsound says what is wrong with the nodes of a tree, "" if nothing is.
func unsound(nodes map[string]category, s tree.Strategy) string {
	for id, n := range nodes {
		if n.State == "gone" {
			return id + " is gone and there"
		}
		if want := map[tree.Strategy]string{tree.Path: "p", tree.Ancestors: "a", tree.NestedSets: "n"}[s]; n.Keeps != want {
			return fmt.Sprintf("%s keeps %q, want %q", id, n.Keeps, want)
		}
		if s != tree.NestedSets && n.Right != 0 || s != tree.Path && n.Path != "" || s != tree.Ancestors && n.Ancestors != nil {
			return fmt.Sprintf("%s has what another strategy keeps: %+v", id, n.Kept)
		}
		depth, above := 0, map[string]bool{}
		for at := n; at.Parent != ""; depth++ {
			up, ok := nodes[at.Parent]
			if !ok || depth > len(nodes) {
				return fmt.Sprintf("%s does not lie below a root: %s has the parent %q", id, at.ID, at.Parent)
			}
			if s == tree.Path && (len(at.Path) <= len(up.Path) || at.Path[:len(up.Path)] != up.Path) {
				return fmt.Sprintf("the path of %s is %q, and that of its parent %s %q", at.ID, at.Path, up.ID, up.Path)
			}
			if s == tree.Ancestors && !slices.Equal(at.Ancestors, append(slices.Clip(up.Ancestors), up.ID)) {
				return fmt.Sprintf("the ancestors of %s are %v, and those of its parent %s %v", at.ID, at.Ancestors, up.ID, up.Ancestors)
			}
			above[up.ID] = true
			at = up
		}
		for _, other := range nodes {
			if s == tree.NestedSets && above[other.ID] != (other.Left < n.Left && n.Right < other.Right) {
				return fmt.Sprintf("%s has the numbers %d to %d, and %s, %d to %d", id, n.Left, n.Right, other.ID, other.Left, other.Right)
			}
		}
	}
	return ""
}
