package memory

import (
	"context"
	"math"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/driver/frame"
)

// Group groups the entries of a native index under the lock of the store.
func (s *Store) Group(ctx context.Context, g driver.Grouping, yield func(*driver.Group) bool) error {
	groups, err := frame.Group(ctx, s.in.frame, &g, func(index *view) ([]driver.Group, error) { return s.in.group(index, &g) })
	for i := range groups {
		if !yield(&groups[i]) {
			return nil
		}
	}
	return err
}

// group returns the groups before the limit or an error.
func (s *store) group(v *view, g *driver.Grouping) (groups []driver.Group, err error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	c, cols, last := newCursor(g.Span), g.Span.Table.Sort[:g.Columns], ""
	for e := c.next(v.ranged()); e != nil; e = c.next(v.ranged()) {
		if e.of.expires != 0 && e.of.expires <= g.Now {
			continue
		}
		head, _, ok := driver.CutParts(e.key[e.cut:], cols)
		if !ok {
			return groups, driver.Errorf("memory: group: the entry %q has other columns than %s: %w", driver.Private(e.key), g.Span.Table.Name, driver.ErrCorrupt)
		}
		if len(groups) == 0 || head != last {
			if g.Span.Limit > 0 && len(groups) == g.Span.Limit {
				break
			}
			vals, _, err := driver.ParseParts(nil, head, cols)
			if err != nil {
				return groups, err
			}
			groups, last = append(groups, driver.Group{Values: vals, Sums: make([]int64, len(g.Sums))}), head
		}
		if err := e.of.addTo(&groups[len(groups)-1], g.Sums); err != nil {
			return groups[:len(groups)-1], err
		}
	}
	return groups, nil
}

// addTo counts a record, and adds up its fields.
func (r *row) addTo(g *driver.Group, sums []string) error {
	g.Count++
	for i, name := range sums {
		n := r.field(name)
		if n.IsNone() {
			continue
		}
		if n.Kind() != driver.Int {
			return who.Unsupported("group: a record has a %s as %s", n.Kind(), name)
		}
		if a, b := g.Sums[i], n.Int(); b > 0 && a > math.MaxInt64-b || b < 0 && a < math.MinInt64-b {
			return who.Unsupported("group: an int64 does not hold the sum of %s", name)
		}
		g.Sums[i] += n.Int()
	}
	return nil
}
