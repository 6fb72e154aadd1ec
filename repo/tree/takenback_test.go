package tree_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/tree"
)

// tooDeep returns a tree in which a program that ended left a move half done, of b0 from below p and q to where b3
// would lie too deep for a path.
func tooDeep(t *testing.T, schema tree.Schema) (store driver.Store, other *tree.Tree[category]) {
	t.Helper()
	h, tr, other := shopBeside(t, schema, "p q<p")
	a := chain(t, other, "", "a"+long, 6)
	b := chain(t, other, "q", "b"+long, 4)
	h.diesAt(2)
	if err := tr.Move(t.Context(), b[0], tree.Under(a[5])); !isUnsure(err) {
		t.Errorf("the move: %v", err)
	}
	return h.Store, other
}

var long = strings.Repeat("x", 100)

// A move is taken back to the parent that another program is about to delete, and so it is not deleted.
func TestTakenBackBelowWhatIsClosing(t *testing.T) {
	_, tr := tooDeep(t, tree.Schema{Strategy: tree.Path})
	if err := tr.Delete(t.Context(), "q"); !errors.Is(err, tree.ErrHasChildren) {
		t.Errorf("%v, want %v", err, tree.ErrHasChildren)
	}
	soundAs(t, tr, "p(q(b0(b1(b2(b3))))) a0(a1(a2(a3(a4(a5)))))")
}

// Where a unique index has another node at the old place by now, a move is taken back to a place above it: the tree
// goes on, and readers see all nodes meanwhile.
func TestTakenBackBesideUnique(t *testing.T) {
	schema := tree.Schema{Strategy: tree.Path, Indexes: []repo.Index{{Partition: []string{"tree"}, Sort: []string{"parent", "name"}, Unique: true}}}
	for at := 1; at < 20; at++ {
		store, tr := tooDeep(t, schema)
		if err := tr.Insert(t.Context(), tree.Under("q"), &category{Node: tree.Node{ID: "twin"}}); err != nil {
			t.Fatal(err)
		}
		h := &hooked{Store: store}
		helper := shopOn(t, h, schema)
		h.diesAt(at)
		failed := helper.Settle(t.Context())
		if got := len(list(t, tr, "")); got != 13 {
			t.Errorf("%d nodes, want 13, after %d commits of one who ends it", got, at-1)
		}
		if err := tr.Settle(t.Context()); err != nil {
			t.Error(err)
		}
		soundAs(t, tr, "p(q(twin) b0(b1(b2(b3)))) a0(a1(a2(a3(a4(a5)))))")
		if failed == nil {
			return
		}
	}
}

// soundAs is whole, where long names are short.
func soundAs(t *testing.T, tr *tree.Tree[category], outlined string) {
	t.Helper()
	if bad, err := tr.Verify(t.Context()); len(bad) > 0 || err != nil {
		t.Error(bad, err)
	}
	if got := strings.ReplaceAll(drawn(t, tr, "", 0), long, ""); got != outlined {
		t.Errorf("%s, want %s", got, outlined)
	}
}

// What another program began to remove is in nobody's way.
func TestWriteBesideDeadRemoval(t *testing.T) {
	for _, s := range records {
		for _, id := range []string{"a", "x", "n"} {
			schema := tree.Schema{Strategy: s, Indexes: []repo.Index{{Partition: []string{"tree", "name"}, Unique: true}}}
			h, tr, other := shopBeside(t, schema, "r a<r x<a")
			h.diesAt(2)
			if err := tr.DeleteSubtree(t.Context(), "a"); !isUnsure(err) {
				t.Errorf("%s: %v", s, err)
			}
			if id == "n" {
				if _, err := other.Update(t.Context(), "r", func(c *category) error { c.Name = "a"; return nil }); err != nil {
					t.Errorf("%s: update to a name of a node that is deleted: %v", s, err)
				}
			}
			if err := other.Insert(t.Context(), tree.Under("r"), &category{Node: tree.Node{ID: id}, Name: "x"}); err != nil {
				t.Errorf("%s: insert of %s: %v", s, id, err)
			}
			whole(t, other, fmt.Sprint(s, " ", id), "r("+id+")")
		}
	}
}
