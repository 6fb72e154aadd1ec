package series

import (
	"context"
	"fmt"
	"iter"
	"math"
	"slices"
	"time"

	"github.com/polystore/polystore/repo"
)

// Range yields the points of a series with from <= time < to, in the order of their times. A zero time leaves an end
// open. It reads the buckets of that time by one query, and holds those of one span in memory.
func (c *Collection[P]) Range(ctx context.Context, series string, from, to time.Time) iter.Seq2[P, error] {
	return func(yield func(P, error) bool) {
		for points, err := range c.spans(c.buckets.Find(ctx, c.between(series, from, to).Order("start", "part")), false) {
			if err != nil {
				yield(*new(P), err)
				return
			}
			for _, p := range points {
				if isWithin(p, from, to) && !yield(p, nil) {
					return
				}
			}
		}
	}
}

// Backward is Range in the opposite order: the latest point comes first. Where from is the zero time it asks for one
// bucket first, and for more by each further query, so that a loop that ends early reads few.
func (c *Collection[P]) Backward(ctx context.Context, series string, from, to time.Time) iter.Seq2[P, error] {
	return func(yield func(P, error) bool) {
		buckets := c.latestFirst(ctx, series, to)
		if !from.IsZero() {
			buckets = c.buckets.Find(ctx, c.between(series, from, to).Order("-start", "-part"))
		}
		for points, err := range c.spans(buckets, true) {
			if err != nil {
				yield(*new(P), err)
				return
			}
			for _, p := range slices.Backward(points) {
				if isWithin(p, from, to) && !yield(p, nil) {
					return
				}
			}
		}
	}
}

// isWithin reports whether a point is one of a range.
func isWithin[P Point](p P, from, to time.Time) bool {
	t := p.Time()
	return !t.Before(from) && (to.IsZero() || t.Before(to))
}

// latestFirst yields the buckets that may have points before a time, the latest first: one by the first query, and more
// by each further one. Of a query without a limit, a server sends a hundred at once.
func (c *Collection[P]) latestFirst(ctx context.Context, series string, to time.Time) iter.Seq2[bucket[P], error] {
	return func(yield func(bucket[P], error) bool) {
		var last *bucket[P]
		for most := 1; ; most *= 8 {
			n := 0
			for b, err := range c.buckets.Find(ctx, c.between(series, time.Time{}, to).Order("-start", "-part").Limit(most)) {
				if n++; err == nil && last != nil && b.Start.Equal(last.Start) && b.Part >= last.Part {
					continue // it came by the query before
				}
				if !yield(b, err) || err != nil {
					return
				}
				last = &b
			}
			if n < most {
				return
			}
			if to = last.Start; last.Part > 0 {
				to = to.Add(1) // there are more of its span
			}
		}
	}
}

// between returns the query of the buckets that may have points of a time.
func (c *Collection[P]) between(series string, from, to time.Time) repo.Query {
	q := repo.Where("series", series)
	if !from.IsZero() {
		q = q.AtLeast("start", c.startOf(from))
	}
	if !to.IsZero() {
		q = q.AtMost("start", c.startOf(to.Add(-1))) // which need not be a whole millisecond
	}
	return q
}

// spans yields the points of each span, in the order of their times. Where buckets come in the opposite order, the first
// part of a span ends it.
func (c *Collection[P]) spans(buckets iter.Seq2[bucket[P], error], back bool) iter.Seq2[[]P, error] {
	return func(yield func([]P, error) bool) {
		var points []P
		var start time.Time
		flush := func() bool {
			list := points
			points = nil
			slices.SortStableFunc(list, func(a, b P) int { return a.Time().Compare(b.Time()) })
			return len(list) == 0 || yield(list, nil)
		}
		for b, err := range buckets {
			if err != nil {
				yield(nil, err)
				return
			}
			if !b.Start.Equal(start) && !flush() {
				return
			}
			start = b.Start
			if points = append(points, b.Points...); back && b.Part == 0 && !flush() {
				return
			}
		}
		flush()
	}
}

// Newest returns the last points of a series, at most so many, the newest first. It reads no more buckets than it
// needs, but for those that come with the last one of them.
func (c *Collection[P]) Newest(ctx context.Context, series string, most int) ([]P, error) {
	if most < 1 {
		return nil, c.failed("newest", fmt.Errorf("the newest %d points; at least 1 is needed: %w", most, repo.ErrInvalid))
	}
	var newest []P
	for p, err := range c.Backward(ctx, series, time.Time{}, time.Time{}) {
		if err != nil {
			return nil, err
		}
		if newest = append(newest, p); len(newest) == most {
			break
		}
	}
	return newest, nil
}

// An Entry is a point with the name of its series.
type Entry[P Point] struct {
	Series string
	Point  P
}

// All yields all points of all series in no order, but those of a bucket together. It reads every bucket.
func (c *Collection[P]) All(ctx context.Context) iter.Seq2[Entry[P], error] {
	return func(yield func(Entry[P], error) bool) {
		for chunk, err := range c.buckets.Walk(ctx, "") {
			if err != nil {
				yield(Entry[P]{}, err)
				return
			}
			for _, b := range chunk.Items {
				for _, p := range b.Points {
					if !yield(Entry[P]{b.Series, p}, nil) {
						return
					}
				}
			}
		}
	}
}

// A Summary is what the points of a series come to in one step of time.
type Summary struct {
	Start         time.Time
	Count         int
	Sum, Min, Max float64
}

// Mean returns the mean of the values.
func (s Summary) Mean() float64 { return s.Sum / float64(s.Count) }

// Summarize yields summaries of what value says of the points of a range, one for each step of time that has points, in
// order. Steps begin at multiples of step after 1970, UTC. It reads what Range reads; to keep summaries longer than
// their points, append them to a series of their own.
func (c *Collection[P]) Summarize(ctx context.Context, series string, from, to time.Time, step time.Duration, value func(P) float64) iter.Seq2[Summary, error] {
	return func(yield func(Summary, error) bool) {
		if step < time.Millisecond || value == nil {
			yield(Summary{}, c.failed("summarize", fmt.Errorf("a step of %s; it needs a function, and at least a millisecond: %w", step, repo.ErrInvalid)))
			return
		}
		at := Collection[P]{schema: Schema{Span: step}}
		s := Summary{}
		for p, err := range c.Range(ctx, series, from, to) {
			if err != nil {
				yield(Summary{}, err)
				return
			}
			if start := at.startOf(p.Time()); s.Count > 0 && !start.Equal(s.Start) {
				if !yield(s, nil) {
					return
				}
				s = Summary{}
			}
			v := value(p)
			if s.Count == 0 {
				s = Summary{Start: at.startOf(p.Time()), Min: math.Inf(1), Max: math.Inf(-1)}
			}
			s.Count, s.Sum, s.Min, s.Max = s.Count+1, s.Sum+v, min(s.Min, v), max(s.Max, v)
		}
		if s.Count > 0 {
			yield(s, nil)
		}
	}
}

// Delete removes the points of a series whose buckets end before a time, the zero time for all. It returns how many
// buckets it removed. If it fails, another call removes the rest.
func (c *Collection[P]) Delete(ctx context.Context, series string, before time.Time) (int, error) {
	q := repo.Where("series", series)
	if !before.IsZero() {
		q = q.AtMost("start", before.Add(-c.schema.Span))
	}
	return c.buckets.DeleteAll(ctx, c.buckets.Keys(ctx, q))
}
