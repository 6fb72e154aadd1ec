package plan

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/failure"
	"github.com/polystore/polystore/repo/internal/layout"
	"github.com/polystore/polystore/repo/internal/record"
)

// A Bound is a query whose fields and values were checked against a collection.
type Bound struct {
	conds []condition // equalities, then the range if there is one
	none  []condition // sets of which a record has none
	filt  []condition // that need no index
	Equal int         // how many are equalities
	Order []layout.Source
	names []string // of order

	groups int   // how many columns of the order make the groups
	by     []int // by field of the grouping: which of these it is, or a condition if it is below 0: see bindGroups
	anyWay bool  // the order is that of the index

	Limit int
	query Query

	scan       bool     // all records are read, so that undeclared fields may be named
	apart      bool     // the records are ranked or grouped, which no scan does
	Undeclared []string // fields whose values stand behind those of the columns
}

// Query returns the query as it was given.
func (b *Bound) Query() Query { return b.query }

// bind checks a query against the collection.
func bind(c *layout.Layout, q Query) (Bound, error) {
	b := Bound{Limit: q.Limit, query: q}
	return b, b.bind(c)
}

// BindScan is bind for a query that reads all records.
func BindScan(c *layout.Layout, q Query) (Bound, error) {
	b := Bound{Limit: q.Limit, query: q, scan: true}
	return b, b.bind(c)
}

func (b *Bound) bind(c *layout.Layout) error {
	if b.Limit < 0 || b.query.Offset < 0 {
		return failure.Invalid("limit %d and offset %d: neither may be below 0", b.Limit, b.query.Offset)
	}
	if b.query.Offset > 0 && b.Limit > math.MaxInt-b.query.Offset {
		b.Limit = 0 // which is no bound either
	}
	for _, e := range b.query.Equal {
		if err := b.bindEquality(c, e); err != nil {
			return err
		}
	}
	for _, s := range b.query.Sets {
		if err := b.bindSet(c, s); err != nil {
			return err
		}
	}
	for _, s := range b.query.All {
		if err := b.bindAll(c, s); err != nil {
			return err
		}
	}
	for _, s := range b.query.None {
		if err := b.bindNone(c, s); err != nil {
			return err
		}
	}
	b.Equal = len(b.conds)
	if len(b.query.Ends) > 0 {
		if err := b.bindRange(c, b.query.Ends); err != nil {
			return err
		}
	}
	if err := b.bindFilter(c); err != nil {
		return err
	}
	if len(b.query.By) > 0 {
		return b.bindGroups(c)
	}
	return b.bindOrder(c, b.query.Order)
}

func (b *Bound) bindEquality(c *layout.Layout, e Equality) error {
	cond, err := b.bindField(c, e.Field)
	if err != nil {
		return err
	}
	cond.value, err = b.valueFor(c, e.Value, &cond)
	b.conds = append(b.conds, cond)
	return err
}

// bindSet binds a condition by which a field has one of several values.
func (b *Bound) bindSet(c *layout.Layout, s Set) error {
	cond, err := b.bindField(c, s.Field)
	cond.set = true
	for _, x := range s.Values {
		if err != nil {
			return err
		}
		var v driver.Value
		if v, err = b.valueFor(c, x, &cond); !slices.ContainsFunc(cond.any, v.Equal) {
			cond.any = append(cond.any, v)
		}
	}
	b.conds = append(b.conds, cond)
	return err
}

// bindAll binds a condition by which a list has several values.
func (b *Bound) bindAll(c *layout.Layout, s Set) error {
	of := Bound{conds: b.conds, apart: b.apart}
	if err := of.bindSet(c, s); err != nil {
		return err
	}
	cond := of.conds[len(b.conds)]
	switch values := cond.any; {
	case len(values) == 0: // which all have
		return nil
	case len(values) > 1 && !cond.Elem:
		return failure.Invalid("%s has one value, so it cannot have all of %d; AllOf is for the elements of lists", c.Shown(s.Field), len(values))
	case len(values) > 1:
		cond.all = values
	}
	cond.set, cond.any, cond.value = false, nil, cond.any[0]
	b.conds = append(b.conds, cond)
	return nil
}

