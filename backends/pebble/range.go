package pebble

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"strings"
	"sync"

	pebbledb "github.com/cockroachdb/pebble/v2"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/driver/frame"
)

// A scan is a Range under way. Between two steps it holds nothing but its
// iterator, which Close takes away from it.
type scan struct {
	mu        sync.Mutex
	it        *pebbledb.Iterator // nil: not begun, or the store was closed
	seeks     bool               // it has no bounds of the span
	partition string
	cut       int // length of table prefix and partition in a key
	bounds    pebbledb.IterOptions
	low       []byte
	high      []byte
	reader    reader
	row       driver.Row
	rows      int // that it has yielded
	dead      int // that it has left out

	before, after *scan // in the list of scans
}

// scans is the list of those under way.
type scans struct {
	mu    sync.Mutex
	first *scan
	pool  sync.Pool
}

func (l *scans) get() *scan {
	if c, ok := l.pool.Get().(*scan); ok {
		return c
	}
	return new(scan)
}

func (l *scans) add(c *scan) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c.before, c.after = nil, l.first
	if l.first != nil {
		l.first.before = c
	}
	l.first = c
}

// finish ends c, whether or not Close has ended it before.
func (l *scans) finish(c *scan) {
	c.end()
	l.mu.Lock()
	if c.before != nil {
		c.before.after = c.after
	} else {
		l.first = c.after
	}
	if c.after != nil {
		c.after.before = c.before
	}
	l.mu.Unlock()
	l.pool.Put(c)
}

// end ends all scans under way.
func (l *scans) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := l.first; c != nil; c = c.after {
		c.end()
	}
}

func (c *scan) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.it != nil {
		c.it.Close() // its error was seen at the last step
		c.it = nil
	}
}

// Range yields the rows of a span as they were when the loop began.
func (s *store) Range(ctx context.Context, span driver.Span) iter.Seq2[*driver.Row, error] {
	return func(yield func(*driver.Row, error) bool) {
		c := s.scans.get()
		if err := s.begin(ctx, c, &span); err != nil {
			yield(nil, err)
			return
		}
		defer s.finish(c, span.Reverse)
		for ; span.Limit <= 0 || c.rows < span.Limit; c.rows++ {
			ok, err := s.step(ctx, c, span.Reverse, c.rows == 0)
			if err != nil {
				yield(nil, err)
				return
			}
			if !ok || !yield(&c.row, nil) {
				return
			}
		}
	}
}

// Ranges reads the spans in the order of their rows, by one iterator, as they were when the call began: Pebble seeks what lies
// close behind where an iterator is by some steps.
func (s *Store) Ranges(ctx context.Context, spans []driver.Span, yield func(i int, row *driver.Row) bool) error {
	return frame.Ranges(ctx, s.in.frame, spans, func(v *view) error {
		c := s.in.scans.get()
		defer s.in.scans.pool.Put(c)
		return s.in.ranges(ctx, c, v, spans, yield)
	})
}

func (s *store) ranges(ctx context.Context, c *scan, v *view, spans []driver.Span, yield func(i int, row *driver.Row) bool) (err error) {
	if c.it, err = s.db.NewIter(&pebbledb.IterOptions{LowerBound: v.prefix, UpperBound: v.end}); err != nil {
		return s.failed("ranges over "+v.name, err)
	}
	c.seeks = true
	defer func() {
		c.end()
		c.seeks = false
	}()
	c.reader.init(v, spans[0].Mask)
	for _, i := range inOrder(spans) {
		span := &spans[i]
		c.bound(v.table, span)
		for c.rows, c.dead = 0, 0; span.Limit <= 0 || c.rows < span.Limit; c.rows++ {
			ok, err := s.step(ctx, c, span.Reverse, c.rows == 0)
			if err != nil {
				return err
			}
			if !ok {
				break
			}
			if span.Wants(c.row.Key.Sort) && !yield(i, &c.row) {
				return nil
			}
		}
		s.tidy(c, span.Reverse)
	}
	return nil
}

// inOrder returns the indexes of spans in the order of their beginnings.
func inOrder(spans []driver.Span) []int {
	order := make([]int, len(spans))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int {
		a, b := &spans[i], &spans[j]
		return cmp.Or(strings.Compare(a.Key.Partition, b.Key.Partition), strings.Compare(a.From, b.From))
	})
	return order
}

func (s *store) finish(c *scan, reverse bool) {
	s.tidy(c, reverse)
	s.scans.finish(c)
}

