package plan

import (
	"slices"
	"strings"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/failure"
	"github.com/polystore/polystore/repo/internal/layout"
)

// A Part is a run of rows in one partition. Parts are merged by the places of their rows: what stands behind the head
// of a part, with its class behind the columns of the order. The place of a record is the same in all parts that have
// it, and no other record has it.
type Part struct {
	Key driver.Key
	Extent
	Head  string // with which the Sort of each row begins, where the query asks for several values of a field
	Class string // the values of the record's key that no row tells, or those of a unique index, where parts have several
	Term  int    // which of the values that are counted the rows have, where records are ranked
	split *split // where the class stands
}

// A split says which columns of a place stand before the class, and which are the class.
type split struct{ order, class []driver.Column }

// Place returns where in the order of its plan a row of the part is.
func (r *Part) Place(sort string) string {
	rest := sort[len(r.Head):]
	if r.split == nil {
		return rest
	}
	order, tail, _ := driver.CutParts(rest, r.split.order)
	return order + r.Class + tail
}

// behind returns what of the part lies behind a place.
func (r *Part) behind(at string, reverse bool) Extent {
	if r.split == nil {
		return r.Extent.Behind(r.Head+at, reverse)
	}
	order, class, ok := driver.CutParts(at, r.split.order)
	if !ok {
		return r.Extent.Behind(r.Head+at, reverse)
	}
	class, tail, ok := driver.CutParts(class, r.split.class)
	if !ok { // it is no place, but lies beside one
		class, tail = class+at[len(order)+len(class):], ""
	}
	switch d := strings.Compare(r.Class, class); {
	case d == 0:
		return r.Extent.Behind(r.Head+order+tail, reverse)
	case (d < 0) == reverse: // all of the order is to come
		return r.Extent.OnFrom(r.Head+order, reverse)
	}
	return r.Extent.beyond(r.Head+order, reverse)
}

// Empty reports whether a plan reads nothing.
func (p *Plan) Empty() bool {
	return !slices.ContainsFunc(p.Parts, func(r Part) bool { return !r.Extent.Empty() })
}

// Behind narrows a plan to what lies behind a place of its order. Copies of the plan keep what they have.
func (p *Plan) Behind(at string, reverse bool) {
	p.narrow(func(r *Part) Extent { return r.behind(at, reverse) })
}

// narrow gives each part an extent.
func (p *Plan) narrow(to func(*Part) Extent) {
	narrowed := func(parts []Part) []Part {
		parts = slices.Clone(parts)
		for i := range parts {
			parts[i].Extent = to(&parts[i])
		}
		return parts
	}
	if p.Parts = narrowed(p.Parts); len(p.Ways) > 0 {
		ways := make([][]Part, len(p.Ways))
		for i := range ways {
			ways[i] = narrowed(p.Ways[i])
		}
		p.Ways = ways
	}
}

// PartOf returns the part in which a row is, nil if there is none.
func PartOf(parts []Part, key *driver.Key) *Part {
	for i := range parts {
		if r := &parts[i]; r.Key.Partition == key.Partition && r.Has(key.Sort) {
			return r
		}
	}
	return nil
}

// IsSet reports whether a plan has parts that differ in more than a bucket.
func (p *Plan) IsSet() bool { return len(p.query.Sets)+len(p.Ways) > 0 }

// IsRange reports whether the rows of one run are all that a plan finds, one for each record.
func (p *Plan) IsRange() bool {
	return p.Covered && len(p.Parts) == 1 && len(p.Ways) == 0 && !p.Looks() && p.Offset == 0 && !p.Table.Native
}

// Doubles reports whether a record may be in several parts.
func (p *Plan) Doubles() bool { return p.doubles() }

func (b *Bound) doubles() bool {
	return slices.ContainsFunc(b.conds, func(cond condition) bool { return cond.counts() && (len(cond.any) > 1 || b.query.ranked) })
}

// mostParts is how many combinations of values a query may ask for.
const mostParts = 1000

