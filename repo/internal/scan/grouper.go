package scan

import (
	"cmp"
	"context"
	"errors"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/plan"
	"github.com/polystore/polystore/repo/internal/store"
)

// byStore lets the store find the groups of a plan, where it does so by itself. All is false if some are left for
// others to find, to which the plan is narrowed then.
func (g *Grouping) byStore(ctx context.Context, k *store.Call, p *plan.Plan, t *tallying) (all bool, err error) {
	s, ok := g.c.Store.Driver.(driver.Grouper)
	if !ok || !g.suits(p) {
		return false, nil
	}
	ask := driver.Grouping{Columns: p.GroupColumns(), Now: g.c.Store.NowMillis()}
	for _, f := range g.of {
		ask.Sums = append(ask.Sums, f.name)
	}
	ask.Span = driver.Span{Table: p.Table, Key: p.Parts[0].Key, Reverse: p.Reverse}
	if g.q.Limit > 0 {
		ask.Span.Limit = g.q.Offset + g.q.Limit
	}
	p.Parts[0].Bound(&ask.Span)
	if err := g.c.Bounds(p, &ask.Span); err != nil {
		return false, err
	}
	var last *Group
	failed := s.Group(k.Asks(ctx, 1), ask, func(found *driver.Group) bool {
		k.Read(1)
		var one *Group
		if one, err = groupFrom(p, found, g.of); err != nil {
			return false
		}
		last, t.over = one, !t.yield(one)
		return !t.over
	})
	if t.over { // whatever the store says then
		return true, err
	}
	if err != nil || !errors.Is(failed, driver.ErrUnsupported) {
		return true, cmp.Or(err, failed)
	}
	if last != nil {
		p.Beyond(last.text)
	}
	return false, nil
}

// suits reports whether a store may group by itself what a plan finds: every row of one range, and sums that do not
// depend on the order of their parts.
func (g *Grouping) suits(p *plan.Plan) bool {
	if p.X == nil || !p.X.Native || len(p.Parts) != 1 || p.IsSet() || p.Doubles() || p.Looks() {
		return false
	}
	for _, f := range g.of {
		if f.kind != driver.Int || f.Path != nil || f.At < len(g.c.Key) {
			return false
		}
	}
	return !g.c.Known().NeedsRecords(p.X)
}

// groupFrom returns a group as the store tells it.
func groupFrom(p *plan.Plan, found *driver.Group, of []sum) (*Group, error) {
	text, err := p.TextOf(found.Values)
	if err != nil {
		return nil, err
	}
	g, err := groupOf(p, text, of)
	if err != nil {
		return nil, err
	}
	g.Count = int(found.Count)
	for i, n := range found.Sums {
		g.Sums[i] = n
	}
	return g, nil
}