// begin opens c and lists it. The caller must finish it unless there is an error.
func (s *store) begin(ctx context.Context, c *scan, span *driver.Span) error {
	if err := s.frame.Enter(ctx); err != nil {
		return err
	}
	defer s.frame.Leave()
	v, err := s.frame.View(span.Table, span.Mask)
	if err != nil {
		return err
	}
	if err := s.openScan(c, v, span); err != nil {
		return err
	}
	s.scans.add(c)
	return nil
}

func (s *store) openScan(c *scan, v *view, span *driver.Span) (err error) {
	c.reader.init(v, span.Mask)
	c.bound(v.table, span)
	c.rows, c.dead = 0, 0
	c.it, err = s.db.NewIter(&c.bounds)
	return s.failed("range over "+v.name, err)
}

// bound sets the bounds of the span.
func (c *scan) bound(t *table, span *driver.Span) {
	p := span.Key.Partition
	c.partition, c.cut = p, len(t.prefix)+len(p)
	c.low = appendKey(c.low[:0], t.prefix, p, span.From)
	if span.To != "" {
		c.high = appendKey(c.high[:0], t.prefix, p, span.To)
	} else {
		c.high = successor(appendKey(c.high[:0], t.prefix, p, ""))
	}
	if string(c.high) < string(c.low) {
		c.high = append(c.high[:0], c.low...)
	}
	c.bounds = pebbledb.IterOptions{LowerBound: c.low, UpperBound: c.high}
}

// step reads the next row into c.row; ok is false at the end.
func (s *store) step(ctx context.Context, c *scan, reverse, first bool) (ok bool, err error) {
	if err := who.Over(ctx); err != nil {
		return false, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.it == nil {
		return false, who.Wrap(driver.ErrClosed)
	}
	for ; c.move(reverse, first); first = false {
		stored, err := c.it.ValueAndErr()
		if err == nil && isDead(stored) {
			c.dead++
			continue
		}
		if err == nil {
			if err = c.read(c.it.Key()[c.cut:], stored); err == nil {
				return true, nil
			}
		}
		if err != nil {
			return false, s.failed("range over "+c.reader.name, err)
		}
	}
	return false, s.failed("range over "+c.reader.name, c.it.Error())
}

func (c *scan) move(reverse, first bool) bool {
	if !c.seeks {
		return move(c.it, reverse, first)
	}
	ok := false
	switch {
	case first && reverse:
		ok = c.it.SeekLT(c.high)
	case first:
		ok = c.it.SeekGE(c.low)
	default:
		ok = move(c.it, reverse, false)
	}
	if !ok {
		return false
	}
	key := c.it.Key()
	return string(c.low) <= string(key) && string(key) < string(c.high)
}

func move(it *pebbledb.Iterator, reverse, first bool) bool {
	switch {
	case first && reverse:
		return it.Last()
	case first:
		return it.First()
	case reverse:
		return it.Prev()
	}
	return it.Next()
}

// read sets c.row to a row, with one allocation for all its strings.
func (c *scan) read(sort, stored []byte) error {
	c.row.Reset()
	c.row.Key.Partition = c.partition
	head, body := cut(stored)
	if len(sort) == 0 || len(body) == 0 || c.reader.byPiece(stored) {
		c.row.Key.Sort = string(sort)
		return c.reader.readBytes(&c.row, stored)
	}
	both := inPlace(sort) + inPlace(body) // a copy: neither is empty
	c.row.Key.Sort = both[:len(sort)]
	return c.reader.read(&c.row, head, both[len(sort):], false)
}

// Count returns the number of rows of a span that are not dead.
func (s *Store) Count(ctx context.Context, span driver.Span) (int, error) {
	span.Mask = nil
	return frame.Read(ctx, s.in.frame, span.Table, nil, func(v *view) (int, error) { return s.in.count(ctx, v, &span) })
}

func (s *store) count(ctx context.Context, v *view, span *driver.Span) (int, error) {
	var c scan
	if err := s.openScan(&c, v, span); err != nil {
		return 0, err
	}
	defer c.end()
	defer s.tidy(&c, false)
	records := span.Table.Class == driver.Records // no other row is ever dead
	for seen := 0; span.Limit <= 0 || c.rows < span.Limit; seen++ {
		if seen%ctxEvery == 0 {
			if err := who.Over(ctx); err != nil {
				return 0, err
			}
		}
		if !move(c.it, false, seen == 0) {
			break
		}
		if records {
			stored, err := c.it.ValueAndErr()
			if err != nil {
				return 0, s.failed("count "+span.Table.Name, err)
			}
			if isDead(stored) {
				c.dead++
				continue
			}
		}
		c.rows++
	}
	return c.rows, s.failed("count "+span.Table.Name, c.it.Error())
}
