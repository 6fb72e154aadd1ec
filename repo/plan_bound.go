package repo

import (
	"cmp"
	"slices"
	"strings"

	"github.com/polystore/polystore/repo/driver"
)

// A condition is one condition of a query, bound to a field of the collection.
// With rng it is a range, else an equality.
type condition struct {
	source
	field string // as in the query
	kind  driver.Kind
	value driver.Value
	rng   bool
	low   limit
	high  limit
}

// A limit is a place among the values of a field: before all that equal its value, or
// after them. Without a value there is no limit.
type limit struct {
	value driver.Value
	over  bool // after, not before
}

// A bound is a query whose fields and values were checked against a collection.
type bound struct {
	conds []condition // equalities, then the range if there is one
	equal int         // how many are equalities
	order []source
	names []string // of order
	limit int
	query queryDef

	scan       bool     // all records are read, so that undeclared fields may be named
	undeclared []string // fields whose values stand behind those of the columns
}

// bind checks a query against the collection.
func bind(c *layoutC, q queryDef) (bound, error) {
	b := bound{limit: q.limit, query: q, conds: make([]condition, 0, len(q.equal)+1)}
	return b, b.bind(c)
}

// bindScan is bind for a query that reads all records.
func bindScan(c *layoutC, q queryDef) (bound, error) {
	b := bound{limit: q.limit, query: q, scan: true}
	return b, b.bind(c)
}

func (b *bound) bind(c *layoutC) error {
	if b.limit < 0 {
		return invalid("limit %d is below 0", b.limit)
	}
	for _, e := range b.query.equal {
		if err := b.bindEquality(c, e); err != nil {
			return err
		}
	}
	b.equal = len(b.conds)
	if len(b.query.ends) > 0 {
		if err := b.bindRange(c, b.query.ends); err != nil {
			return err
		}
	}
	return b.bindOrder(c, b.query.order)
}

func (b *bound) bindEquality(c *layoutC, e equality) error {
	cond, err := b.bindField(c, e.field)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(b.conds, func(o condition) bool { return o.field == e.field }) {
		return invalid("field %s has two conditions", c.shown(e.field))
	}
	cond.value, err = valueOf(c, e.value, &cond)
	if err == nil && cond.value.IsNone() {
		err = invalid("%s = nothing: records without a field are in no index", c.shown(e.field))
	}
	b.conds = append(b.conds, cond)
	return err
}

