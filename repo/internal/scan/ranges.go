package scan

import (
	"context"
	"fmt"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/plan"
	"github.com/polystore/polystore/repo/internal/store"
)

// A ranged is a query that is one run of rows which cover what it finds. Plans of queries that differ in their ends alone
// are one.
type ranged struct {
	*plan.Plan
	run plan.Part
}

// ranges are queries that the store can read together: all are runs of one table.
type ranges struct {
	c    *Reader
	k    *store.Call
	list []ranged
}

// rangesOf returns some queries as ranges, nil if the store cannot read them together.
func rangesOf(c *Reader, k *store.Call, queries []plan.Query, by []plan.Access) *ranges {
	if _, ok := c.Store.Driver.(driver.Ranger); !ok || len(queries) < 2 {
		return nil
	}
	list, n := make([]ranged, 0, len(queries)), c.planner()
	for i, q := range queries {
		if i > 0 {
			if run, ok := n.Again(list[0].Plan, q); ok {
				list = append(list, ranged{list[0].Plan, run})
				continue
			}
		}
		p, err := n.Plan(q, by)
		if err != nil || !p.IsRange() || i > 0 && p.Table != list[0].Table {
			return nil // each by itself tells what is wrong
		}
		list = append(list, ranged{p, p.Parts[0]})
	}
	if x := list[0].X; x != nil {
		k.Uses(x.ID)
	}
	return &ranges{c, k, list}
}

// rows calls do with the live rows of each range, of which i is the index, until it wants no more of that one: many are
// read by one request, and again where rows have expired.
func (r *ranges) rows(ctx context.Context, do func(i int, row *driver.Row) (more bool, err error)) error {
	for from := 0; from < len(r.list); from += atOnceMost {
		all := make([]reading, min(atOnceMost, len(r.list)-from))
		for i := range all {
			q := &r.list[from+i]
			all[i] = newReading(r.c, r.k, q.Plan, &q.run, q.Limit, func(row *driver.Row) (bool, error) {
				if err := counted(r.k, q.Plan, row); err != nil {
					return false, err
				}
				return do(from+i, row)
			})
			wants(ctx, q.Plan, from+i, &all[i].span)
		}
		if err := r.together(ctx, all); err != nil {
			return err
		}
		for i := range all {
			one := &all[i]
			if one.again && one.err == nil {
				one.err = one.all(ctx)
			}
			if one.err != nil {
				return fmt.Errorf("query %d: %w", from+i, one.err)
			}
		}
	}
	return nil
}

// together reads what one request of the store finds, until a reading has an error.
func (r *ranges) together(ctx context.Context, all []reading) error {
	spans, of, asked := make([]driver.Span, 0, len(all)), make([]*reading, 0, len(all)), r.c.Store.NowMillis()
	for i := range all {
		if one := &all[i]; !one.part.Empty() {
			one.asked = asked
			spans, of = append(spans, one.span), append(of, one)
		}
	}
	return r.c.Store.Driver.(driver.Ranger).Ranges(r.k.Asks(ctx, len(spans)), spans, func(i int, row *driver.Row) bool {
		return of[i].row(row, nil) || of[i].err == nil
	})
}
