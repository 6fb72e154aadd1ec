package scan

import (
	"cmp"
	"context"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/failure"
	"github.com/polystore/polystore/repo/internal/layout"
	"github.com/polystore/polystore/repo/internal/plan"
	"github.com/polystore/polystore/repo/internal/record"
	"github.com/polystore/polystore/repo/internal/store"
)

// A Group is what is told of records with the same values.
type Group struct {
	Values []any
	Count  int
	Sums   []any // int64 or float64

	text string // with which the places of its rows begin
}

// A Grouping is a query whose records are grouped.
type Grouping struct {
	c    *Reader
	q    plan.Query
	of   []sum
	by   []plan.Access
	mask []int // of what is summed
	err  error
}

// A sum is a field that is summed, or a part of one.
type sum struct {
	layout.Source
	name string
	kind driver.Kind
}

// GroupingOf returns the groups of a query, with the sums of some fields.
func GroupingOf(c *Reader, q plan.Query, fields []string) *Grouping {
	g := &Grouping{c: c, q: q, by: c.KeyAccess, mask: []int{}}
	var all []int
	for _, name := range fields {
		src, kind, err := c.Find(name)
		switch {
		case err != nil:
			g.err = driver.Errorf("sum: %w", err)
			return g
		case src.At < 0:
			g.err = failure.Invalid("the sum of %s: the field is not declared; declare it as an int or a float", c.Shown(name))
			return g
		case kind.Kind == driver.None:
			g.err = failure.Invalid("the sum of %s: it may be of any kind; declare it, as Schema{Fields: {%.128q: %q}}", c.Shown(name), name, driver.Float)
			return g
		case kind.Nanos:
			g.err = failure.Invalid("the sum of %s: it is a time, and sums are of numbers", c.Shown(name))
			return g
		case kind.Kind != driver.Float && kind.Kind != driver.Int:
			g.err = failure.Invalid("the sum of %s: it is of kind %s, and sums are of numbers", c.Shown(name), kind.Kind)
			return g
		}
		g.of = append(g.of, sum{src, name, kind.Kind})
		if f := src.At - len(c.Key); f >= 0 && !slices.Contains(g.mask, f) {
			g.mask = append(g.mask, f)
		}
		if !slices.Contains(all, src.At) {
			all = append(all, src.At)
		}
	}
	if len(all) > 0 {
		g.by = plan.AccessesTo(c.Layout, all)
	}
	return g
}

// add adds the fields of a record to the sums. An absent one adds nothing.
func (g *Group) add(of []sum, rec *record.Record) error {
	for i, s := range of {
		v := s.Of(rec.Vals)
		switch {
		case v.Kind() != s.kind: // of an absent one, or one that a map may have there
		case s.kind == driver.Float:
			g.Sums[i] = g.Sums[i].(float64) + v.Float()
		default:
			a, b := g.Sums[i].(int64), v.Int()
			if b > 0 && a > math.MaxInt64-b || b < 0 && a < math.MinInt64-b {
				return failure.Invalid("the sum of %s is over the range of int64", s.name)
			}
			g.Sums[i] = a + b
		}
	}
	return nil
}

// groupOf returns a group as yet without records.
func groupOf(p *plan.Plan, text string, of []sum) (*Group, error) {
	vals, err := p.ValuesOf(text)
	if err != nil {
		return nil, err
	}
	g := &Group{Values: layout.KeyFrom(vals), text: text}
	for _, s := range of {
		if s.kind == driver.Float {
			g.Sums = append(g.Sums, 0.0)
		} else {
			g.Sums = append(g.Sums, int64(0))
		}
	}
	return g, nil
}

// Explain says how the groups are found.
func (g *Grouping) Explain() (plan.Explanation, error) {
	if g.err != nil {
		return plan.Explanation{}, g.err
	}
	n := g.c.planner()
	plans, err := n.Groups(g.q, g.by)
	if err != nil || len(plans) == 0 {
		return plan.Explanation{Collection: g.c.Name, With: g.c.With(), Why: "no values are asked for"}, err
	}
	_, able := g.c.Store.Driver.(driver.Grouper)
	return n.ExplainGroups(plans, able && g.suits(plans[0]) && (!plans[0].InOne() || len(g.of) > 0)), nil
}

// each calls do with the plans for the groups, one after the other, while more are wanted.
func (g *Grouping) each(ctx context.Context, k *store.Call, do func(*plan.Plan) (more bool, err error)) error {
	if ctx == nil {
		return failure.ErrNoContext
	}
	if g.err != nil {
		return g.err
	}
	plans, err := g.c.planner().Groups(g.q, g.by)
	for _, p := range plans {
		if p.X != nil {
			k.Uses(p.X.ID)
		}
	}
	for i := 0; i < len(plans) && err == nil; i++ {
		p := plans[i]
		if p.Empty() {
			continue
		}
		more, failed := do(p)
		if err = cmp.Or(p.Unlooked(g.c.Redact, failed), g.c.answers(ctx, p)); !more {
			break
		}
	}
	return err
}