// bindField returns a condition of a field, yet without values. Its kind is None for a
// field that is not declared.
func (b *bound) bindField(c *layoutC, name string) (condition, error) {
	bare, elem := strings.CutSuffix(name, "[]")
	at := c.at(bare)
	if at < 0 {
		return b.bindUndeclared(c, name, bare, elem)
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

// bindUndeclared is bindField for a field that is no column.
func (b *bound) bindUndeclared(c *layoutC, name, bare string, elem bool) (condition, error) {
	switch {
	case strings.Contains(bare, "."):
		return condition{}, c.noPath(bare)
	case !c.extra:
		return condition{}, invalid("field %.64q is not declared", bare)
	case !b.scan:
		return condition{}, invalid("field %.64q is not declared, so no index has it; declare it, or use Scan", c.shown(bare))
	}
	if err := checkExtra(bare, &shape{}); err != nil {
		return condition{}, err
	}
	i := slices.Index(b.undeclared, bare)
	if i < 0 {
		i, b.undeclared = len(b.undeclared), append(b.undeclared, bare)
	}
	return condition{source: source{at: len(c.cols) + i, elem: elem}, field: name}, nil
}

// valueOf returns x, which a caller gave for the field of a condition, as a value.
func valueOf(c *layoutC, x any, cond *condition) (driver.Value, error) {
	switch {
	case cond.kind == driver.None:
		return encodeAny(x, 0)
	case cond.at >= len(c.cols): // undeclared, with an end before
		return valueAs(x, driver.Private(cond.field), cond.kind, false)
	}
	return valueAs(x, cond.field, cond.kind, c.nanos[cond.at])
}

// bindRange makes one condition of all ends.
func (b *bound) bindRange(c *layoutC, ends []end) error {
	cond, err := b.bindField(c, ends[0].field)
	if err != nil {
		return err
	}
	cond.rng = true
	for _, e := range ends {
		if e.field != cond.field {
			return invalid("%s and %s both have bounds; a query bounds one field, so leave one out, or look at it as the records come", c.shown(cond.field), c.shown(e.field))
		}
		if err := cond.narrow(c, e); err != nil {
			return err
		}
	}
	if slices.ContainsFunc(b.conds, func(o condition) bool { return o.field == cond.field }) {
		return invalid("field %s has two conditions, a value and a bound; leave one out", c.shown(cond.field))
	}
	b.conds = append(b.conds, cond)
	return nil
}

// narrow makes a range that of the records that are also on the right side of an end.
func (cond *condition) narrow(c *layoutC, e end) error {
	if cond.kind == driver.List || cond.kind == driver.Map {
		return invalid("field %s is of kind %s, which has no order", e.field, cond.kind)
	}
	if e.op == anywhere {
		return nil
	}
	if e.op == beginning && cond.kind != driver.String && cond.kind != driver.None {
		return invalid("prefix of %s, which is of kind %s; prefixes are for text", c.shown(e.field), cond.kind)
	}
	v, err := valueOf(c, e.value, cond)
	switch {
	case err != nil:
		return err
	case v.IsNone():
		return invalid("the bound of %s %s is empty; leave the call out where there is no bound", c.shown(e.field), e.op)
	case v.Kind() == driver.List || v.Kind() == driver.Map:
		return invalid("%s %s a %s, which has no order", c.shown(e.field), e.op, v.Kind())
	}
	cond.kind = v.Kind() // of an undeclared field: that of its first bound
	switch e.op {
	case above, atLeast:
		cond.from(limit{v, e.op == above})
	case below, atMost:
		cond.upTo(limit{v, e.op == atMost})
	case beginning:
		cond.from(limit{value: v})
		if next := driver.After(v.Str()); next != "" {
			cond.upTo(limit{value: driver.StringValue(next)})
		}
	}
	return nil
}

// from raises the lower limit to l, unless it is higher.
func (cond *condition) from(l limit) {
	if cond.low.value.IsNone() || compareLimits(l, cond.low) > 0 {
		cond.low = l
	}
}

// upTo lowers the upper limit to l, unless it is lower.
func (cond *condition) upTo(l limit) {
	if cond.high.value.IsNone() || compareLimits(l, cond.high) < 0 {
		cond.high = l
	}
}

func compareLimits(l, m limit) int {
	switch d := compare(l.value, m.value); {
	case d != 0 || l.over == m.over:
		return d
	case l.over:
		return 1
	}
	return -1
}

// bindOrder binds the fields of the order but those that a condition fixes.
func (b *bound) bindOrder(c *layoutC, order []string) error {
	for _, name := range order {
		bare, desc := strings.CutPrefix(name, "-")
		cond, err := b.bindField(c, bare)
		if err != nil {
			return err
		}
		if cond.kind == driver.List || cond.kind == driver.Map || cond.elem {
			return invalid("records cannot be ordered by %s", c.shown(bare))
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
		if !cond.elem {
			if !cond.holds(v) {
				return false
			}
		} else if v.Kind() != driver.List || !slices.ContainsFunc(v.List(), cond.holds) {
			return false
		}
	}
	return true
}

func (cond *condition) holds(v driver.Value) bool {
	if !cond.rng {
		return v.Equal(cond.value)
	}
	if v.IsNone() || v.Kind() != cond.kind && cond.kind != driver.None {
		return false
	}
	return (cond.low.value.IsNone() || cond.low.isUnder(v)) && (cond.high.value.IsNone() || !cond.high.isUnder(v))
}

// isUnder reports whether a value lies behind l.
func (l limit) isUnder(v driver.Value) bool {
	d := compare(v, l.value)
	return d > 0 || d == 0 && !l.over
}

// compare orders two values, as keys are ordered if they are of one kind.
func compare(v, w driver.Value) int {
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
