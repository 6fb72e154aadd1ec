package plan

import (
	"cmp"
	"slices"
	"strings"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/failure"
	"github.com/polystore/polystore/repo/internal/layout"
)

// A condition is one condition of a query, bound to a field of the collection.
// With rng it is a range, else an equality.
type condition struct {
	layout.Source
	field string // as in the query
	kind  driver.Kind
	nanos bool // it is a time, kept with its nanoseconds
	value driver.Value
	set   bool           // it is one of several values: value is the one that is looked at
	any   []driver.Value // of a set, without doubles
	all   []driver.Value // which a list has, two or more: value is the one that leads to it
	rng   bool
	low   boundary
	high  boundary
}

// A boundary is a place among the values of a field: before all that equal its value, or
// after them. Without a value there is no limit.
type boundary struct {
	value driver.Value
	over  bool // after, not before
}

// narrow makes a range that of the records that are also on the right side of an end.
func (cond *condition) narrow(c *layout.Layout, e End) error {
	if cond.kind == driver.List || cond.kind == driver.Map {
		return failure.Invalid("field %s is of kind %s, which has no order", c.Shown(e.Field), cond.kind)
	}
	if e.Op == Anywhere {
		return nil
	}
	if e.Op == Beginning && cond.kind != driver.String && cond.kind != driver.None {
		return failure.Invalid("prefix of %s, which is of kind %s; prefixes are for text", c.Shown(e.Field), cond.kind)
	}
	v, err := valueOf(c, e.Value, cond)
	switch {
	case err != nil:
		return err
	case v.IsNone():
		return failure.Invalid("the bound of %s %s is empty; leave the call out where there is no bound", c.Shown(e.Field), e.Op)
	case v.Kind() == driver.List || v.Kind() == driver.Map:
		return failure.Invalid("%s %s a %s, which has no order", c.Shown(e.Field), e.Op, v.Kind())
	}
	cond.kind = v.Kind() // of an undeclared field: that of its first bound
	switch e.Op {
	case Above, AtLeast:
		cond.from(boundary{v, e.Op == Above})
	case Below, AtMost:
		cond.upTo(boundary{v, e.Op == AtMost})
	case Beginning:
		cond.from(boundary{value: v})
		if next := driver.After(v.Str()); next != "" {
			cond.upTo(boundary{value: driver.StringValue(next)})
		}
	}
	return nil
}

// from raises the lower limit to l, unless it is higher.
func (cond *condition) from(l boundary) {
	if cond.low.value.IsNone() || compareLimits(l, cond.low) > 0 {
		cond.low = l
	}
}

// upTo lowers the upper limit to l, unless it is lower.
func (cond *condition) upTo(l boundary) {
	if cond.high.value.IsNone() || compareLimits(l, cond.high) < 0 {
		cond.high = l
	}
}

func compareLimits(l, m boundary) int {
	switch d := Compare(l.value, m.value); {
	case d != 0 || l.over == m.over:
		return d
	case l.over:
		return 1
	}
	return -1
}

// isMet reports whether a record meets a condition.
func (cond *condition) isMet(vals []driver.Value) bool {
	v := cond.Of(vals)
	switch {
	case !cond.Elem:
		return cond.holds(v)
	case v.Kind() != driver.List:
		return false
	case cond.all == nil:
		return slices.ContainsFunc(v.List(), cond.holds)
	}
	return !slices.ContainsFunc(cond.all, func(one driver.Value) bool { return !slices.ContainsFunc(v.List(), one.Equal) })
}

func (cond *condition) holds(v driver.Value) bool {
	switch {
	case cond.set:
		return slices.ContainsFunc(cond.any, v.Equal)
	case !cond.rng:
		return v.Equal(cond.value)
	}
	if v.IsNone() || v.Kind() != cond.kind && cond.kind != driver.None {
		return false
	}
	return (cond.low.value.IsNone() || cond.low.isUnder(v)) && (cond.high.value.IsNone() || !cond.high.isUnder(v))
}

// isUnder reports whether a value lies behind l.
func (l boundary) isUnder(v driver.Value) bool {
	d := Compare(v, l.value)
	return d > 0 || d == 0 && !l.over
}

// Compare orders two values, as keys are ordered if they are of one kind.
func Compare(v, w driver.Value) int {
	if v.Kind() != w.Kind() {
		return cmp.Compare(v.Kind(), w.Kind())
	}
	switch v.Kind() {
	case driver.Float:
		return cmp.Compare(v.Float(), w.Float())
	case driver.String, driver.Bytes:
		return strings.Compare(v.Str(), w.Str())
	default:
		return cmp.Compare(v.Int(), w.Int())
	}
}
