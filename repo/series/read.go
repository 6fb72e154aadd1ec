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
		for points, err := range c.spans(ctx, c.between(series, from, to).Order("start", "part")) {
			if err != nil {
				yield(*new(P), err)
				return
			}
			for _, p := range points {
				if t := p.Time(); t.Before(from) || !to.IsZero() && !t.Before(to) {
					continue
				}
				if !yield(p, nil) {
					return
				}
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

// spans yields the points of each span, in the order of their times.
func (c *Collection[P]) spans(ctx context.Context, q repo.Query) iter.Seq2[[]P, error] {
	return func(yield func([]P, error) bool) {
		var points []P
		var start time.Time
		flush := func() bool {
			slices.SortStableFunc(points, func(a, b P) int { return a.Time().Compare(b.Time()) })
			return len(points) == 0 || yield(points, nil)
		}
		for b, err := range c.buckets.Find(ctx, q) {
			if err != nil {
				yield(nil, err)
				return
			}
			if !b.Start.Equal(start) {
				if !flush() {
					return
				}
				points, start = nil, b.Start
			}
			points = append(points, b.Points...)
		}
		flush()
	}
}

// Newest returns the last points of a series, at most so many, the newest first. It reads no more buckets than it
// needs, but those of its last span whole.
func (c *Collection[P]) Newest(ctx context.Context, series string, most int) ([]P, error) {
	if most < 1 {
		return nil, &repo.Error{Op: "newest", Collection: c.schema.Collection, Err: fmt.Errorf("the newest %d points; at least 1 is needed: %w", most, repo.ErrInvalid)}
	}
	var newest []P
	for points, err := range c.spans(ctx, repo.Where("series", series).Order("-start", "-part")) {
		if err != nil {
			return nil, err
		}
		slices.Reverse(points)
		if newest = append(newest, points...); len(newest) >= most {
			return newest[:most], nil
		}
	}
	return newest, nil
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
			yield(Summary{}, &repo.Error{Op: "summarize", Collection: c.schema.Collection, Err: fmt.Errorf("a step of %s; it needs a function, and at least a millisecond: %w", step, repo.ErrInvalid)})
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
