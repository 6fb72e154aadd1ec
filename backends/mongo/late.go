package mongo

import (
	"context"
	"slices"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/driver/frame"
)

// A field that was declared after rows were written can lie in them among those that
// were not. Whoever sets it removes that one, and whoever reads it looks at both. To
// add to it, which the server does in one place, it must be read first.

// needsRow reports whether an op adds to a field that can lie in two places.
func (v *view) needsRow(op *driver.Op) bool {
	if op.Do != driver.Patch {
		return false
	}
	return slices.ContainsFunc(op.Edits, func(e driver.Edit) bool { return v.addsLate(&e) })
}

func (v *view) addsLate(e *driver.Edit) bool {
	if e.Do != driver.Add {
		return false
	}
	if e.Field >= 0 {
		return v.Late[e.Field]
	}
	_, ok := v.Others.Of(e.Name)
	return ok
}

// settle makes an op that adds to such fields one that sets the sums, if the row is
// still as it was read. One that the row refuses becomes one that no row meets.
func (c *commit) settle(ctx context.Context, at int) error {
	op, v := &c.ops[at], c.views[at]
	var rows [1]driver.Row
	if err := c.store.Get(ctx, v, []driver.Key{op.Row.Key}, nil, rows[:]); err != nil {
		return err
	}
	next := *op
	next.If, next.Rev, next.Edits = driver.AtRev, rows[0].Rev, slices.Clone(op.Edits)
	possible := frame.Holds(op, &rows[0])
	for i := range next.Edits {
		e := &next.Edits[i]
		if !possible || !v.addsLate(e) {
			continue
		}
		e.Do = driver.Set
		e.Value, possible = frame.Sum(frame.FieldOf(&rows[0], e), e.Value.Int())
	}
	if !possible {
		next.Rev, next.Edits = c.token, nil
	}
	c.ops = slices.Clone(c.ops)
	c.ops[at] = next
	return nil
}