// addParts adds the runs of a table that a query asks for: one for each combination of the values of its sets, and for
// each bucket. Fixed are how many columns of the order have a value each.
func (p *Plan) addParts(key, part, sort []layout.Source, fixed int) error {
	b := &p.Bound
	buckets, tagged := 1, false
	if p.X != nil {
		buckets = p.X.Partitions()
		tagged = buckets > 1 || p.X.Buckets == 1 && !p.X.Native
	}
	headed := slices.ContainsFunc(b.conds[:b.Equal], func(cond condition) bool { return cond.set || cond.all != nil })
	var space [8]driver.Value
	class, cols := b.classOf(key)
	if p.X != nil && p.X.Unique { // its rows are in the order of their values, and tell nothing of the keys
		class, cols = b.classOf(slices.Concat(part, sort[:fixed]))
	}
	var at *split
	if len(class) > 0 {
		at = &split{p.Table.Sort[fixed : fixed+len(b.Order)], cols}
	}
	defer p.sortParts()
	return b.each(func() error {
		vals := b.valuesOf(space[:0], sort[:fixed])
		var scratch [256]byte
		head, err := driver.AppendParts(scratch[:0], p.Table.Sort[:fixed], vals)
		if err != nil {
			return err
		}
		run := Part{Extent: extentAt(string(head)), Term: b.term(), split: at}
		if headed {
			run.Head = string(head)
		}
		if len(b.conds) > b.Equal {
			if run.Extent, err = run.within(head, p.Table.Sort[fixed], &b.conds[b.Equal]); err != nil {
				return err
			}
		}
		if at != nil {
			text, err := driver.AppendParts(nil, cols, b.valuesOf(space[:0], class))
			if err != nil {
				return err
			}
			run.Class = string(text)
		}
		vals = b.valuesOf(space[:0], part)
		for i := range buckets {
			all := vals
			if tagged {
				all = append(vals[:len(vals):len(vals)], driver.IntValue(int64(i)))
			}
			text, err := driver.AppendParts(scratch[:0], p.Table.Partition, all)
			if err != nil {
				return err
			}
			run.Key.Partition = string(text)
			p.Parts = append(p.Parts, run)
		}
		return nil
	})
}

// sortParts puts parts of one row each in the order of these.
func (p *Plan) sortParts() {
	if p.X != nil && p.X.Unique && len(p.Parts) > 1 {
		slices.SortFunc(p.Parts, func(a, b Part) int { return strings.Compare(a.Class, b.Class) })
	}
}

// classOf returns the columns of some that have several values.
func (b *Bound) classOf(key []layout.Source) (class []layout.Source, cols []driver.Column) {
	for _, src := range key {
		if i := b.equality(src); i >= 0 && b.conds[i].set {
			class, cols = append(class, src), append(cols, driver.Column{Name: b.conds[i].field, Kind: b.conds[i].kind})
		}
	}
	return class, cols
}

// valuesOf appends the values of the conditions on columns.
func (b *Bound) valuesOf(vals []driver.Value, cols []layout.Source) []driver.Value {
	for _, src := range cols {
		vals = append(vals, b.conds[b.equality(src)].value)
	}
	return vals
}

// each calls do for each combination of the values of the sets, with the conditions that have them.
func (b *Bound) each(do func() error) error {
	n := 1
	for i := range b.conds[:b.Equal] {
		if cond := &b.conds[i]; cond.set {
			if n *= len(cond.any); n > mostParts {
				return tooMany()
			}
		}
	}
	return b.eachFrom(0, do)
}

func tooMany() error {
	return failure.Invalid("the query has more than %d combinations of values; ask for fewer at once", mostParts)
}

func (b *Bound) eachFrom(i int, do func() error) error {
	for ; i < b.Equal; i++ {
		if cond := &b.conds[i]; cond.set {
			for _, v := range cond.any {
				cond.value = v
				if err := b.eachFrom(i+1, do); err != nil {
					return err
				}
			}
			return nil
		}
	}
	return do()
}

// within narrows a run to a range of the column after head. A limit that is over its value lies behind the texts of
// that value; where greater values come first, before them.
func (e Extent) within(head []byte, col driver.Column, cond *condition) (Extent, error) {
	low, high := cond.low, cond.high
	if col.Desc {
		low, high = high, low
	}
	place := func(l boundary) (string, error) {
		b, err := driver.AppendParts(slices.Clone(head), []driver.Column{col}, []driver.Value{l.value})
		if l.over != col.Desc {
			return driver.After(string(b)), err
		}
		return string(b), err
	}
	if !low.value.IsNone() {
		from, err := place(low)
		if err != nil {
			return e, err
		}
		e.From = from
	}
	if !high.value.IsNone() {
		to, err := place(high)
		if err != nil {
			return e, err
		}
		e = e.upTo(to)
	}
	return e, nil
}
