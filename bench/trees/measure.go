package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"runtime"
	"strconv"
	"time"

	"github.com/polystore/polystore/backends"
	"github.com/polystore/polystore/bench/internal/tool"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/tree"
)

// A node is a record of about 100 bytes.
type node struct {
	tree.Node
	Name string `repo:"name"`
}

// measure measures one store, and removes what it put there.
func measure(ctx context.Context, url string, o *options, w io.Writer) (err error) {
	store, err := backends.Open(ctx, url, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	fmt.Fprintf(w, "%s\n", store.Facts().Name)
	for _, s := range []tree.Strategy{tree.Adjacency, tree.Path, tree.Ancestors, tree.NestedSets} {
		r := report{w, string(s)}
		err := withTree(ctx, store, s, func(t *tree.Tree[node]) error { return r.strategy(ctx, t, o) })
		if err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
	}
	r := report{w, "siblings"}
	err = withTree(ctx, store, tree.Adjacency, func(t *tree.Tree[node]) error { return r.inserts(ctx, t, o.inserts) })
	if err != nil {
		return err
	}
	return withTree(ctx, store, tree.Adjacency, func(t *tree.Tree[node]) error { return r.list(ctx, t, o.siblings) })
}

// withTree calls do with an empty tree, and removes it.
func withTree(ctx context.Context, store *repo.Store, s tree.Strategy, do func(t *tree.Tree[node]) error) error {
	name := "trees_" + string(s)
	f, err := tree.Open[node](ctx, store, tree.Schema{Collection: name, Strategy: s})
	if err == nil {
		err = do(f.Tree("t"))
	}
	last := context.WithoutCancel(ctx)
	return errors.Join(err, repo.DropCollection(last, store, name+"_trees"), repo.DropCollection(last, store, name))
}

// A report writes lines about one thing.
type report struct {
	w    io.Writer
	name string
}

// took writes how long something took that did n of a kind, and the processor time of this process, which other
// programs on the machine do not change much.
func (r *report) took(what string, n int, do func() error) error {
	begun, before := time.Now(), tool.CPU()
	if err := do(); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	took, busy := time.Since(begun), tool.CPU()-before
	rate := func(d time.Duration) float64 { return float64(n) / max(d, time.Microsecond).Seconds() }
	_, err := fmt.Fprintf(r.w, "%-12s %-28s %12s %10.0f a second %12s of CPU %10.0f a second of it\n", r.name, what,
		took.Round(10*time.Microsecond), rate(took), busy.Round(10*time.Microsecond), rate(busy))
	return err
}

// strategy loads a tree, and reads and moves a ninth of it.
func (r *report) strategy(ctx context.Context, t *tree.Tree[node], o *options) error {
	err := r.took("load of "+strconv.Itoa(o.nodes), o.nodes, func() error { _, err := t.Load(ctx, nodes(o.nodes, 10)); return err })
	if err != nil {
		return err
	}
	part, err := t.Count(ctx, "n2")
	if err != nil {
		return err
	}
	return errors.Join(
		r.took("subtree of "+strconv.Itoa(part), part, func() error { _, err := t.Count(ctx, "n2"); return err }),
		r.took("move of "+strconv.Itoa(part+1), part+1, func() error { return t.Move(ctx, "n2", tree.Under("n1")) }),
	)
}

// inserts adds siblings one after another, and says how long each tenth took.
func (r *report) inserts(ctx context.Context, t *tree.Tree[node], n int) error {
	for tenth := range 10 {
		err := r.took(fmt.Sprintf("insert, tenth %d of %d", tenth+1, n), n/10, func() error {
			for i := tenth * n / 10; i < (tenth+1)*n/10; i++ {
				if err := t.Insert(ctx, tree.Under(""), nodeOf(i)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return r.places(ctx, t)
}

// list loads siblings, and does a few calls on the list.
func (r *report) list(ctx context.Context, t *tree.Tree[node], n int) error {
	middle := "n" + strconv.Itoa(n/2)
	for _, one := range []struct {
		what string
		n    int
		do   func() error
	}{
		{"load of " + strconv.Itoa(n), n, func() error { _, err := t.Load(ctx, nodes(n, 0)); return err }},
		{"first page of 20", 20, func() error { _, err := t.ChildrenPage(ctx, "", 20, ""); return err }},
		{"insert in the middle", 1, func() error { return t.Insert(ctx, tree.After(middle), nodeOf(n)) }},
		{"move to the front", 1, func() error { return t.Move(ctx, middle, tree.FirstUnder("")) }},
		{"insert at the end", 1, func() error { return t.Insert(ctx, tree.Under(""), nodeOf(n+1)) }},
	} {
		if err := r.took(one.what, one.n, one.do); err != nil {
			return err
		}
	}
	return r.places(ctx, t)
}

// places reads all siblings, and writes how long their places are.
func (r *report) places(ctx context.Context, t *tree.Tree[node]) error {
	n, sum, longest := 0, 0, 0
	err := r.took("walk", 1, func() error {
		for c, err := range t.Children(ctx, "") {
			if err != nil {
				return err
			}
			n, sum, longest = n+1, sum+len(c.Place), max(longest, len(c.Place))
		}
		return nil
	})
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	fmt.Fprintf(r.w, "%-12s %d siblings; a place has %.1f bytes, the longest %d; the program's heap %d MiB\n",
		r.name, n, float64(sum)/float64(max(n, 1)), longest, m.HeapAlloc>>20)
	return err
}

func nodeOf(i int) *node {
	return &node{Node: tree.Node{ID: "n" + strconv.Itoa(i)}, Name: "name of " + strconv.Itoa(i)}
}

// nodes yields n nodes, of which each has k children; k 0 is all roots.
func nodes(n, k int) iter.Seq2[node, error] {
	return func(yield func(node, error) bool) {
		for i := range n {
			rec := nodeOf(i)
			if k > 0 && i > 0 {
				rec.Parent = "n" + strconv.Itoa((i-1)/k)
			}
			if !yield(*rec, nil) {
				return
			}
		}
	}
}
