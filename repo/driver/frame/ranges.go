package frame

import (
	"context"
	"slices"

	"github.com/polystore/polystore/repo/driver"
)

// Ranges is a call of a [driver.Ranger]: it checks the spans, and calls do with what is known of their table, unless there
// are none.
func Ranges[V any](ctx context.Context, f *Frame[V], spans []driver.Span, do func(v *V) error) error {
	if err := f.Enter(ctx); err != nil {
		return err
	}
	defer f.Leave()
	if len(spans) == 0 {
		return nil
	}
	first := &spans[0]
	v, err := f.rows(first.Table, first.Mask)
	if err != nil {
		return err
	}
	for i := range spans {
		if s := &spans[i]; s.Table != first.Table || !slices.Equal(s.Mask, first.Mask) || (s.Mask == nil) != (first.Mask == nil) {
			return f.name.Invalid("ranges: spans 0 and %d are of different tables, or have different masks", i)
		}
	}
	return do(v)
}
