package history_test

import (
	"context"
	"iter"
	"testing"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/history"
)

// A counter counts the calls of a store on pages and their revisions. Those of several tables at the same time are one
// each.
type counter struct {
	driver.Store
	reads, commits, ops int
}

func (c *counter) Get(ctx context.Context, t *driver.Table, keys []driver.Key, mask []int, rows []driver.Row) error {
	c.reads++
	return c.Store.Get(ctx, t, keys, mask, rows)
}

func (c *counter) Range(ctx context.Context, span driver.Span) iter.Seq2[*driver.Row, error] {
	c.reads++
	return c.Store.Range(ctx, span)
}

func (c *counter) Commit(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
	c.commits, c.ops = c.commits+1, c.ops+len(ops)
	return c.Store.Commit(ctx, token, ops)
}

// Each write is one commit, of two rows and at most one op more, and one read before, which is all that it costs where
// commits are certain.
func TestCost(t *testing.T) {
	for _, tt := range []struct {
		keep history.Keep
		ops  int
	}{{history.Keep{}, 2}, {history.Keep{Revisions: 3}, 3}, {history.Keep{For: 1e10}, 3}} {
		c := &counter{Store: memory.New(nil)}
		ctx, h := t.Context(), on(t, c, tt.keep)
		for range 5 {
			must(t, h.Put(ctx, text("a")))
		}
		*c = counter{Store: c.Store}
		must(t, h.Put(ctx, text("b")))
		if c.commits != 1 || c.ops != tt.ops || c.reads > 3 {
			t.Errorf("%+v: %d reads and %d commits with %d ops; want 3, 1 and %d", tt.keep, c.reads, c.commits, c.ops, tt.ops)
		}
		*c = counter{Store: c.Store}
		must(t, h.Records().Put(ctx, text("c")))
		if c.commits != 1 || c.ops != 1 {
			t.Errorf("a plain write is %d commits with %d ops", c.commits, c.ops)
		}
	}
}
