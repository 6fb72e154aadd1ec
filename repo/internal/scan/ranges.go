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

// rangesOf returns some queries as those that the store can read together, nil if it cannot: all are runs of one table.
func (c *Reader) rangesOf(k *store.Call, queries []plan.Query, by []plan.Access) []ranged {
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
	return list
}

// ranges calls do with the live rows of each range, of which i is the index, until it wants no more of that one: many are
// read by one request, and again where rows have expired.
func (c *Reader) ranges(ctx context.Context, k *store.Call, list []ranged, do func(i int, row *driver.Row) (more bool, err error)) error {
	for from := 0; from < len(list); from += atOnceMost {
		all := make([]reading, min(atOnceMost, len(list)-from))
		for i := range all {
			r := &list[from+i]
			all[i] = c.readingOf(k, r.Plan, &r.run, r.Limit, func(row *driver.Row) (bool, error) {
				if err := counted(k, r.Plan, row); err != nil {
					return false, err
				}
				return do(from+i, row)
			})
		}
		if err := c.together(ctx, k, all); err != nil {
			return err
		}
		for i := range all {
			r := &all[i]
			if r.again && r.err == nil {
				r.err = r.all(ctx)
			}
			if r.err != nil {
				return fmt.Errorf("query %d: %w", from+i, r.err)
			}
		}
	}
	return nil
}

// together reads what one request of the store finds, until a reading has an error.
func (c *Reader) together(ctx context.Context, k *store.Call, all []reading) error {
	spans, of, asked := make([]driver.Span, 0, len(all)), make([]*reading, 0, len(all)), c.Store.NowMillis()
	for i := range all {
		if r := &all[i]; !r.part.Empty() {
			r.asked = asked
			spans, of = append(spans, r.span), append(of, r)
		}
	}
	return c.Store.Driver.(driver.Ranger).Ranges(k.Asks(ctx, len(spans)), spans, func(i int, row *driver.Row) bool {
		return of[i].row(row, nil) || of[i].err == nil
	})
}