// bindNone binds a condition by which a field has none of some values.
func (b *Bound) bindNone(c *layout.Layout, s Set) error {
	of := Bound{scan: b.scan, apart: b.apart, Undeclared: b.Undeclared}
	if err := of.bindSet(c, s); err != nil {
		return err
	}
	b.none, b.Undeclared = append(b.none, of.conds[0]), of.Undeclared
	return nil
}

// bindFilter binds conditions that records are to meet by themselves; they may bound several fields.
func (b *Bound) bindFilter(c *layout.Layout) error {
	for _, q := range b.query.Filter {
		if len(q.Order)+len(q.Filter)+q.Limit+q.Offset > 0 {
			return failure.Invalid("a filter has conditions alone; order, limit, offset and other filters belong to the query")
		}
		if b.query.Most < 1 {
			return failure.Invalid("the filter may look at %d records; at least 1 is needed", b.query.Most)
		}
		ends := q.Ends
		q.Ends = nil
		of := Bound{query: q, scan: b.scan, apart: b.apart, Undeclared: b.Undeclared}
		if err := of.bind(c); err != nil {
			return fmt.Errorf("filter: %w", err)
		}
		for len(ends) > 0 {
			var own, rest []End
			for _, e := range ends {
				if e.Field == ends[0].Field {
					own = append(own, e)
				} else {
					rest = append(rest, e)
				}
			}
			if err := of.bindRange(c, own); err != nil {
				return fmt.Errorf("filter: %w", err)
			}
			ends = rest
		}
		b.filt, b.none, b.Undeclared = append(b.filt, of.conds...), append(b.none, of.none...), of.Undeclared
	}
	return nil
}

// valueFor returns what a field is to be equal to.
func (b *Bound) valueFor(c *layout.Layout, x any, cond *condition) (driver.Value, error) {
	if slices.ContainsFunc(b.conds, func(o condition) bool { return o.field == cond.field }) {
		return driver.Value{}, failure.Invalid("field %s has two conditions", c.Shown(cond.field))
	}
	v, err := valueOf(c, x, cond)
	if err == nil && v.IsNone() {
		err = failure.Invalid("%s = nothing: records without a field are in no index", c.Shown(cond.field))
	}
	return v, err
}

// bindField returns a condition of a field, yet without values. Its kind is None for a
// field that is not declared.
func (b *Bound) bindField(c *layout.Layout, name string) (condition, error) {
	bare, elem := strings.CutSuffix(name, "[]")
	src, kind, err := c.Find(bare)
	switch {
	case err != nil:
		return condition{}, err
	case src.At < 0:
		return b.bindUndeclared(c, name, bare, elem)
	}
	src.Elem = elem
	cond := condition{Source: src, field: name, kind: kind.Kind, nanos: kind.Nanos}
	if elem && (kind.Kind != driver.None || src.Path == nil) {
		if cond.kind != driver.List {
			return cond, failure.Invalid("field %s is of kind %s and has no elements; leave out the []", c.Shown(bare), cond.kind)
		}
		cond.kind = kind.Elem
		if cond.kind == driver.None {
			return cond, failure.Invalid("the elements of %s are not of one kind, so they cannot be compared", c.Shown(bare))
		}
	}
	return cond, nil
}

// orScan returns the remedy that all records are read, where that is one.
func (b *Bound) orScan() string {
	if b.apart {
		return ""
	}
	return ", or use Scan"
}

