package memory

import (
	"context"
	"slices"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/driver/frame"
)

// Follow follows a trail under the lock of the store, which is the one instant.
func (s *Store) Follow(ctx context.Context, trail driver.Trail, beside []*driver.Table, yield func(i int, row *driver.Row) bool) error {
	rows, err := frame.Follow(ctx, s.in.frame, &trail, beside, func(index *view, beside []*view) ([]followed, error) {
		return s.in.follow(&trail, index, beside)
	})
	for i := range rows {
		if err == nil && !yield(rows[i].of, &rows[i].Row) {
			return nil
		}
	}
	return err
}

// followed is a row, and the index of its table.
type followed struct {
	driver.Row
	of int
}

func (s *store) follow(trail *driver.Trail, index *view, beside []*view) ([]followed, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	rows, err := reached(index, trail)
	for i, v := range beside {
		c := newCursor(driver.Span{Key: driver.Key{Partition: trail.Partition}})
		for at := (followed{of: i + 1}); c.read(v, &at.Row); at = (followed{of: i + 1}) {
			rows = append(rows, at)
		}
	}
	return rows, err
}

// reached returns the records that a trail reaches, level by level.
func reached(v *view, trail *driver.Trail) (rows []followed, err error) {
	seen, level := map[string]bool{}, []driver.Value{trail.Start}
	for depth := 1; len(level) > 0 && (trail.Depth == 0 || depth <= trail.Depth); depth++ {
		var next []driver.Value
		for _, value := range level {
			prefix, err := driver.AppendParts(nil, trail.Index.Sort[:1], []driver.Value{value})
			if err != nil {
				return nil, err
			}
			from, to := string(prefix), driver.After(string(prefix))
			c := newCursor(driver.Span{Key: driver.Key{Partition: trail.Partition}, From: from, To: to})
			for at := c.next(v.ranged()); at != nil; at = c.next(v.ranged()) {
				if r := at.of; !seen[r.key] {
					seen[r.key] = true
					rows = append(rows, followed{})
					v.load(&rows[len(rows)-1].Row, r.driverKey(), r, nil)
					next = v.appendValue(next, r, trail.From)
				}
			}
		}
		level = next
	}
	return rows, nil
}

// appendValue appends what a record has in a column, if it has something.
func (v *view) appendValue(list []driver.Value, r *row, column string) []driver.Value {
	value, key := r.field(column), slices.Concat(v.Partition, v.Sort)
	if i := slices.IndexFunc(key, func(c driver.Column) bool { return c.Name == column }); i >= 0 {
		if vals, err := frame.KeyValues(v.Table.Table, r.driverKey()); err == nil {
			value = vals[i]
		}
	}
	if value.IsNone() {
		return list
	}
	return append(list, value)
}
