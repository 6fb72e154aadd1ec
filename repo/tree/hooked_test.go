package tree_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"testing"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/tree"
)

// A hooked store is that of one client. It calls functions around the client's commits and reads, from hook on.
type hooked struct {
	driver.Store

	mu     sync.Mutex
	counts [3]int
	before func(n int, ops []driver.Op) error // before commit n, counted from 1
	after  func(n int, ops []driver.Op)       // after commit n, if it was done
	row    func(n int)                        // after row n of a range, or the end of one
	get    func(t *driver.Table) error        // before rows are read by their keys
}

const (
	begun = iota
	done
	rows
)

// next counts a call, if there is a function to call.
func (h *hooked) next(of int, hooked bool) int {
	if !hooked {
		return 0
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.counts[of]++
	return h.counts[of]
}

func (h *hooked) Commit(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
	if h.before != nil {
		if err := h.before(h.next(begun, true), ops); err != nil {
			return nil, err
		}
	}
	refusal, err := h.Store.Commit(ctx, token, ops)
	if h.after != nil && refusal == nil && err == nil {
		h.after(h.next(done, true), ops)
	}
	return refusal, err
}

func (h *hooked) Get(ctx context.Context, t *driver.Table, keys []driver.Key, mask []int, rows []driver.Row) error {
	if h.get != nil {
		if err := h.get(t); err != nil {
			return err
		}
	}
	return h.Store.Get(ctx, t, keys, mask, rows)
}

func (h *hooked) Range(ctx context.Context, span driver.Span) iter.Seq2[*driver.Row, error] {
	return func(yield func(*driver.Row, error) bool) {
		h.Store.Range(ctx, span)(func(r *driver.Row, err error) bool {
			if h.row != nil {
				h.row(h.next(rows, true))
			}
			return yield(r, err)
		})
		if h.row != nil {
			h.row(h.next(rows, true))
		}
	}
}

var errDied = fmt.Errorf("the program died: %w", driver.ErrUnavailable)

// diesAt makes a client end before one of its commits.
func (h *hooked) diesAt(at int) {
	h.before = func(n int, _ []driver.Op) error {
		if n >= at {
			return errDied
		}
		return nil
	}
}

// shopOn opens a forest as a program of its own does, and returns a tree of it.
func shopOn(t *testing.T, store driver.Store, schema tree.Schema) *tree.Tree[category] {
	t.Helper()
	schema.Collection = "c"
	f, err := tree.Open[category](t.Context(), repo.NewStore(store, nil), schema)
	if err != nil {
		t.Fatal(err)
	}
	return f.Tree("shop")
}

// shopBeside returns a tree with nodes as two clients have it, of which calls of the first one are hooked.
func shopBeside(t *testing.T, schema tree.Schema, nodes string) (h *hooked, tr, other *tree.Tree[category]) {
	t.Helper()
	h = &hooked{Store: memory.New(nil)}
	tr, other = shopOn(t, h, schema), shopOn(t, h.Store, schema)
	plant(t, other, nodes)
	return h, tr, other
}

// whole says what is wrong with a tree that is to have an outline.
func whole(t *testing.T, tr *tree.Tree[category], what, outlined string) {
	t.Helper()
	if bad, err := tr.Verify(t.Context()); len(bad) > 0 || err != nil {
		t.Errorf("%s: %v, %v", what, bad, err)
	}
	if got := drawn(t, tr, "", 0); got != outlined {
		t.Errorf("%s: the tree is %s, want %s", what, got, outlined)
	}
}

// records are the strategies whose nodes are records.
var records = all[:4]

// isUnsure reports whether an error says that a call may have been done, and is not to be called again.
func isUnsure(err error) bool {
	e, ok := errors.AsType[*repo.Error](err)
	return ok && errors.Is(err, repo.ErrUnknownOutcome) && !e.Retryable
}
