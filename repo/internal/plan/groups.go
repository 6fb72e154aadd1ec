package plan

import (
	"slices"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/failure"
	"github.com/polystore/polystore/repo/internal/layout"
)

// Groups finds how to answer a query whose records are grouped: one plan or, where the query gives a field of the
// grouping several values, one for each of them, in the order of the values. The plans have no limit and no offset,
// which are those of the groups. If it fails, the one plan may have an index already.
func (c *Planner) Groups(q Query, by []Access) ([]*Plan, error) {
	if q.Limit < 0 || q.Offset < 0 {
		return nil, failure.Invalid("limit %d and offset %d: neither may be below 0", q.Limit, q.Offset)
	}
	if len(q.By) == 0 {
		return nil, failure.Invalid("the grouping names no field; use Count for all records")
	}
	q.Limit, q.Offset = 0, 0
	queries, err := c.each(q)
	if err != nil {
		return nil, err
	}
	var plans []*Plan
	for _, q := range queries {
		p, err := c.Plan(q, by)
		if err != nil {
			return []*Plan{p}, err
		}
		if len(plans) > 0 {
			p.Look = plans[0].Look
		}
		plans = append(plans, p)
	}
	return plans, nil
}

// each returns the queries that together ask for the groups of one: each has one value of every field of the grouping
// that has several.
func (c *Planner) each(q Query) ([]Query, error) {
	all, runs := []Query{q}, ""
	for _, name := range q.By {
		i := slices.IndexFunc(q.Sets, func(s Set) bool { return s.Field == name })
		switch {
		case i < 0 && !slices.ContainsFunc(q.Equal, func(e Equality) bool { return e.Field == name }):
			runs = name
		case i >= 0 && runs != "":
			return nil, failure.Invalid("group by %s, of which there are several values, before %s", c.Shown(name), c.Shown(runs))
		}
		if i < 0 {
			continue
		}
		values, err := c.different(q.Sets[i])
		if err != nil {
			return nil, err
		}
		if len(all)*len(values) > mostParts {
			return nil, tooMany()
		}
		var next []Query
		for _, one := range all {
			at := slices.IndexFunc(one.Sets, func(s Set) bool { return s.Field == name })
			one.Sets = slices.Delete(slices.Clone(one.Sets), at, at+1)
			equal := one.Equal
			for _, v := range values {
				one.Equal = append(equal[:len(equal):len(equal)], Equality{name, v})
				next = append(next, one)
			}
		}
		all = next
	}
	return all, nil
}

// different returns the values of a set without doubles.
func (c *Planner) different(s Set) (list []any, err error) {
	var seen []driver.Value
	for _, x := range s.Values {
		b, err := bind(c.Layout, Query{Equal: []Equality{{s.Field, x}}})
		if err != nil {
			return nil, err
		}
		if v := b.conds[0].value; !slices.ContainsFunc(seen, v.Equal) {
			seen, list = append(seen, v), append(list, x)
		}
	}
	return list, nil
}

// bindGroups binds the fields of the grouping, and the order. Fields that a condition fixes are the same in all
// records, so they need no order.
func (b *Bound) bindGroups(c *layout.Layout) error {
	order := b.query.Order
	if b.anyWay = len(order) == 0; b.anyWay {
		order = b.query.By
	}
	if err := b.bindOrder(c, order); err != nil {
		return err
	}
	for i, name := range b.query.By {
		cond, err := b.bindField(c, name)
		if err != nil {
			return err
		}
		if slices.Contains(b.query.By[:i], name) {
			return failure.Invalid("the grouping names %s twice", c.Shown(name))
		}
		if at := slices.IndexFunc(b.conds[:b.Equal], func(o condition) bool { return o.field == name }); at >= 0 {
			if b.conds[at].all != nil {
				return failure.Invalid("the records have all of several values of %s, so these make no groups; to group by all values, ask for these by Filter", c.Shown(name))
			}
			b.by = append(b.by, -1-at)
			continue
		}
		if b.groups == len(b.Order) || !b.Order[b.groups].Is(&cond.Source) {
			return failure.Invalid("the order of groups begins with %s, by which the records are grouped", names(b.query.By))
		}
		b.by = append(b.by, b.groups)
		b.groups++
	}
	return nil
}

// InOne reports whether all records of a plan are one group.
func (p *Plan) InOne() bool { return p.groups == 0 }

// GroupAt returns the group in which a row at a place is, as the text with which the places of all its rows begin.
func (p *Plan) GroupAt(place string) (string, error) {
	head, _, ok := driver.CutParts(place, p.groupColumns())
	if !ok {
		return "", failure.Corrupt(nil)
	}
	return head, nil
}

// GroupColumns returns how many columns the text of a group has.
func (p *Plan) GroupColumns() int { return len(p.groupColumns()) }

// TextOf returns the text of the group that has some values in these columns.
func (p *Plan) TextOf(vals []driver.Value) (string, error) {
	text, err := driver.AppendParts(nil, p.groupColumns(), vals)
	return string(text), err
}

// groupColumns returns the columns of which the text of a group is made.
func (p *Plan) groupColumns() []driver.Column {
	from := p.fixed
	if !p.IsSet() { // then these stand before them
		from = 0
	}
	return p.Table.Sort[from : p.fixed+p.groups]
}

// ordered returns the values of the columns by which the text of a group was made.
func (p *Plan) ordered(group string) ([]driver.Value, error) {
	if p.groups == 0 {
		return nil, nil
	}
	vals, _, err := driver.ParseParts(nil, group, p.groupColumns())
	if err != nil {
		return nil, err
	}
	return vals[len(vals)-p.groups:], nil
}

// ValuesOf returns the values of the fields of the grouping in a group.
func (p *Plan) ValuesOf(group string) ([]driver.Value, error) {
	vals, err := p.ordered(group)
	if err != nil {
		return nil, err
	}
	list := make([]driver.Value, len(p.by))
	for i, at := range p.by {
		if at >= 0 {
			list[i] = vals[at]
		} else {
			list[i] = p.conds[-1-at].value
		}
	}
	return list, nil
}

// InGroup reports whether a record, as it is now, is in the group of the row at a place that led to it.
func (p *Plan) InGroup(place string, vals []driver.Value) (bool, error) {
	if p.groups == 0 { // which all are
		return true, nil
	}
	group, err := p.GroupAt(place)
	if err != nil {
		return false, err
	}
	want, err := p.ordered(group)
	if err != nil {
		return false, err
	}
	for i, v := range want {
		src := p.Order[i]
		has := []driver.Value{src.Of(vals)}
		if src.Elem {
			has = has[0].List()
		}
		if !slices.ContainsFunc(has, func(w driver.Value) bool { return Compare(v, w) == 0 }) {
			return false, nil
		}
	}
	return true, nil
}

// nativeOf returns a native index that would answer a query if it were a table, "" if there is none.
func (c *Planner) nativeOf(b *Bound) string {
	for _, x := range c.Indexes {
		table := *x
		table.Native = false
		if _, _, ok := c.FitsTable(b, &table); x.Native && ok {
			return x.ID
		}
	}
	return ""
}

// ByElement reports whether a plan finds a record once for each of its elements.
func (p *Plan) ByElement() bool {
	return slices.ContainsFunc(p.Order[:p.groups], func(src layout.Source) bool { return src.Elem })
}

// Beyond narrows a plan to the groups behind one.
func (p *Plan) Beyond(group string) {
	p.narrow(func(r *Part) Extent { return r.beyond(r.Head+group, p.Reverse) })
}
