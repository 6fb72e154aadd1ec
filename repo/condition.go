package repo

import (
	"cmp"
	"slices"
	"strings"

	"github.com/polystore/polystore/repo/driver"
)

// A condition is one condition of a query, bound to a field of the collection.
// With rng it is a range or prefix, else an equality.
type condition struct {
	source
	field  string // as in the query
	kind   driver.Kind
	value  driver.Value
	rng    bool
	from   driver.Value // None is unbounded
	to     driver.Value
	prefix *string
}

// A bound is a query whose fields and values were checked against a collection.
type bound struct {
	conds []condition // equalities, then the range if there is one
	equal int         // how many are equalities
	order []source
	names []string // of order
	limit int
	query Query
}

// bind checks a query against the collection.
func (c *collection) bind(q Query) (bound, error) {
	b := bound{limit: q.limit, query: q, conds: make([]condition, 0, len(q.equal)+1)}
	if q.limit < 0 {
		return b, invalid("limit %d is below 0", q.limit)
	}
	for _, e := range q.equal {
		cond, err := c.bindField(e.field)
		if err != nil {
			return b, err
		}
		if slices.ContainsFunc(b.conds, func(o condition) bool { return o.field == e.field }) {
			return b, invalid("field %s has two conditions", e.field)
		}
		cond.value, err = valueAs(e.value, e.field, cond.kind, c.nanos[cond.at])
		if err == nil && cond.value.IsNone() {
			err = invalid("%s = nothing: records without a field are in no index", e.field)
		}
		if err != nil {
			return b, err
		}
		b.conds = append(b.conds, cond)
	}
	b.equal = len(b.conds)
	if q.rng != nil {
		if err := c.bindRange(&b, q.rng); err != nil {
			return b, err
		}
	}
	return b, c.bindOrder(&b, q.order)
}

func (c *collection) bindField(name string) (condition, error) {
	bare, elem := strings.CutSuffix(name, "[]")
	at := c.at(bare)
	if at < 0 {
		return condition{}, invalid("field %.64q is not declared", bare)
	}
	cond := condition{source: source{at: at, elem: elem}, field: name, kind: c.cols[at].Kind}
	if elem {
		if cond.kind != driver.List {
			return cond, invalid("field %s is of kind %s and has no elements; leave out the []", bare, cond.kind)
		}
		cond.kind = c.elems[at]
		if cond.kind == driver.None {
			return cond, invalid("the elements of %s are not of one kind, so they cannot be compared", bare)
		}
	}
	return cond, nil
}

func (c *collection) bindRange(b *bound, r *interval) error {
	cond, err := c.bindField(r.field)
	if err != nil {
		return err
	}
	cond.rng = true
	switch {
	case cond.kind == driver.List || cond.kind == driver.Map:
		return invalid("field %s is of kind %s, which has no order", r.field, cond.kind)
	case r.prefix != nil && cond.kind != driver.String:
		return invalid("prefix of %s, which is of kind %s; prefixes are for text", r.field, cond.kind)
	case r.prefix != nil:
		cond.prefix = r.prefix
		_, err = textValue(*r.prefix)
	default:
		if cond.from, err = valueAs(r.from, r.field, cond.kind, c.nanos[cond.at]); err == nil {
			cond.to, err = valueAs(r.to, r.field, cond.kind, c.nanos[cond.at])
		}
		if err == nil && (r.from != nil && cond.from.IsNone() || r.to != nil && cond.to.IsNone()) {
			err = invalid("an end of the range of %s is empty; nil leaves it open", r.field)
		}
	}
	b.conds = append(b.conds, cond)
	return err
}

// bindOrder binds the fields of the order but those that a condition fixes.
func (c *collection) bindOrder(b *bound, order []string) error {
	for _, name := range order {
		bare, desc := strings.CutPrefix(name, "-")
		cond, err := c.bindField(bare)
		if err != nil {
			return err
		}
		if cond.kind == driver.List || cond.kind == driver.Map || cond.elem {
			return invalid("records cannot be ordered by %s", bare)
		}
		if slices.ContainsFunc(b.conds[:b.equal], func(o condition) bool { return o.field == bare }) {
			continue
		}
		b.order = append(b.order, source{at: cond.at, desc: desc})
		b.names = append(b.names, name)
	}
	return nil
}

// matches reports whether a record meets all conditions.
func (b *bound) matches(vals []driver.Value) bool {
	for i := range b.conds {
		cond := &b.conds[i]
		v := vals[cond.at]
		if cond.elem {
			if !slices.ContainsFunc(v.List(), cond.holds) {
				return false
			}
		} else if !cond.holds(v) {
			return false
		}
	}
	return true
}

func (cond *condition) holds(v driver.Value) bool {
	switch {
	case !cond.rng:
		return v.Equal(cond.value)
	case v.Kind() != cond.kind:
		return false
	case cond.prefix != nil:
		return strings.HasPrefix(v.Str(), *cond.prefix)
	}
	return (cond.from.IsNone() || compare(v, cond.from) >= 0) && (cond.to.IsNone() || compare(v, cond.to) < 0)
}

// compare orders two values of one kind, as keys are ordered.
func compare(v, w driver.Value) int {
	switch v.Kind() {
	case driver.Float:
		return cmp.Compare(v.Float(), w.Float())
	case driver.String, driver.Bytes:
		return strings.Compare(v.Str(), w.Str())
	default:
		return cmp.Compare(v.Int(), w.Int())
	}
}
