package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/failure"
	"github.com/polystore/polystore/repo/internal/limit"
)

// Ranked finds how to answer a query whose records are ranked by how many of some values their list has. The rows of the
// plan are read with the fields of by, and the records by key. If it fails, the plan may have an index already.
func (c *Planner) Ranked(q Query, by []Access) (*Plan, error) {
	q.ranked = true
	lists := 0
	for _, s := range q.Sets {
		if strings.HasSuffix(s.Field, "[]") {
			lists++
		}
	}
	switch {
	case lists != 1:
		return new(Plan), failure.Invalid("records are ranked by the values of one AnyOf over the elements of a list; the query has %d such", lists)
	case q.Limit == 0:
		return new(Plan), failure.Invalid("the best of all records are ranked in memory; say by Limit how many are wanted")
	case q.Limit > limit.MaxRanked || q.Offset > limit.MaxRanked-q.Limit:
		return new(Plan), failure.Invalid("limit %d and offset %d: at most %d records are ranked", q.Limit, q.Offset, limit.MaxRanked)
	}
	return c.Plan(q, by)
}

// counts reports whether a condition is one whose values are counted in ranked records.
func (cond *condition) counts() bool { return cond.set && cond.Elem }

// counted returns the condition whose values are counted in ranked records, nil if there is none.
func (b *Bound) counted() *condition {
	if i := slices.IndexFunc(b.conds, func(cond condition) bool { return cond.counts() }); b.query.ranked && i >= 0 {
		return &b.conds[i]
	}
	return nil
}

// term returns which of the values that are counted is the one that is looked at.
func (b *Bound) term() int {
	if cond := b.counted(); cond != nil {
		return slices.IndexFunc(cond.any, cond.value.Equal)
	}
	return 0
}

// Terms returns how many values are counted in ranked records.
func (b *Bound) Terms() int { return len(b.counted().any) }

// Count returns how many of the values a record has.
func (b *Bound) Count(vals []driver.Value) (n int) {
	cond := b.counted()
	list := cond.Of(vals)
	for _, v := range cond.any {
		if slices.ContainsFunc(list.List(), v.Equal) {
			n++
		}
	}
	return n
}

// ExplainRanked describes a plan for ranked records.
func (c *Planner) ExplainRanked(p *Plan) Explanation {
	out := c.Explain(p)
	out.Covered, out.forecast.byKey, out.forecast.limit = false, true, p.Limit+p.Offset
	out.forecast.ranked = true
	out.countFirst()
	out.Why = fmt.Sprintf("all rows of %d values are counted in the order of the index, and the best %d records are read", p.Terms(), p.Limit+p.Offset)
	if p.Looks() {
		out.Why += "; records behind them are read in place of those that do not meet the other conditions"
	}
	return out
}
