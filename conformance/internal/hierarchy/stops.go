package hierarchy

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/polystore/polystore/conformance/internal/rule"
	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/tree"
)

// A dying store is the store under test for a program that ends after so many commits.
type dying struct {
	driver.Store
	left atomic.Int64
}

var errDead = fmt.Errorf("the program has ended: %w", driver.ErrUnavailable)

// Commit commits while the program lives.
func (d *dying) Commit(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
	if d.left.Add(-1) < 0 {
		return nil, errDead
	}
	return d.Store.Commit(ctx, token, ops)
}

// many is how many nodes lie below the one that is moved: more than a commit writes.
const many = 130

// stops lets a program end after each of its commits.
func stops(ctx context.Context, e *env) {
	e.stopped(ctx, "moved", func(tr *tree.Tree[node]) error { return tr.Move(ctx, "x", tree.Under("b")) })
	e.stopped(ctx, "deleted", func(tr *tree.Tree[node]) error { return tr.DeleteSubtree(ctx, "x") })
}

func (e *env) stopped(ctx context.Context, name string, change func(tr *tree.Tree[node]) error) {
	want := [2]string{}
	for commits := -1; ; commits++ {
		tr := e.tree(ctx, fmt.Sprint(name, commits))
		n, err := tr.Load(ctx, func(yield func(node, error) bool) {
			for _, one := range [][2]string{{"a", ""}, {"x", "a"}, {"b", ""}} {
				if !yield(node{Node: tree.Node{ID: one[0], Parent: one[1]}}, nil) {
					return
				}
			}
			for i := range many {
				if !yield(node{Node: tree.Node{ID: fmt.Sprint("n", i), Parent: "x"}}, nil) {
					return
				}
			}
		})
		e.That(n == many+3 && err == nil, fmt.Sprintf("a load of %d nodes", many+3), "%d, %v", n, err)
		if commits < 0 { // without an end
			want[0] = e.outline(ctx, tr, "")
			e.OK("the change", change(tr))
			want[1] = e.outline(ctx, tr, "")
			e.That(want[0] != want[1], "a change of the tree", "none")
			continue
		}
		d := &dying{Store: e.Store}
		by := e.by(ctx, d, tr)
		d.left.Store(int64(commits))
		failed := change(by)
		seen := e.outline(ctx, tr, "")
		what := fmt.Sprintf("after %d commits of a program that stopped: the tree", commits)
		e.That(seen == want[0] || seen == want[1], what+" before or after the change", "%.300s", seen)
		e.OK("settle", tr.Settle(ctx))
		rule.Equal(e, what+" when the next program has ended the change", e.outline(ctx, tr, ""), seen)
		e.sound(ctx, tr)
		if failed == nil {
			return
		}
	}
}