// within returns yield for the groups behind the offset of a query, and up to its limit.
func within[G any](q *plan.Query, yield func(G) bool) func(G) bool {
	over, left := q.Offset, q.Limit
	return func(g G) bool {
		if over--; over >= 0 {
			return true
		}
		left--
		return yield(g) && left != 0
	}
}

// Find calls yield for the groups of what a query finds, with the sums of some fields, until it returns false.
func (g *Grouping) Find(ctx context.Context, k *store.Call, yield func(*Group) bool) error {
	yield = within(&g.q, yield)
	return g.each(ctx, k, func(p *plan.Plan) (bool, error) {
		t := tallying{p: p, of: g.of, yield: yield}
		if p.InOne() && len(g.of) == 0 {
			return t.one(g.c.count(ctx, k, p))
		}
		all, err := g.byStore(ctx, k, p, &t)
		switch {
		case all || err != nil:
		case p.Covered && len(g.of) == 0 && !p.Looks() && (p.X == nil || !p.X.Native):
			err = g.c.rows(ctx, k, p, 0, func(row *driver.Row) (bool, error) {
				at, err := placeOf(p, &row.Key)
				if err != nil {
					return false, err
				}
				return t.add(nil, at)
			})
		default:
			err = g.c.members(ctx, k, p, g.mask, t.add)
		}
		return t.end(err)
	})
}

// A tallying makes groups of records that come in their order.
type tallying struct {
	p     *plan.Plan
	of    []sum
	yield func(*Group) bool
	group *Group // that is not yet whole
	over  bool   // no more groups are wanted
}

// one yields the only group of a plan.
func (t *tallying) one(n int, err error) (more bool, _ error) {
	if err != nil || n == 0 {
		return true, err
	}
	g, err := groupOf(t.p, "", nil)
	if err != nil {
		return false, err
	}
	g.Count = n
	return t.yield(g), nil
}

// add adds a record to its group.
func (t *tallying) add(rec *record.Record, at Position) (more bool, err error) {
	if t.group == nil || !strings.HasPrefix(string(at), t.group.text) {
		if t.group != nil && !t.yield(t.group) {
			t.over = true
			return false, nil
		}
		text, err := t.p.GroupAt(string(at))
		if err == nil {
			t.group, err = groupOf(t.p, text, t.of)
		}
		if err != nil {
			return false, err
		}
	}
	t.group.Count++
	return true, t.group.add(t.of, rec)
}

// end yields the last group, and reports whether more are wanted.
func (t *tallying) end(err error) (more bool, _ error) {
	if err != nil || t.over || t.group == nil {
		return !t.over, err
	}
	return t.yield(t.group), nil
}

// Count returns how many groups a query finds. It reads one record of each.
func (g *Grouping) Count(ctx context.Context, k *store.Call) (n int, err error) {
	take := within(&g.q, func(string) bool { n++; return true })
	err = g.each(ctx, k, func(p *plan.Plan) (bool, error) {
		return jump(p, func(one *plan.Plan) (place string, there bool, err error) {
			err = g.c.members(ctx, k, one, []int{}, func(_ *record.Record, at Position) (bool, error) {
				place, there = string(at), true
				return false, nil
			})
			return place, there, err
		}, take)
	})
	return n, err
}

// FirstOfGroups calls yield for the first record of each group that a query finds, until it returns false.
func (v *View) FirstOfGroups(ctx context.Context, k *store.Call, q plan.Query, yield func(t any) bool) error {
	out := v.Scratch()
	defer v.Release(out)
	take := within(&q, func(string) bool { return yield(out) })
	g := GroupingOf(v.c, q, nil)
	g.by = v.by
	return g.each(ctx, k, func(p *plan.Plan) (bool, error) {
		return jump(p, func(one *plan.Plan) (place string, there bool, err error) {
			err = v.findBy(ctx, k, one, func(t any, at Position) bool {
				reflect.ValueOf(out).Elem().Set(reflect.ValueOf(t).Elem())
				place, there = string(at), true
				return false
			})
			return place, there, err
		}, take)
	})
}

// jump goes from one group of a plan to the next. First returns the place of the first record of a plan, if there is one.
func jump(p *plan.Plan, first func(*plan.Plan) (place string, there bool, err error), take func(group string) bool) (more bool, err error) {
	for !p.Empty() {
		one := *p
		one.Limit = 1
		place, there, err := first(&one)
		if err != nil || !there {
			return true, err
		}
		group, err := p.GroupAt(place)
		if err != nil || !take(group) {
			return false, err
		}
		p.Beyond(group)
	}
	return true, nil
}
