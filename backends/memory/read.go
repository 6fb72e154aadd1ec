package memory

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/polystore/polystore/internal/backend"
	"github.com/polystore/polystore/repo/driver"
)

// Get reads the rows under keys into rows.
func (s *Store) Get(ctx context.Context, t *driver.Table, keys []driver.Key, mask []int, rows []driver.Row) error {
	if err := s.read(ctx); err != nil {
		return err
	}
	defer s.mu.RUnlock()
	v, err := s.view(t)
	if err != nil {
		return err
	}
	if err := t.ValidateMask(mask); err != nil {
		return fmt.Errorf("memory: %w", err)
	}
	if len(keys) != len(rows) {
		return invalid("get %s: %d keys but %d rows", t.Name, len(keys), len(rows))
	}
	for i, k := range keys {
		v.load(&rows[i], k, v.rows.get(k.Partition+k.Sort), mask)
	}
	return nil
}

// Range yields the rows of a span, each as it is when its turn comes.
func (s *Store) Range(ctx context.Context, span driver.Span) iter.Seq2[*driver.Row, error] {
	return func(yield func(*driver.Row, error) bool) {
		var out driver.Row
		c := newCursor(span)
		for n := 0; span.Limit <= 0 || n < span.Limit; n++ {
			ok, err := s.step(ctx, &c, &out)
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

// Count returns the number of rows of a span.
func (s *Store) Count(ctx context.Context, span driver.Span) (int, error) {
	if err := s.read(ctx); err != nil {
		return 0, err
	}
	defer s.mu.RUnlock()
	span.Mask = nil
	rows, _, err := s.ranged(&span)
	if err != nil {
		return 0, err
	}
	n := 0
	c := newCursor(span)
	for (span.Limit <= 0 || n < span.Limit) && c.next(rows) != nil {
		n++
	}
	return n, nil
}

// ranged returns the rows that a span is of, which can be the entries of a native index,
// and the view of the records or rows that it yields.
func (s *Store) ranged(span *driver.Span) (*rows, *view, error) {
	t := span.Table
	v := s.views[t]
	if v == nil {
		return nil, nil, fmt.Errorf("memory: %w", backend.Unknown(t))
	}
	rows := &v.rows
	if v.native != nil {
		rows, t = &v.native.rows, t.Home
	}
	if err := t.ValidateMask(span.Mask); err != nil {
		return nil, nil, fmt.Errorf("memory: %w", err)
	}
	return rows, v, nil
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

// step reads the next row of a span into out; ok is false at the end.
func (s *Store) step(ctx context.Context, c *cursor, out *driver.Row) (ok bool, err error) {
	if err := s.read(ctx); err != nil {
		return false, err
	}
	defer s.mu.RUnlock()
	rows, v, err := s.ranged(&c.span)
	if err != nil {
		return false, err
	}
	found := c.next(rows)
	if found == nil {
		return false, nil
	}
	if found.of != nil {
		found = found.of
	}
	v.load(out, found.driverKey(), found, c.span.Mask)
	return true, nil
}

func (r *row) driverKey() driver.Key {
	return driver.Key{Partition: r.key[:r.cut], Sort: r.key[r.cut:]}
}

// load sets out to the stored row, which may be nil, in the view's ordinals.
func (v *view) load(out *driver.Row, key driver.Key, r *row, mask []int) {
	out.Reset()
	out.Key = driver.Key{Partition: key.Partition, Sort: key.Sort}
	if r == nil {
		return
	}
	out.Rev, out.Expires, out.Dead, out.Note = r.rev, r.expires, r.dead, r.note
	out.Ring = append(out.Ring, r.ring...)
	if mask == nil {
		v.loadAll(out, r)
		return
	}
	for _, ordinal := range mask {
		out.Fields = append(out.Fields, r.field(v.names[ordinal]))
	}
}

func (v *view) loadAll(out *driver.Row, r *row) {
	for range v.names {
		out.Fields = append(out.Fields, driver.Value{})
	}
	for _, f := range r.fields {
		if ordinal, ok := v.ordinal[f.Name]; ok {
			out.Fields[ordinal] = f.Value
		} else {
			out.Extra = append(out.Extra, f)
		}
	}
}

func byName(p driver.Pair, name string) int { return strings.Compare(p.Name, name) }

// field returns the value of a field, absent if the row has none.
func (r *row) field(name string) driver.Value {
	if i, ok := slices.BinarySearchFunc(r.fields, name, byName); ok {
		return r.fields[i].Value
	}
	return driver.Value{}
}
