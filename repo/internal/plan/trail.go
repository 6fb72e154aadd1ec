package plan

import (
	"slices"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/failure"
	"github.com/polystore/polystore/repo/internal/layout"
)

// A Trail is a driver.Trail, and the ordinals of the columns by which it leads on.
type Trail struct {
	driver.Trail
	To, From int
}

// Trail returns the trail through the partition of a query that begins with a value of a field, and goes on from
// another one. It is ErrUnsupported where no native index leads to the records of the partition by the field.
func (c *Planner) Trail(partition Query, start Equality, from string, depth int) (Trail, error) {
	partition.Equal = append(slices.Clone(partition.Equal), start)
	b, err := bind(c.Layout, partition)
	if err != nil {
		return Trail{}, err
	}
	x := c.leads(&b)
	if x == nil {
		return Trail{}, driver.Errorf("no native index with the partition of the records begins with %s: %w", start.Field, driver.ErrUnsupported)
	}
	t := Trail{driver.Trail{Index: x.Table, From: from, Depth: depth}, c.At(start.Field), c.At(from)}
	if t.From < 0 || c.Cols[t.From].Kind != c.Cols[t.To].Kind {
		return Trail{}, failure.Invalid("there is no field %s of kind %s", from, c.Cols[t.To].Kind)
	}
	for _, cond := range b.conds {
		if cond.At == t.To && cond.Path == nil {
			t.Start = cond.value
		}
	}
	return t, nil
}

// leads returns a native index of the partition of the records in which no record lacks that a trail may reach.
func (c *Planner) leads(b *Bound) *layout.Index {
	for _, x := range c.Indexes {
		if !x.Native || !slices.Equal(x.Table.Partition, c.Records.Partition) {
			continue
		}
		if fixed, _, ok := c.FitsTable(b, x); ok && fixed == 1 && !c.LacksRows(b, x, fixed) {
			return x
		}
	}
	return nil
}
