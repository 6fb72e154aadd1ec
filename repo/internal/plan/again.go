package plan

import (
	"slices"

	"github.com/polystore/polystore/repo/driver"
)

// Again returns the run of a query that differs from that of a plan of one run in the values of its ends alone, or false
// if it differs in more.
func (c *Planner) Again(p *Plan, q Query) (run Part, ok bool) {
	if len(p.Parts) != 1 || len(p.conds) == p.Equal || !alike(&p.query, &q) {
		return Part{}, false
	}
	cond := p.conds[p.Equal]
	cond.low, cond.high = boundary{}, boundary{}
	for _, e := range q.Ends {
		if err := cond.narrow(c.Layout, e); err != nil {
			return Part{}, false
		}
	}
	var space [8]driver.Value
	var scratch [256]byte
	_, _, sort := c.columnsOf(p.X)
	head, err := driver.AppendParts(scratch[:0], p.Table.Sort[:p.fixed], p.valuesOf(space[:0], sort[:p.fixed]))
	if err != nil {
		return Part{}, false
	}
	run = p.Parts[0]
	run.Extent, err = extentAt(string(head)).within(head, p.Table.Sort[p.fixed], &cond)
	return run, err == nil
}

// alike reports whether two queries are the same but for the values of their ends: that their conditions are the same
// list, not whether two lists say the same.
func alike(a, b *Query) bool {
	if len(a.Equal) != len(b.Equal) || len(a.Equal) > 0 && &a.Equal[0] != &b.Equal[0] {
		return false
	}
	for _, q := range [...]*Query{a, b} {
		if len(q.Sets)+len(q.All)+len(q.None)+len(q.Filter)+len(q.By) > 0 || q.ranked {
			return false
		}
	}
	same := func(a, b End) bool { return a.Field == b.Field && a.Op == b.Op }
	return a.Limit == b.Limit && a.Offset == b.Offset && slices.EqualFunc(a.Ends, b.Ends, same) && slices.Equal(a.Order, b.Order)
}
