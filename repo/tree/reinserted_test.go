package tree_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/tree"
)

// A reinsertion is a client that deletes the leaf x and inserts it elsewhere. It waits at one of its commits.
type reinsertion struct {
	goOn, done chan struct{}
	inserted   bool // x is where it was inserted
}

func reinsert(t *testing.T, store driver.Store, schema tree.Schema, under string, at int) *reinsertion {
	t.Helper()
	r := &reinsertion{goOn: make(chan struct{}), done: make(chan struct{})}
	h, waits := &hooked{Store: store}, make(chan struct{})
	tr := shopOn(t, h, schema)
	h.before = func(n int, _ []driver.Op) error {
		if n == at {
			close(waits)
			<-r.goOn
		}
		return nil
	}
	go func() {
		defer close(r.done)
		if err := tr.Delete(t.Context(), "x"); err != nil && !errors.Is(err, repo.ErrNotFound) {
			t.Error(err)
		}
		err := tr.Insert(t.Context(), tree.Under(under), &category{Node: tree.Node{ID: "x"}})
		if r.inserted = err == nil; err != nil && !errors.Is(err, repo.ErrExists) {
			t.Error(err)
		}
	}()
	<-waits
	return r
}

// goes lets the client go on, and waits until it has ended.
func (r *reinsertion) goes() {
	close(r.goOn)
	<-r.done
}

// A meeting is at which commit a reinsertion waits, and at which call of another client that one lets it go on.
type meeting struct{ waits, at int }

// meetings are those with a client that makes so many calls.
func meetings(calls int) (list []meeting) {
	for at := 1; at <= calls; at++ {
		list = append(list, meeting{1, at}, meeting{2, at})
	}
	return list
}

// meets lets a reinsertion go on when a client makes a call.
func (m meeting) meets(r *reinsertion) (call func(n int), rest func()) {
	goes := sync.OnceFunc(r.goes)
	return func(n int) {
		if n == m.at {
			goes()
		}
	}, goes
}

// A deletion of a subtree beside a leaf that is deleted and inserted elsewhere leaves it there.
func TestReinsertedBesideDeleteSubtree(t *testing.T) {
	for _, s := range records {
		inserted := 0
		for _, m := range meetings(4) {
			schema := tree.Schema{Strategy: s}
			h, tr, other := shopBeside(t, schema, "a b x<a")
			r := reinsert(t, h.Store, schema, "b", m.waits)
			meets, rest := m.meets(r)
			h.before = func(n int, _ []driver.Op) error {
				meets(n)
				return nil
			}
			if err := tr.DeleteSubtree(t.Context(), "a"); err != nil {
				t.Error(err)
			}
			rest()
			want := "b"
			if r.inserted {
				want, inserted = "b(x)", inserted+1
			}
			whole(t, other, fmt.Sprintf("%s, %+v", s, m), want)
		}
		if inserted < 3 {
			t.Errorf("%s: inserted %d times", s, inserted)
		}
	}
}

// A conversion beside a leaf that is deleted and inserted elsewhere gives it the fields of its new place.
func TestReinsertedBesideConvert(t *testing.T) {
	for _, from := range records {
		for _, to := range records {
			for _, m := range meetings(5) {
				if from == to {
					continue
				}
				schema := tree.Schema{Strategy: from, Also: records}
				h, tr, other := shopBeside(t, schema, "p q x<p r<q s<r")
				r := reinsert(t, h.Store, schema, "s", m.waits)
				meets, rest := m.meets(r)
				h.before = func(n int, _ []driver.Op) error {
					meets(n)
					return nil
				}
				if err := tr.Convert(t.Context(), to); err != nil {
					t.Errorf("%s to %s: %v", from, to, err)
				}
				rest()
				whole(t, other, fmt.Sprintf("%s to %s, %+v", from, to, m), "p q(r(s(x)))")
			}
		}
	}
}

// A walk beside a leaf that is deleted and inserted elsewhere yields it once at most.
func TestReinsertedBesideWalk(t *testing.T) {
	for _, k := range kinds() {
		if k.Strategy == tree.Document {
			continue
		}
		for _, m := range meetings(10) {
			schema := k.schema()
			h, tr, _ := shopBeside(t, schema, "a b c<a d<b x<c u<c v<d w<d")
			meets, rest := m.meets(reinsert(t, h.Store, schema, "d", m.waits))
			h.row = meets
			seen := map[string]int{}
			for item, err := range tr.Descendants(t.Context(), "", 0) {
				if err != nil {
					t.Fatal(err)
				}
				seen[item.Node.ID]++
			}
			rest()
			if seen["x"] > 1 || len(seen) < 7 {
				t.Errorf("%s, %+v: %v", k, m, seen)
			}
		}
	}
}

