package frame

import (
	"context"
	"slices"

	"github.com/polystore/polystore/repo/driver"
)

// Group is a call of a [driver.Grouper]: it checks what is to be grouped, and calls do with what is known of the index.
func Group[V, R any](ctx context.Context, f *Frame[V], g *driver.Grouping, do func(index *V) (R, error)) (r R, err error) {
	if err := f.Enter(ctx); err != nil {
		return r, err
	}
	defer f.Leave()
	index, err := f.known(g.Span.Table)
	if err == nil {
		err = f.checkGrouping(g)
	}
	if err != nil {
		return r, err
	}
	return do(index)
}

// checkGrouping says what is wrong with a grouping of a known table.
func (f *Frame[V]) checkGrouping(g *driver.Grouping) error {
	t := g.Span.Table
	switch {
	case !t.Native:
		return f.name.Invalid("group: the table %s is not a native index", t.Name)
	case g.Columns < 0 || g.Columns > len(t.Sort):
		return f.name.Invalid("group: the table %s has %d columns of Sort, not %d", t.Name, len(t.Sort), g.Columns)
	case g.Span.Mask != nil:
		return f.name.Invalid("group: there is no mask of groups")
	}
	for _, name := range g.Sums {
		if !slices.ContainsFunc(t.Home.Fields, func(c driver.Column) bool { return c.Name == name && c.Kind == driver.Int }) {
			return f.name.Invalid("group: the records of %s have no field %.64q of kind %s", t.Name, name, driver.Int)
		}
	}
	return nil
}
