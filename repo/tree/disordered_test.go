package tree_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/tree"
)

// A reversed store yields the rows of the index of paths in reverse, as if that were spoilt.
type reversed struct {
	driver.Store
	spoilt bool
}

func (r *reversed) Range(ctx context.Context, span driver.Span) iter.Seq2[*driver.Row, error] {
	if !r.spoilt || !strings.Contains(span.Table.Name, "paths") {
		return r.Store.Range(ctx, span)
	}
	return func(yield func(*driver.Row, error) bool) {
		var rows []driver.Row
		for row, err := range r.Store.Range(ctx, span) {
			if err != nil {
				yield(nil, err)
				return
			}
			own := *row
			own.Fields = slices.Clone(row.Fields)
			rows = append(rows, own)
		}
		slices.Reverse(rows)
		for i := range rows {
			if !yield(&rows[i], nil) {
				return
			}
		}
	}
}

// Paths that are not in their order are told of, with the remedy, and nobody waits for others.
func TestPathsOutOfOrder(t *testing.T) {
	store := &reversed{Store: memory.New(nil)}
	f, ctx := openOn(t, store, tree.Schema{Collection: "categories", Strategy: tree.Path}), t.Context()
	tr := f.Tree("shop")
	plant(t, tr, "r a<r b<r c<b d<r")
	isTold := func(what string) {
		t.Helper()
		_, err := tr.Count(ctx, "r")
		if !errors.Is(err, repo.ErrCorrupt) || !strings.Contains(err.Error(), "Verify and Repair") {
			t.Errorf("%s: %v, want %v with the remedy", what, err, repo.ErrCorrupt)
		}
	}
	store.spoilt = true
	isTold("an index in reverse")
	store.spoilt = false
	a, err := tr.Get(ctx, "a")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Nodes().Update(ctx, repo.Key{"shop", "b"}, func(n *category) error { n.Path = a.Path; return nil }); err != nil {
		t.Fatal(err)
	}
	isTold("two nodes of one path")
	if left, err := tr.Repair(ctx); len(left) > 0 || err != nil {
		t.Errorf("%v, %v", left, err)
	}
	if got := drawn(t, tr, "", 0); got != "r(a b(c) d)" {
		t.Error(got)
	}
}

// A path that another program wrote, and whose parts are no keys, is found and mended, whoever reads the subtree before.
func TestPathThatIsNone(t *testing.T) {
	for what, broken := range map[string]func(path string) string{
		"a part that is no key": func(path string) string { return path + "%zz#c#" },
		"a part without an end": func(path string) string { return path + "d#c" },
		"no separators":         func(path string) string { return path + "c" },
		"one part too few":      func(path string) string { return path + "d#" },
		"one part too many":     func(path string) string { return path + "d#c#d#" },
	} {
		f, ctx := openOn(t, memory.New(nil), tree.Schema{Collection: "categories", Strategy: tree.Path}), t.Context()
		tr := f.Tree("shop")
		plant(t, tr, "r a<r b<r c<b d<c")
		b, err := tr.Get(ctx, "b")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Nodes().Update(ctx, repo.Key{"shop", "c"}, func(n *category) error { n.Path = broken(b.Path); return nil }); err != nil {
			t.Fatal(err)
		}
		_, err = tr.Ancestors(ctx, "c")
		if told := errors.Is(err, repo.ErrCorrupt) && strings.Contains(err.Error(), "Verify and Repair"); !told && strings.HasPrefix(what, "a part") {
			t.Errorf("%s: %v, want %v with the remedy", what, err, repo.ErrCorrupt)
		}
		_, _ = tr.Count(ctx, "r")
		bad, err := tr.Verify(ctx)
		if err != nil || len(bad) != 1 || bad[0].ID != "c" || !bad[0].Repairable {
			t.Errorf("%s: %v, %v", what, bad, err)
		}
		if left, err := tr.Repair(ctx); len(left) > 0 || err != nil {
			t.Errorf("%s: %v, %v", what, left, err)
		}
		whole(t, tr, what, "r(a b(c(d)))")
		if err := tr.Move(ctx, "b", tree.Under("a")); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		whole(t, tr, what, "r(a(b(c(d))))")
	}
}
