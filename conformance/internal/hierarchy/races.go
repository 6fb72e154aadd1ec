package hierarchy

import (
	"context"
	"iter"
	"sync"

	"github.com/polystore/polystore/conformance/internal/rule"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/tree"
)

// A meddled store is the store under test, on which something else is done between two calls.
type meddled struct {
	driver.Store
	mu       sync.Mutex
	reads    int    // before which it is done
	onCommit func() // done before the first commit
	onRead   func()
}

func (m *meddled) take(on *func()) {
	m.mu.Lock()
	do := *on
	*on = nil
	m.mu.Unlock()
	if do != nil {
		do()
	}
}

// Commit meddles before the first.
func (m *meddled) Commit(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
	m.take(&m.onCommit)
	return m.Store.Commit(ctx, token, ops)
}

func (m *meddled) read() {
	m.mu.Lock()
	now := m.reads == 0
	m.reads--
	m.mu.Unlock()
	if now {
		m.take(&m.onRead)
	}
}

// Get meddles if it is the read.
func (m *meddled) Get(ctx context.Context, t *driver.Table, keys []driver.Key, mask []int, rows []driver.Row) error {
	m.read()
	return m.Store.Get(ctx, t, keys, mask, rows)
}

// Range meddles if it is the read.
func (m *meddled) Range(ctx context.Context, span driver.Span) iter.Seq2[*driver.Row, error] {
	return func(yield func(*driver.Row, error) bool) {
		m.read()
		m.Store.Range(ctx, span)(yield)
	}
}

// oppositeMoves moves each of two nodes below the other, one of them before the other's commit.
func oppositeMoves(ctx context.Context, e *env) {
	tr := e.tree(ctx, "opposite")
	e.plant(ctx, tr, "a b c<a d<b")
	m := &meddled{Store: e.Store}
	other := e.by(ctx, m, tr)
	m.onCommit = func() { e.OK("move of b below c", tr.Move(ctx, "b", tree.Under("c"))) }
	e.Is("move of a below d, which lies below a by then", other.Move(ctx, "a", tree.Under("d")), tree.ErrBelowItself)
	rule.Equal(e, "the tree", e.outline(ctx, tr, ""), "a .c ..b ...d ")
	e.sound(ctx, tr)
}

// insertAndDelete inserts a node below one that is deleted before the commit, and deletes one below which a node is
// inserted before the first commit.
func insertAndDelete(ctx context.Context, e *env) {
	tr := e.tree(ctx, "insert and delete")
	e.plant(ctx, tr, "a b c")
	m := &meddled{Store: e.Store}
	other := e.by(ctx, m, tr)
	m.onCommit = func() { e.OK("delete of a", tr.Delete(ctx, "a")) }
	e.Is("insert below what was deleted", other.Insert(ctx, tree.Under("a"), &node{Node: tree.Node{ID: "x"}}), repo.ErrNotFound)
	m.onCommit = func() { e.OK("insert below b", tr.Insert(ctx, tree.Under("b"), &node{Node: tree.Node{ID: "y"}})) }
	e.Is("delete of what has got a child", other.Delete(ctx, "b"), tree.ErrHasChildren)
	rule.Equal(e, "the tree", e.outline(ctx, tr, ""), "b .y c ")
	e.sound(ctx, tr)
}

// readsDuringMoves reads a subtree that is moved before one of the reads.
func readsDuringMoves(ctx context.Context, e *env) {
	tr := e.tree(ctx, "reads")
	e.plant(ctx, tr, "a b c<a d<a e<c")
	before, after := "a .c ..e .d b ", "a .d b .c ..e "
	for reads := range 6 {
		m := &meddled{Store: e.Store}
		other := e.by(ctx, m, tr)
		m.mu.Lock()
		m.reads, m.onRead = reads, func() { e.OK("move of c below b", tr.Move(ctx, "c", tree.Under("b"))) }
		m.mu.Unlock()
		got := e.outline(ctx, other, "")
		e.That(got == before || got == after, "the tree before or after the move: "+before+"or "+after, "%s", got)
		m.take(&m.onRead) // if there were fewer reads
		rule.Equal(e, "the tree after the move", e.outline(ctx, tr, ""), after)
		e.OK("move of c back", tr.Move(ctx, "c", tree.FirstUnder("a")))
	}
}
