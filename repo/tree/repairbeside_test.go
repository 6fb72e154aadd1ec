package tree_test

import (
	"errors"
	"testing"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/tree"
)

// A deletion beside one who repairs the node is done if that is what it says. One that was refused is not done later.
func TestDeleteBesideRepair(t *testing.T) {
	for _, s := range records {
		for _, refused := range []bool{false, true} {
			ctx, h := t.Context(), &hooked{Store: memory.New(nil)}
			f, deleter := openOn(t, h, tree.Schema{Collection: "c", Strategy: s}), &hooked{Store: h.Store}
			tr, other := f.Tree("shop"), shopOn(t, deleter, tree.Schema{Strategy: s})
			plant(t, other, "a")
			if refused {
				plant(t, other, "x<a")
			}
			if _, err := f.Nodes().Patch(ctx, repo.Key{"shop", "a"}, repo.Set("place", "")); err != nil {
				t.Fatal(err)
			}
			goOn, closed, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
			deleter.before = func(n int, _ []driver.Op) error {
				if n == 2 {
					close(closed)
					<-goOn
				}
				return nil
			}
			begin := func() {
				go func() { ended <- other.Delete(ctx, "a") }()
				<-closed
			}
			if refused {
				begin()
			}
			h.before = func(n int, _ []driver.Op) error {
				switch {
				case n > 1:
				case refused:
					close(goOn)
					ended <- <-ended
				default:
					begin()
				}
				return nil
			}
			if left, err := tr.Repair(ctx); len(left) > 0 || err != nil {
				t.Errorf("%s: repair: %v, %v", s, left, err)
			}
			if !refused {
				close(goOn)
			}
			err, want := <-ended, ""
			if refused {
				want = "a"
				err = errors.Join(tr.Delete(ctx, "x"), tr.Insert(ctx, tree.Under("a"), &category{Node: tree.Node{ID: "y"}}), tr.Delete(ctx, "y"))
			}
			if err != nil {
				t.Errorf("%s, refused %v: %v", s, refused, err)
			}
			whole(t, tr, string(s), want)
		}
	}
}
