package tree_test

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"testing"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/tree"
)

// numbered yields n nodes, each with the parent that under returns of its number, and calls at before one of them.
func numbered(n int, under func(i int) string, at int, do func()) iter.Seq2[category, error] {
	return func(yield func(category, error) bool) {
		for i := range n {
			if i == at {
				do()
			}
			if !yield(category{Node: tree.Node{ID: fmt.Sprintf("n%03d", i), Parent: under(i)}}, nil) {
				return
			}
		}
	}
}

// A tree that another program converts while nodes are loaded has them all then.
func TestLoadBesideConvert(t *testing.T) {
	third := func(i int) string {
		if i == 0 {
			return ""
		}
		return fmt.Sprintf("n%03d", (i-1)/3)
	}
	for _, from := range all {
		for _, to := range all {
			for _, at := range []int{0, 1, 120, 149} {
				if from == to {
					continue
				}
				_, tr, other := shopBeside(t, tree.Schema{Strategy: from, Also: all}, "old a<old")
				n, err := tr.Load(t.Context(), numbered(150, third, at, func() {
					if err := other.Convert(t.Context(), to); err != nil {
						t.Error(err)
					}
				}))
				left, err2 := other.Count(t.Context(), "")
				bad, err3 := other.Verify(t.Context())
				if n != 150 || left != 152 || len(bad) > 0 || errors.Join(err, err2, err3) != nil {
					t.Errorf("%s to %s before node %d: %d of 150 were loaded, and %d of 152 are there: %v, %v, %v, %v", from, to, at, n, left, err, err2, bad, err3)
				}
				if is, err := other.Strategy(t.Context()); is != to || err != nil {
					t.Errorf("%s to %s: it is %s, %v", from, to, is, err)
				}
			}
		}
	}
}

// Siblings are loaded in their order, whoever writes beside them meanwhile.
func TestLoadKeepsTheOrder(t *testing.T) {
	for _, s := range records {
		h, tr, other := shopBeside(t, tree.Schema{Strategy: s}, "first")
		touch := func(id string) {
			if _, err := other.Update(t.Context(), id, func(*category) error { return nil }); err != nil {
				t.Error(err)
			}
		}
		h.before = func(n int, _ []driver.Op) error {
			switch n {
			case 1: // the load goes on one by one
				plant(t, other, "second")
				touch("first")
			case 40:
				for i := range 150 {
					plant(t, other, fmt.Sprintf("other%d<n000", i))
				}
			}
			return nil
		}
		n, err := tr.Load(t.Context(), numbered(320, func(i int) string { return []string{"", "n000"}[min(i, 1)] }, 250, func() { touch("n000") }))
		if n != 320 || err != nil {
			t.Errorf("%s: %d, %v", s, n, err)
		}
		got := slices.DeleteFunc(beneath(t, other, "n000"), func(id string) bool { return id[0] != 'n' })
		if len(got) != 319 || !slices.IsSorted(got) {
			t.Errorf("%s: %d siblings, not in their order: %q", s, len(got), got)
		}
	}
}

// A reader of nested sets helps to number what is loaded. One that is slow with it does not end it for nodes that came
// since.
func TestLoadBesideSlowHelper(t *testing.T) {
	store := memory.New(nil)
	loading, reading := &hooked{Store: store}, &hooked{Store: store}
	schema := tree.Schema{Strategy: tree.NestedSets}
	tr, reader := shopOn(t, loading, schema), shopOn(t, reading, schema)
	plant(t, tr, "old")
	waits, goOn, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
	writes := func(ops []driver.Op, table string) bool {
		return slices.ContainsFunc(ops, func(op driver.Op) bool { return op.Table.Name == table && op.Do == driver.Put })
	}
	helps := false
	reading.before = func(_ int, ops []driver.Op) error {
		if writes(ops, "c_trees") && !helps {
			helps = true
			close(waits)
			<-goOn
		}
		return nil
	}
	loading.after = func(n int, _ []driver.Op) {
		if n == 3 { // the last nodes are there
			close(goOn)
			<-ended
		}
	}
	n, err := tr.Load(t.Context(), numbered(150, func(int) string { return "" }, 120, func() {
		go func() {
			defer close(ended)
			if _, err := reader.Count(t.Context(), ""); err != nil && !errors.Is(err, repo.ErrContention) {
				t.Error(err)
			}
		}()
		<-waits
	}))
	if n != 150 || err != nil {
		t.Error(n, err)
	}
	count, err := tr.Count(t.Context(), "")
	bad, err2 := tr.Verify(t.Context())
	if count != 151 || len(bad) > 0 || errors.Join(err, err2) != nil {
		t.Errorf("%d nodes of 151, %v, %v, %v", count, bad, err, err2)
	}
}

// Verify of a sound tree says nothing, also where nodes come while it reads.
func TestVerifyBesideInserts(t *testing.T) {
	for _, s := range records {
		for at := 1; at < 6; at++ {
			h, tr, other := shopBeside(t, tree.Schema{Strategy: s}, "r m<r")
			h.row = func(n int) {
				if n == at {
					plant(t, other, "b<r z<b y<z")
				}
			}
			if bad, err := tr.Verify(t.Context()); len(bad) > 0 || err != nil {
				t.Errorf("%s, at row %d: %v, %v", s, at, bad, err)
			}
		}
	}
}

// Roots that are loaded while a conversion is under way keep what the tree keeps when they come.
func TestLoadBesideDeadConvert(t *testing.T) {
	for _, from := range records {
		for _, to := range records {
			schema := tree.Schema{Strategy: from, Also: records}
			h, dead, other := shopBeside(t, schema, "old a<old")
			h.diesAt(2)
			if err := dead.Convert(t.Context(), to); (err == nil) != (from == to) {
				t.Error(err)
			}
			tr := shopOn(t, h.Store, schema)
			n, err := tr.Load(t.Context(), numbered(5, func(int) string { return "" }, 3, func() {
				if err := errors.Join(other.Settle(t.Context()), other.Convert(t.Context(), tree.NestedSets)); err != nil {
					t.Error(err)
				}
			}))
			if n != 5 || err != nil {
				t.Errorf("%s to %s: %d, %v", from, to, n, err)
			}
			whole(t, other, fmt.Sprintf("%s to %s", from, to), "old(a) n000 n001 n002 n003 n004")
		}
	}
}
