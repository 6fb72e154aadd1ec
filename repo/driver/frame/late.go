package frame

import (
	"maps"
	"slices"
	"strings"

	"github.com/polystore/polystore/repo/driver"
)

// A Table is a table as one driver.Table sees it, whose ordinals are its own. Programs declare different fields of
// one table, so that a row can have three sorts of them: those that this program declares; those that another one
// does, which are Others; and those that nobody did when they were written, which lie apart from both. One of
// the last may have been declared since: it is Late. Whoever sets it removes it from there, whoever reads it looks
// at both places, and to add to it is to read it first.
type Table struct {
	*driver.Table                // as it was when it became known
	Ordinals      map[string]int // of fields, by name
	Late          []bool         // by ordinal: there can be rows that have the field from before it was declared
	Others        Others
}

// NewTable returns a table of which a catalog has some fields.
func NewTable(t *driver.Table, fields map[string]Known) *Table {
	own := *t
	own.Partition, own.Sort, own.Fields = slices.Clone(t.Partition), slices.Clone(t.Sort), slices.Clone(t.Fields)
	own.Ring = max(0, own.Ring)
	v := &Table{Table: &own, Ordinals: map[string]int{}}
	for i, f := range own.Fields {
		v.Ordinals[f.Name] = i
		v.Late = append(v.Late, fields[f.Name].Later)
	}
	v.Others.Set(maps.Clone(fields), own.Fields)
	return v
}

// KeyOf returns the key whose texts, one after the other, are text; ok is false if it is none of the table.
func (v *Table) KeyOf(text string) (k driver.Key, ok bool) {
	partition, rest, ok := driver.CutParts(text, v.Partition)
	if !ok {
		return k, false
	}
	sort, rest, ok := driver.CutParts(rest, v.Sort)
	return driver.Key{Partition: partition, Sort: sort}, ok && rest == ""
}

// A Shape is where the fields that are read go: by ordinal, or by place in a mask.
type Shape struct {
	Mask  []int
	Width int
	place []int // by ordinal: the place and one; nil is the ordinal itself
}

// Shape returns the shape of a mask.
func (v *Table) Shape(mask []int) Shape {
	if mask == nil {
		return Shape{Width: len(v.Fields)}
	}
	sh := Shape{Mask: mask, Width: len(mask), place: make([]int, len(v.Fields))}
	for i, ordinal := range mask {
		sh.place[ordinal] = i + 1
	}
	return sh
}

// At returns where a field goes, if it is wanted.
func (sh *Shape) At(ordinal int) (place int, wanted bool) {
	if sh.place == nil {
		return ordinal, true
	}
	return sh.place[ordinal] - 1, sh.place[ordinal] > 0
}

// Begin makes room for the fields of a row.
func (sh *Shape) Begin(row *driver.Row) {
	row.Fields = slices.Grow(row.Fields[:0], sh.Width)[:sh.Width]
	clear(row.Fields)
}

// Undeclared puts into row a field that nobody had declared when it was written. If v declares it by now it has its
// place, unless it was written again since.
func (v *Table) Undeclared(row *driver.Row, sh *Shape, name string, value driver.Value) {
	i, declared := v.Ordinals[name]
	switch at, wanted := 0, false; {
	case value.IsNone():
	case declared:
		if at, wanted = sh.At(i); wanted && row.Fields[at].IsNone() {
			row.Fields[at] = value
		}
	case sh.Mask == nil:
		row.Extra = append(row.Extra, driver.Pair{Name: name, Value: value})
	}
}

// SetExtra gives row a field that another program declares, in the place of what it may have from before that.
func SetExtra(row *driver.Row, name string, value driver.Value) {
	row.Extra = slices.DeleteFunc(row.Extra, func(p driver.Pair) bool { return p.Name == name })
	if !value.IsNone() {
		row.Extra = append(row.Extra, driver.Pair{Name: name, Value: value})
	}
}

// SortExtra brings pairs into the order of their names.
func SortExtra(pairs []driver.Pair) {
	if !slices.IsSortedFunc(pairs, byName) {
		slices.SortFunc(pairs, byName)
	}
}

func byName(a, b driver.Pair) int { return strings.Compare(a.Name, b.Name) }
