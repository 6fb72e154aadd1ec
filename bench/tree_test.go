package main

import (
	"context"
	"errors"
	"testing"
)

// Each candidate of trees passes the check, and each way to be wrong is found by it.
func TestCheckTree(t *testing.T) {
	opened := func(c *candidate) trees {
		s, err := c.tree(place{dir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := s.close(); err != nil {
				t.Error(err)
			}
		})
		return s
	}
	for i := range treesOnPebble {
		c := &treesOnPebble[i]
		if err := checkTree(t.Context(), c, opened(c), effort{100, 5}, 1); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	faults := map[string]func(trees) trees{
		"moves a node below itself":     func(t trees) trees { return looper{t} },
		"inserts below nobody":          func(t trees) trees { return orphaner{t} },
		"leaves out the last of a list": func(t trees) trees { return shortener{t} },
		"turns the ancestors round":     func(t trees) trees { return turner{t} },
		"sees half of a subtree":        func(t trees) trees { return cutter{t} },
	}
	for name, fault := range faults {
		c := &treesOnPebble[0]
		if err := checkTree(t.Context(), c, fault(opened(c)), effort{100, 5}, 1); !errors.Is(err, errWrongTree) {
			t.Errorf("a candidate that %s: %v, want %v", name, err, errWrongTree)
		}
	}
}

type looper struct{ trees }

func (l looper) move(ctx context.Context, id, parent string) error {
	_ = l.trees.move(ctx, id, parent)
	return nil
}

type orphaner struct{ trees }

func (o orphaner) insert(ctx context.Context, n *node) error {
	_ = o.trees.insert(ctx, n)
	return nil
}

type shortener struct{ trees }

func (s shortener) children(ctx context.Context, parent string, n int, visit func(node)) (bool, error) {
	return s.trees.children(ctx, parent, n-1, visit)
}

type turner struct{ trees }

func (r turner) ancestors(ctx context.Context, id string, visit func(node)) error {
	list, err := collect(func(visit func(node)) error { return r.trees.ancestors(ctx, id, visit) })
	for i := range list {
		visit(list[len(list)-1-i])
	}
	return err
}

type cutter struct{ trees }

func (c cutter) subtree(ctx context.Context, id string, visit func(node)) error {
	list, err := collect(func(visit func(node)) error { return c.trees.subtree(ctx, id, visit) })
	for i := range len(list) / 2 {
		visit(list[i])
	}
	return err
}
