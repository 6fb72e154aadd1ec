package memory

import (
	"context"

	"github.com/polystore/polystore/repo/driver"
)

// Size returns the bytes of the keys and values of a table. A native index has none.
func (s *Store) Size(ctx context.Context, t *driver.Table) (int64, error) {
	return reading(ctx, s.in, t, nil, func(v *view) (n int64, err error) {
		if v.native != nil {
			return 0, nil
		}
		for _, block := range v.rows.blocks {
			for _, r := range block {
				n += r.size()
			}
		}
		return n, nil
	})
}

func (r *row) size() int64 {
	n := len(r.key) + len(r.note) + len(r.rev)*(1+len(r.ring)) + 8 // 8 for Expires
	for _, f := range r.fields {
		n += len(f.Name) + valueSize(f.Value)
	}
	return int64(n)
}

func valueSize(v driver.Value) int {
	n := len(v.Str())
	switch v.Kind() {
	case driver.Bool:
		n = 1
	case driver.Int, driver.Float, driver.Time:
		n = 8
	}
	for _, e := range v.List() {
		n += valueSize(e)
	}
	return n
}