// bindUndeclared is bindField for a field that is no column.
func (b *Bound) bindUndeclared(c *layout.Layout, name, bare string, elem bool) (condition, error) {
	switch {
	case !c.Extra:
		return condition{}, failure.Invalid("field %.64q is not declared", bare)
	case !b.scan:
		return condition{}, failure.Invalid("field %.64q is not declared, so no index has it; declare it%s", c.Raw(bare), b.orScan())
	}
	field, path := record.CutPath(bare)
	if err := record.CheckExtra(field, &record.Mapping{}); err != nil {
		return condition{}, err
	}
	i := slices.Index(b.Undeclared, field)
	if i < 0 {
		i, b.Undeclared = len(b.Undeclared), append(b.Undeclared, field)
	}
	return condition{Source: layout.Source{At: len(c.Cols) + i, Path: path, Elem: elem}, field: name}, nil
}

// valueOf returns x, which a caller gave for the field of a condition, as a value.
func valueOf(c *layout.Layout, x any, cond *condition) (driver.Value, error) {
	switch {
	case cond.kind == driver.None:
		v, err := record.EncodeAny(x, 0)
		if err != nil {
			err = driver.Errorf("%s: %w", c.Shown(cond.field), err)
		}
		return v, err
	case cond.At >= len(c.Cols): // undeclared, with an end before
		return record.ValueAs(x, driver.Private(failure.Name(cond.field)), cond.kind, false)
	}
	return record.ValueAs(x, failure.Name(cond.field), cond.kind, cond.nanos)
}

// bindRange makes one condition of all ends.
func (b *Bound) bindRange(c *layout.Layout, ends []End) error {
	cond, err := b.bindField(c, ends[0].Field)
	if err != nil {
		return err
	}
	cond.rng = true
	for _, e := range ends {
		if e.Field != cond.field {
			return failure.Invalid("%s and %s both have bounds; a query bounds one field, so leave one out, or look at it as the records come", c.Shown(cond.field), c.Shown(e.Field))
		}
		if err := cond.narrow(c, e); err != nil {
			return err
		}
	}
	if slices.ContainsFunc(b.conds, func(o condition) bool { return o.field == cond.field }) {
		return failure.Invalid("field %s has two conditions, a value and a bound; leave one out", c.Shown(cond.field))
	}
	b.conds = append(b.conds, cond)
	return nil
}

// bindOrder binds the fields of the order but those that a condition fixes.
func (b *Bound) bindOrder(c *layout.Layout, order []string) error {
	for _, name := range order {
		bare, desc := strings.CutPrefix(name, "-")
		cond, err := b.bindField(c, bare)
		if err != nil {
			return err
		}
		if cond.kind == driver.List || cond.kind == driver.Map || cond.Elem && !slices.Contains(b.query.By, bare) {
			return failure.Invalid("records cannot be ordered by %s", c.Shown(bare))
		}
		if i := slices.IndexFunc(b.conds[:b.Equal], func(o condition) bool { return o.field == bare }); i >= 0 {
			if b.conds[i].set {
				return failure.Invalid("the order names %s, of which there are several values; leave it out, and order by what comes after it", c.Shown(bare))
			}
			continue
		}
		cond.Desc = desc
		b.Order = append(b.Order, cond.Source)
		b.names = append(b.names, name)
	}
	return nil
}

// Matches reports whether a record meets all conditions.
func (b *Bound) Matches(vals []driver.Value) bool {
	for i := range b.conds {
		if !b.conds[i].isMet(vals) {
			return false
		}
	}
	return b.passes(vals)
}

// Passes reports whether a record meets the conditions that no run of rows does.
func (b *Bound) Passes(vals []driver.Value) bool {
	for i := range b.conds {
		if b.conds[i].all != nil && !b.conds[i].isMet(vals) {
			return false
		}
	}
	return b.passes(vals)
}

func (b *Bound) passes(vals []driver.Value) bool {
	for i := range b.none {
		if b.none[i].isMet(vals) {
			return false
		}
	}
	for i := range b.filt {
		if !b.filt[i].isMet(vals) {
			return false
		}
	}
	return true
}

// Looks reports whether there are conditions that no run of rows meets, so that records are looked at.
func (b *Bound) Looks() bool {
	return len(b.none)+len(b.filt) > 0 || slices.ContainsFunc(b.conds, func(cond condition) bool { return cond.all != nil })
}