// What lies below a node of nested sets is not what lies below another one that has its numbers now.
func TestReplacedBesideWalk(t *testing.T) {
	h, tr, other := shopBeside(t, tree.Schema{Strategy: tree.NestedSets}, "r n<r")
	replace := sync.OnceFunc(func() {
		if err := other.Delete(t.Context(), "n"); err != nil {
			t.Error(err)
		}
		plant(t, other, "z<r k<z")
	})
	reads := 0
	h.get = func(*driver.Table) error {
		if reads++; reads == 3 { // after the guard and the node
			replace()
		}
		return nil
	}
	for item, err := range tr.Descendants(t.Context(), "n", 0) {
		if !errors.Is(err, repo.ErrNotFound) {
			t.Errorf("below n, which never had a child: %q, %v", item.Node.ID, err)
		}
	}
	whole(t, tr, "replaced", "r(z(k))")
}

// A move whose program died, of a node that is deleted and inserted again then, does not touch the new node.
func TestReinsertedAfterDeadMove(t *testing.T) {
	for _, s := range records {
		for _, under := range []string{"p", "r"} { // where it was, and elsewhere
			h, tr, other := shopBeside(t, tree.Schema{Strategy: s}, "p q r x<p y<x")
			h.diesAt(2)
			if err := tr.Move(t.Context(), "x", tree.Under("q")); (err == nil) != (s == tree.Adjacency) || err != nil && !isUnsure(err) {
				t.Errorf("%s: the move: %v", s, err)
			}
			for _, id := range []string{"y", "x"} {
				if err := other.Delete(t.Context(), id); err != nil {
					t.Fatal(err)
				}
			}
			plant(t, other, "x<"+under+" z<x zz<z")
			if err := other.Settle(t.Context()); err != nil {
				t.Error(err)
			}
			want := map[string]string{"p": "p(x(z(zz))) q r", "r": "p q r(x(z(zz)))"}[under]
			whole(t, other, fmt.Sprintf("%s under %s", s, under), want)
			if above := names(other.Ancestors(t.Context(), "zz")); above != under+" x z <nil>" {
				t.Errorf("%s: above zz are %s", s, above)
			}
		}
	}
}

// Of a deletion that another one does at the same time, the answer is that the node is gone.
func TestDeleteThatAnotherEnds(t *testing.T) {
	for _, s := range records {
		h, tr, other := shopBeside(t, tree.Schema{Strategy: s}, "r a<r")
		h.before = func(n int, _ []driver.Op) error {
			if n == 2 { // the node is closing
				if err := other.Insert(t.Context(), tree.Under("a"), &category{Node: tree.Node{ID: "k"}}); !errors.Is(err, repo.ErrNotFound) {
					t.Errorf("%s: an insert below it: %v", s, err)
				}
			}
			return nil
		}
		if err := tr.Delete(t.Context(), "a"); err != nil {
			t.Errorf("%s: %v", s, err)
		}
		whole(t, other, string(s), "r")
	}
}

// A deletion of a subtree beside others that do a part of it, and insert what they removed elsewhere, leaves that there.
func TestReinsertedBesideHelpers(t *testing.T) {
	for _, s := range records {
		inserts := 0
		for at := 1; at < 6; at++ {
			for dies := 2; dies < 6; dies++ {
				schema, want := tree.Schema{Strategy: s}, map[int]string{0: "a b", 1: "a b(e)", 2: "a b(k)", 3: "a b(e k)"}
				h, tr, other := shopBeside(t, schema, "a b c<a e<c k<e")
				inserted := 0
				h.before = func(n int, _ []driver.Op) error {
					if n != at {
						return nil
					}
					helper := &hooked{Store: h.Store}
					by := shopOn(t, helper, schema)
					helper.diesAt(dies)
					_ = by.Settle(t.Context())
					for i, id := range []string{"e", "k"} {
						err := other.Insert(t.Context(), tree.Under("b"), &category{Node: tree.Node{ID: id}})
						if err == nil {
							inserted += i + 1
						} else if !errors.Is(err, repo.ErrExists) {
							t.Errorf("%s: insert of %s: %v", s, id, err)
						}
					}
					return nil
				}
				if err := tr.DeleteSubtree(t.Context(), "c"); err != nil {
					t.Errorf("%s: %v", s, err)
				}
				whole(t, other, fmt.Sprintf("%s, a helper that dies at commit %d, before commit %d", s, dies, at), want[inserted])
				inserts += inserted
			}
		}
		if inserts < 3 {
			t.Errorf("%s: inserted %d times", s, inserts)
		}
	}
}
