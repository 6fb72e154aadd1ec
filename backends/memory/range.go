package memory

import (
	"context"
	"iter"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/driver/frame"
)

// Range yields the rows of a span, each as it is when its turn comes.
func (s *store) Range(ctx context.Context, span driver.Span) iter.Seq2[*driver.Row, error] {
	return func(yield func(*driver.Row, error) bool) {
		var out driver.Row
		c := newCursor(span)
		for n := 0; span.Limit <= 0 || n < span.Limit; n++ {
			ok, err := reading(ctx, s, span.Table, span.Mask, func(v *view) (bool, error) { return c.read(v, &out), nil })
			if err != nil {
				yield(nil, err)
				return
			}
			if !ok || !yield(&out, nil) {
				return
			}
		}
	}
}

// Ranges reads the spans one after another, by one lock of the store.
func (s *Store) Ranges(ctx context.Context, spans []driver.Span, yield func(i int, row *driver.Row) bool) error {
	return frame.Ranges(ctx, s.in.frame, spans, func(v *view) error {
		s.in.mu.RLock()
		defer s.in.mu.RUnlock()
		var out driver.Row
		for i, span := range spans {
			c := newCursor(span)
			for n := 0; (span.Limit <= 0 || n < span.Limit) && c.read(v, &out); n++ {
				if span.Wants(out.Key.Sort) && !yield(i, &out) {
					return nil
				}
			}
		}
		return nil
	})
}

// Count returns the number of rows of a span.
func (s *Store) Count(ctx context.Context, span driver.Span) (int, error) {
	return reading(ctx, s.in, span.Table, nil, func(v *view) (n int, err error) {
		for c := newCursor(span); (span.Limit <= 0 || n < span.Limit) && c.next(v.ranged()) != nil; {
			n++
		}
		return n, nil
	})
}

// ranged returns the rows that a span of the table is of, which can be the entries of a native index.
func (v *view) ranged() *rows {
	if v.native != nil {
		return &v.native.rows
	}
	return &v.rows
}

// A cursor is the rest of a span: keys from low on and below high.
type cursor struct {
	span driver.Span
	low  string
	high string // "" is no bound
}

func newCursor(span driver.Span) cursor {
	p := span.Key.Partition
	c := cursor{span: span, low: p + span.From, high: driver.After(p)}
	if span.To != "" {
		c.high = p + span.To
	}
	return c
}

// next returns the next row of the span that is not dead, or nil at its end.
func (c *cursor) next(rows *rows) *row {
	found := c.step(rows)
	for found != nil && found.dead {
		found = c.step(rows)
	}
	return found
}

// step returns the next row between the bounds, dead or not.
func (c *cursor) step(rows *rows) *row {
	if c.span.Reverse {
		found := rows.before(c.high)
		if found == nil || found.key < c.low {
			return nil
		}
		c.high = found.key
		return found
	}
	found := rows.from(c.low)
	if found == nil || c.high != "" && found.key >= c.high {
		return nil
	}
	c.low = found.key + "\x00" // the least text after it
	return found
}

// read reads the next row of a span into out, and reports whether there is one.
func (c *cursor) read(v *view, out *driver.Row) bool {
	found := c.next(v.ranged())
	if found == nil {
		return false
	}
	if found.of != nil {
		found = found.of
	}
	v.load(out, found.driverKey(), found, c.span.Mask)
	return true
}
