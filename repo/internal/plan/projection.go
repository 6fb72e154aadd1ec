package plan

import (
	"slices"

	"github.com/polystore/polystore/repo/internal/layout"
	"github.com/polystore/polystore/repo/internal/record"
)

// Accesses returns how a shape is read from the records and from each index.
func Accesses(c *layout.Layout, s *record.Mapping) []Access {
	return accesses(c, s, s.IsWhole() || s.Version != nil, s.Positions())
}

// AccessesTo returns how keys are read, and the fields at some positions.
func AccessesTo(c *layout.Layout, at []int) []Access {
	return accesses(c, new(record.Mapping), false, at)
}

// accesses is Accesses for the fields at positions needs; whole says that the version or undeclared fields are wanted,
// too.
func accesses(c *layout.Layout, s *record.Mapping, whole bool, needs []int) []Access {
	list := []Access{recordAccess(c, s, needs)}
	for _, x := range c.Indexes {
		if x.Native {
			list = append(list, nativeAccess(c, s, x, needs))
		} else {
			list = append(list, indexAccess(c, x, whole, needs))
		}
	}
	for i := range list {
		list[i].Straight = isStraight(c, list[i].Place)
	}
	return list
}

// isStraight reports whether a row has the fields of the record in their order.
func isStraight(c *layout.Layout, place []int) bool {
	for i, at := range place {
		if at != len(c.Key)+i {
			return false
		}
	}
	return true
}

// RecordMask returns the ordinals of the fields that a shape reads from a record,
// nil for all of them.
func RecordMask(c *layout.Layout, s *record.Mapping, needs []int) []int {
	mask := []int{}
	for _, at := range needs {
		if at >= len(c.Key) {
			mask = append(mask, at-len(c.Key))
		}
	}
	if s.IsWhole() || len(mask) == len(c.Records.Fields) {
		return nil
	}
	return mask
}

// MaskWith returns mask with the fields that the conditions of a query look at, and those that make its groups.
func MaskWith(c *layout.Layout, mask []int, b *Bound) []int {
	if mask == nil {
		return nil
	}
	add := func(at int) {
		if f := at - len(c.Key); f >= 0 && !slices.Contains(mask, f) {
			mask = append(mask[:len(mask):len(mask)], f)
		}
	}
	for _, conds := range [...][]condition{b.conds, b.none, b.filt} {
		for i := range conds {
			add(conds[i].At)
		}
	}
	for _, src := range b.Order[:b.groups] {
		add(src.At)
	}
	return mask
}

// wide is a with the fields that a query looks at, for rows that are whole records.
func (a *Access) wide(c *layout.Layout, b *Bound) *Access {
	if a.Mask == nil {
		return a
	}
	out := *a
	out.Mask = MaskWith(c, a.Mask, b)
	out.Place = slices.Clone(a.Place)
	for _, f := range out.Mask[len(a.Mask):] {
		out.Place = append(out.Place, len(c.Key)+f)
	}
	out.Straight = isStraight(c, out.Place)
	return &out
}

// MaskFor returns mask with the fields that say which entries a record has in an index.
func MaskFor(c *layout.Layout, mask []int, x *layout.Index) []int {
	if mask == nil {
		return nil
	}
	for _, at := range x.Needs {
		if f := at - len(c.Key); f >= 0 && !slices.Contains(mask, f) {
			mask = append(mask[:len(mask):len(mask)], f)
		}
	}
	return mask
}

func recordAccess(c *layout.Layout, s *record.Mapping, needs []int) Access {
	a := Access{Covered: true, Mask: RecordMask(c, s, needs)}
	for i := range c.Records.Fields {
		if a.Mask == nil {
			a.Place = append(a.Place, len(c.Key)+i)
		}
	}
	for _, i := range a.Mask {
		a.Place = append(a.Place, len(c.Key)+i)
	}
	return a
}

// indexAccess returns how the fields at positions needs are read from x; whole
// says that the version or undeclared fields are wanted, too.
func indexAccess(c *layout.Layout, x *layout.Index, whole bool, needs []int) Access {
	a := Access{Mask: []int{}}
	owner := 0
	if x.Unique {
		owner = 1
		a.Mask, a.Place = append(a.Mask, 0), append(a.Place, -1)
	}
	if x.Remote || whole && !x.All {
		return a
	}
	full := a
	for _, at := range needs {
		i := slices.Index(x.CoverAt, at)
		switch {
		case i >= 0:
			full.Mask, full.Place = append(full.Mask, owner+i), append(full.Place, at)
		case at < len(c.Key):
		case x.HasKey(at):
			full.Keyed = true
		default:
			return a
		}
	}
	full.Covered = true
	if whole {
		full.Mask, full.Place = nil, slices.Concat(full.Place[:owner], x.CoverAt)
	}
	return full
}

// An Access says how a view reads the rows of one table.
type Access struct {
	Covered bool  // the rows have all that the view needs
	Mask    []int // fields of the rows to read; nil is all
	Place   []int // by field read: its position among the values, or -1
	Keyed   bool  // index key columns are wanted as values

	Straight bool // the fields of a row are those of the record, in order
}

// uncovered is a for rows that do not say whether there is a record still.
func (a *Access) uncovered() *Access {
	if !a.Covered {
		return a
	}
	out := Access{Mask: []int{}}
	if len(a.Place) > 0 && a.Place[0] < 0 { // the owner
		out.Mask, out.Place = []int{0}, a.Place[:1]
	}
	return &out
}

// nativeAccess returns how a shape that needs some fields is read from x: with what
// says at which place of the index a record is.
func nativeAccess(c *layout.Layout, s *record.Mapping, x *layout.Index, needs []int) Access {
	needs = slices.Concat(needs, x.Needs)
	slices.Sort(needs)
	return recordAccess(c, s, slices.Compact(needs))
}
