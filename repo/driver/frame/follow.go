package frame

import (
	"context"
	"slices"
	"strings"

	"github.com/polystore/polystore/repo/driver"
)

// Follow is a call of a [driver.Follower]: it checks a trail, and calls do with what is known of the index and of the
// tables beside.
func Follow[V, R any](
	ctx context.Context, f *Frame[V], trail *driver.Trail, beside []*driver.Table, do func(index *V, beside []*V) (R, error),
) (r R, err error) {
	if err := f.Enter(ctx); err != nil {
		return r, err
	}
	defer f.Leave()
	index, err := f.known(trail.Index)
	if err == nil {
		err = f.checkTrail(trail)
	}
	views := make([]*V, len(beside))
	for i := 0; i < len(beside) && err == nil; i++ {
		if views[i], err = f.rows(beside[i], nil); err == nil && (beside[i].Class != driver.Records || !slices.Equal(beside[i].Partition, trail.Index.Partition)) {
			err = f.name.Invalid("follow: the table %s is not one of records with the partition of %s", beside[i].Name, trail.Index.Name)
		}
	}
	if err != nil {
		return r, err
	}
	return do(index, views)
}

// checkTrail says what is wrong with a trail of a known table.
func (f *Frame[V]) checkTrail(trail *driver.Trail) error {
	t := trail.Index
	if !t.Native || len(t.Sort) == 0 || strings.HasSuffix(t.Sort[0].Name, elements) || !slices.Equal(t.Partition, t.Home.Partition) {
		return f.name.Invalid("follow: the table %s is not a native index with the partition of its records and an order", t.Name)
	}
	if _, err := driver.AppendParts(nil, t.Sort[:1], []driver.Value{trail.Start}); err != nil {
		return f.name.Wrap(err)
	}
	from := func(c driver.Column) bool { return c.Name == trail.From && c.Kind == t.Sort[0].Kind }
	if !slices.ContainsFunc(slices.Concat(t.Home.Partition, t.Home.Sort, t.Home.Fields), from) {
		return f.name.Invalid("follow: the records of %s have no %s of kind %s", t.Name, trail.From, t.Sort[0].Kind)
	}
	return nil
}
