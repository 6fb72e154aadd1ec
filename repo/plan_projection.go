package repo

import (
	"slices"
)

// accesses returns how a shape is read from the records and from each index.
func accesses(c *layoutC, s *shape) []access {
	whole := s.isMap || s.extra != nil || s.version != nil
	needs := s.positions()
	list := []access{recordAccess(c, s, needs)}
	for _, x := range c.indexes {
		if x.native {
			list = append(list, nativeAccess(c, s, x, needs))
		} else {
			list = append(list, indexAccess(c, x, whole, needs))
		}
	}
	for i := range list {
		list[i].straight = isStraight(c, list[i].place)
	}
	return list
}

// isStraight reports whether a row has the fields of the record in their order.
func isStraight(c *layoutC, place []int) bool {
	for i, at := range place {
		if at != len(c.key)+i {
			return false
		}
	}
	return true
}

// recordMask returns the ordinals of the fields that a shape reads from a record,
// nil for all of them.
func recordMask(c *layoutC, s *shape, needs []int) []int {
	mask := []int{}
	for _, at := range needs {
		if at >= len(c.key) {
			mask = append(mask, at-len(c.key))
		}
	}
	if s.isMap || s.extra != nil || len(mask) == len(c.records.Fields) {
		return nil
	}
	return mask
}

// maskWith returns mask with the fields that the conditions of a query look at.
func maskWith(c *layoutC, mask []int, b *bound) []int {
	if mask == nil {
		return nil
	}
	for i := range b.conds {
		if f := b.conds[i].at - len(c.key); f >= 0 && !slices.Contains(mask, f) {
			mask = append(mask[:len(mask):len(mask)], f)
		}
	}
	return mask
}

// maskFor returns mask with the fields that say which entries a record has in a loose
// index.
func maskFor(c *layoutC, mask []int, x *index) []int {
	if mask == nil || !x.loose {
		return mask
	}
	for _, at := range x.needs {
		if f := at - len(c.key); f >= 0 && !slices.Contains(mask, f) {
			mask = append(mask[:len(mask):len(mask)], f)
		}
	}
	return mask
}

func recordAccess(c *layoutC, s *shape, needs []int) access {
	a := access{covered: true, mask: recordMask(c, s, needs)}
	for i := range c.records.Fields {
		if a.mask == nil {
			a.place = append(a.place, len(c.key)+i)
		}
	}
	for _, i := range a.mask {
		a.place = append(a.place, len(c.key)+i)
	}
	return a
}

// indexAccess returns how the fields at positions needs are read from x; whole
// says that the version or undeclared fields are wanted, too.
func indexAccess(c *layoutC, x *index, whole bool, needs []int) access {
	a := access{mask: []int{}}
	owner := 0
	if x.Unique {
		owner = 1
		a.mask, a.place = append(a.mask, 0), append(a.place, -1)
	}
	if x.loose || whole && !x.all {
		return a
	}
	full := a
	for _, at := range needs {
		i := slices.Index(x.covers, at)
		switch {
		case i >= 0:
			full.mask, full.place = append(full.mask, owner+i), append(full.place, at)
		case at < len(c.key):
		case x.hasKey(at):
			full.keyed = true
		default:
			return a
		}
	}
	full.covered = true
	if whole {
		full.mask, full.place = nil, slices.Concat(full.place[:owner], x.covers)
	}
	return full
}

// keyAccesses returns how keys alone are read.
func keyAccesses(c *layoutC) []access {
	list := []access{{covered: true, mask: []int{}}}
	for _, x := range c.indexes {
		a := indexAccess(c, x, false, nil)
		a.covered = !x.loose // a row may be there before its record, or after it
		if x.native {
			a = nativeAccess(c, &shape{}, x, nil)
		}
		list = append(list, a)
	}
	return list
}

// An access says how a view reads the rows of one table.
type access struct {
	covered bool  // the rows have all that the view needs
	mask    []int // fields of the rows to read; nil is all
	place   []int // by field read: its position among the values, or -1
	keyed   bool  // index key columns are wanted as values

	straight bool // the fields of a row are those of the record, in order
}

// uncovered is a for rows that do not say whether there is a record still.
func (a *access) uncovered() *access {
	if !a.covered {
		return a
	}
	return &access{mask: []int{}}
}

// nativeAccess returns how a shape that needs some fields is read from x: with what
// says at which place of the index a record is.
func nativeAccess(c *layoutC, s *shape, x *index, needs []int) access {
	needs = slices.Concat(needs, x.needs)
	slices.Sort(needs)
	return recordAccess(c, s, slices.Compact(needs))
}
