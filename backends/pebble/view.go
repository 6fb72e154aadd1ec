package pebble

import (
	"slices"

	"github.com/polystore/polystore/repo/driver"
)

// A view is a table as one driver.Table sees it, whose ordinals are its own.
type view struct {
	*table
	names    []string       // of the fields, by ordinal
	heads    []uint64       // numbers of the fields times 16, by ordinal
	ordinals map[string]int // by name
	slots    []int32        // ordinal by number, or -1
	noSlots  []int32        // as long as slots, all -1
}

func newView(t *table, declared *driver.Table) *view {
	v := &view{table: t, ordinals: map[string]int{}}
	fields := *t.fields.Load()
	v.slots = slices.Repeat([]int32{-1}, len(fields)+1)
	v.noSlots = slices.Clone(v.slots)
	for i, f := range declared.Fields {
		number := 1 + slices.IndexFunc(fields, func(c driver.Column) bool { return c.Name == f.Name })
		v.names = append(v.names, f.Name)
		v.heads = append(v.heads, uint64(number)<<4)
		v.ordinals[f.Name] = i
		v.slots[number] = int32(i)
	}
	return v
}
