package scan

import (
	"cmp"
	"context"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/failure"
	"github.com/polystore/polystore/repo/internal/layout"
	"github.com/polystore/polystore/repo/internal/plan"
	"github.com/polystore/polystore/repo/internal/record"
	"github.com/polystore/polystore/repo/internal/store"
)

// Count returns how many records a query finds.
func (c *Reader) Count(ctx context.Context, k *store.Call, q plan.Query) (int, error) {
	if ctx == nil {
		return 0, failure.ErrNoContext
	}
	p, err := c.plan(k, q, c.KeyAccess)
	if err != nil || p.Empty() {
		return 0, err
	}
	if p.Limit > 0 {
		p.Limit += p.Offset
	}
	n, err := c.count(ctx, k, p)
	return max(n-p.Offset, 0), p.Unlooked(c.Redact, err)
}

// count is Count of what a plan finds.
func (c *Reader) count(ctx context.Context, k *store.Call, p *plan.Plan) (int, error) {
	if c.Known().NeedsRecords(p.X) || p.Looks() {
		n := 0
		err := c.members(ctx, k, p, []int{}, func(*record.Record, Position) (bool, error) {
			n++
			return n != p.Limit, nil
		})
		return n, cmp.Or(err, c.answers(ctx, p))
	}
	counter, ok := c.Store.Driver.(driver.Counter)
	if !ok || c.MayExpire() || !c.Store.Facts.Counts.Has || p.Doubles() {
		return c.countRows(ctx, k, p)
	}
	n := 0
	for i := range p.Parts {
		span := driver.Span{Table: p.Table, Key: p.Parts[i].Key, Limit: p.Limit}
		p.Parts[i].Bound(&span)
		if err := c.Bounds(p, &span); err != nil {
			return n, err
		}
		m, err := counter.Count(k.Asks(ctx, 1), span)
		if err != nil {
			return 0, err
		}
		n += m
	}
	if p.Limit > 0 {
		n = min(n, p.Limit)
	}
	if err := c.answers(ctx, p); err != nil || !c.MayExpire() {
		return n, err
	}
	return c.countRows(ctx, k, p) // a store that counts does not look at the clock
}

// countRows counts the rows of a run that have not expired.
func (c *Reader) countRows(ctx context.Context, k *store.Call, p *plan.Plan) (n int, err error) {
	err = c.rows(ctx, k, p, p.Limit, func(*driver.Row) (more bool, err error) {
		n++
		return n != p.Limit, nil
	})
	if err != nil {
		return 0, err
	}
	return n, c.answers(ctx, p)
}

// Keys calls yield with the keys of the records that a query finds, until it returns false.
func (c *Reader) Keys(ctx context.Context, k *store.Call, q plan.Query, yield func([]any) bool) error {
	if ctx == nil {
		return failure.ErrNoContext
	}
	p, err := c.plan(k, q, c.KeyAccess)
	if err != nil || p.Empty() {
		return err
	}
	if p.Offset > 0 {
		skips, each := p.Skip(), yield
		yield = func(key []any) bool { return skips() || each(key) }
	}
	n := 0
	if c.Known().NeedsRecords(p.X) || p.Looks() {
		err := c.members(ctx, k, p, []int{}, func(rec *record.Record, _ Position) (bool, error) {
			n++
			return yield(layout.KeyFrom(rec.Vals[:len(c.Key)])) && n != p.Limit, nil
		})
		return cmp.Or(p.Unlooked(c.Redact, err), c.answers(ctx, p))
	}
	err = c.rows(ctx, k, p, p.Limit, func(row *driver.Row) (more bool, err error) {
		key := row.Key
		if p.X != nil && !p.X.Native {
			if key, err = c.RecordKey(p.X, row); err != nil {
				return false, err
			}
		}
		vals, err := c.PartsOf(nil, key)
		if err != nil {
			return false, err
		}
		n++
		return yield(layout.KeyFrom(vals)) && n != p.Limit, nil
	})
	return cmp.Or(err, c.answers(ctx, p))
}
