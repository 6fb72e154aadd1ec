package repo

import (
	"cmp"
	"context"

	"github.com/polystore/polystore/repo/driver"
)

func (c *reader) count(ctx context.Context, k *call, q queryDef) (int, error) {
	if ctx == nil {
		return 0, errNoContext
	}
	p, err := c.planner().plan(q, c.keyAccess)
	if err != nil || p.empty() {
		return 0, err
	}
	if c.known().needsRecords(p.x) {
		n := 0
		err := c.matching(ctx, k, &p, maskWith(c.layoutC, []int{}, &p.bound), func(*record, position) (bool, error) {
			n++
			return true, nil
		})
		return n, cmp.Or(err, c.answers(ctx, &p))
	}
	counter, ok := c.store.driver.(driver.Counter)
	if !ok || c.mayExpire() || !c.store.facts.Counts.Has {
		return c.countRows(ctx, k, &p)
	}
	n := 0
	for _, part := range p.parts {
		span := driver.Span{Table: p.table, Key: part, Limit: p.limit}
		p.extent.bound(&span)
		if err := c.bounds(&p, &span); err != nil {
			return n, err
		}
		m, err := counter.Count(k.asks(ctx, 1), span)
		if err != nil {
			return 0, err
		}
		n += m
	}
	if p.limit > 0 {
		n = min(n, p.limit)
	}
	if err := c.answers(ctx, &p); err != nil || !c.mayExpire() {
		return n, err
	}
	return c.countRows(ctx, k, &p) // a store that counts does not look at the clock
}

// countRows counts the rows of a run that have not expired.
func (c *reader) countRows(ctx context.Context, k *call, p *plan) (n int, err error) {
	for _, err := range c.rows(ctx, k, p, p.limit) {
		if err != nil {
			return 0, err
		}
		if n++; n == p.limit {
			break
		}
	}
	return n, c.answers(ctx, p)
}

func (c *reader) keys(ctx context.Context, k *call, q queryDef, yield func([]any) bool) error {
	if ctx == nil {
		return errNoContext
	}
	p, err := c.planner().plan(q, c.keyAccess)
	if err != nil || p.empty() {
		return err
	}
	if c.known().needsRecords(p.x) {
		err := c.matching(ctx, k, &p, maskWith(c.layoutC, []int{}, &p.bound), func(rec *record, _ position) (bool, error) {
			return yield(keyFrom(rec.vals[:len(c.key)])), nil
		})
		return cmp.Or(err, c.answers(ctx, &p))
	}
	n := 0
	for row, err := range c.rows(ctx, k, &p, p.limit) {
		if err != nil {
			return err
		}
		key := row.Key
		if p.x != nil && !p.x.native {
			if key, err = c.recordKey(p.x, row); err != nil {
				return err
			}
		}
		vals, err := c.partsOf(nil, key)
		if err != nil {
			return err
		}
		if n++; !yield(keyFrom(vals)) || n == p.limit {
			break
		}
	}
	return c.answers(ctx, &p)
}
