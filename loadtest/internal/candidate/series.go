package candidate

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/polystore/polystore/loadtest/internal/failure"
	"github.com/polystore/polystore/loadtest/internal/operation"
	"github.com/polystore/polystore/loadtest/internal/value"
	"github.com/polystore/polystore/loadtest/internal/workload"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/series"
)

// A point is a record without the fields that name its series.
type point map[string]any

// Time returns when the point was measured.
func (p point) Time() time.Time {
	t, _ := p[workload.Instant].(time.Time)
	return t
}

// A shelf is a collection that a model keeps as series.
type shelf struct {
	*series.Collection[point]
	of     *workload.Collection
	fields []string // that name the series of a record
	sort   string   // the field of the time
	in     *workload.Model
	most   int // points of a bucket
}

// openShelf opens the series of a collection in a model under another name.
func openShelf(ctx context.Context, store *repo.Store, of *workload.Collection, m *workload.Model, name string) (*shelf, error) {
	how, schema := m.Series[of.At], &m.Schemas[of.At]
	c, err := series.Open[point](ctx, store, series.Schema{Collection: name, Span: how.Span, Most: how.Most, Unique: true})
	if err != nil {
		return nil, err
	}
	return &shelf{c, of, schema.Partition, strings.TrimPrefix(schema.Sort[0], "-"), m, how.Most}, nil
}

// point returns a record as a point, and the name of its series.
func (s *shelf) point(rec map[string]any) (name string, p point) {
	p = make(point, len(rec))
	for f, v := range rec {
		p[f] = v
	}
	delete(p, s.sort)
	p[workload.Instant] = rec[s.sort]
	var of []any
	for _, f := range s.fields {
		of = append(of, rec[f])
		delete(p, f)
	}
	return nameOf(of), p
}

// record returns a point as a record.
func (s *shelf) record(name string, p point) (map[string]any, error) {
	var kinds []string
	for _, f := range s.fields {
		kinds = append(kinds, s.of.Kind(f))
	}
	of, err := namedBy(name, kinds)
	if err != nil {
		return nil, fmt.Errorf("a series of %s has the name %s, and none was written so: %w", s.of.Schema.Collection, value.Quote(name), err)
	}
	rec := make(map[string]any, len(p)+len(of))
	for f, v := range p {
		rec[f] = v
	}
	delete(rec, workload.Instant)
	rec[s.sort] = p.Time()
	for i, f := range s.fields {
		rec[f] = of[i]
	}
	return rec, nil
}

// do sends an operation to the series.
func (s *shelf) do(ctx context.Context, k *operation.Call, g *gatherer) error {
	switch k.Q.Kind {
	case "insert":
		name, p := s.point(k.Record)
		return s.Append(ctx, name, p)
	case "get", "exists":
		return s.get(ctx, k, g)
	case "page":
		return s.pages(ctx, k, g)
	}
	name, from, to := s.asked(k)
	_, err := s.take(s.points(ctx, k, name, from, to), name, k, g)
	return err
}

// get reads the point of a time.
func (s *shelf) get(ctx context.Context, k *operation.Call, g *gatherer) error {
	key := k.KeyIn(s.in)
	at, _ := key[len(key)-1].(time.Time)
	at = whole(at)
	name := nameOf(key[:len(key)-1])
	_, err := s.take(s.Range(ctx, name, at, at.Add(time.Millisecond)), name, k, g)
	if err == nil && g.N == 0 && k.Q.Kind == "get" {
		err = repo.ErrNotFound
	}
	return err
}

// pages reads some pages, each from the time on at which the one before it ended.
func (s *shelf) pages(ctx context.Context, k *operation.Call, g *gatherer) error {
	name, from, to := s.asked(k)
	for range k.Q.Pages {
		before := g.N
		last, err := s.take(s.points(ctx, k, name, from, to), name, k, g)
		if err != nil || g.N-before < k.Limit {
			return err
		}
		if backward(k.Q) {
			to = last
		} else {
			from = last.Add(time.Millisecond)
		}
	}
	return nil
}

// points returns the points between two times, in the order of a query.
func (s *shelf) points(ctx context.Context, k *operation.Call, name string, from, to time.Time) iter.Seq2[point, error] {
	if backward(k.Q) {
		return s.Backward(ctx, name, from, to)
	}
	return s.Range(ctx, name, from, to)
}

func backward(q *workload.Query) bool { return len(q.Order) > 0 && strings.HasPrefix(q.Order[0], "-") }

// take takes points into an answer, as many as a call wants, and returns the time of the last one.
func (s *shelf) take(points iter.Seq2[point, error], name string, k *operation.Call, g *gatherer) (last time.Time, err error) {
	n := 0
	for p, err := range points {
		if err != nil {
			return last, err
		}
		n, last = n+1, p.Time()
		if k.Q.Kind == "count" || k.Q.Kind == "exists" || !g.keep {
			g.N++
		} else if rec, err := s.record(name, p); err == nil {
			g.one(rec)
		} else {
			return last, err
		}
		if n == k.Limit {
			break
		}
	}
	return last, nil
}

// asked returns which series a call is for, and from which time to which other one. A zero time leaves an end open.
func (s *shelf) asked(k *operation.Call) (name string, from, to time.Time) {
	of := make([]any, len(s.fields))
	for _, cond := range k.Conds {
		for i, f := range s.fields {
			if cond.Field == f {
				of[i] = cond.Values[0]
			}
		}
		if cond.Field != s.sort {
			continue
		}
		t, _ := cond.Values[0].(time.Time)
		switch t = whole(t); cond.Way {
		case "at_least":
			from = t
		case "above":
			from = t.Add(time.Millisecond)
		case "below":
			to = t
		case "at_most":
			to = t.Add(time.Millisecond)
		}
	}
	return nameOf(of), from, to
}

// whole returns a time as a store keeps it.
func whole(t time.Time) time.Time { return time.UnixMilli(t.UnixMilli()).UTC() }

// all yields all points as records.
func (s *shelf) all(ctx context.Context) iter.Seq2[map[string]any, error] {
	return func(yield func(map[string]any, error) bool) {
		for e, err := range s.All(ctx) {
			var rec map[string]any
			if err == nil {
				rec, err = s.record(e.Series, e.Point)
			}
			if !yield(rec, err) || err != nil {
				return
			}
		}
	}
}

// verify makes sure that each series has its points in their order, no time twice, and as many as all buckets have.
func (s *shelf) verify(ctx context.Context, label string) error {
	in := map[string]int{}
	for e, err := range s.All(ctx) {
		if err != nil {
			return err
		}
		in[e.Series]++
	}
	for name, want := range in {
		n, last := 0, time.Time{}
		for p, err := range s.Range(ctx, name, time.Time{}, time.Time{}) {
			if err != nil {
				return err
			}
			if t := p.Time(); n > 0 && !last.Before(t) {
				return s.wrong(label, name, fmt.Sprintf("has a point of %s behind one of %s", t.Format(time.RFC3339Nano), last.Format(time.RFC3339Nano)))
			}
			n, last = n+1, p.Time()
		}
		if n != want {
			return s.wrong(label, name, fmt.Sprintf("has %d points in its buckets, and %d in order", want, n))
		}
	}
	return nil
}

func (s *shelf) wrong(label, name, text string) error {
	return &failure.WrongAnswers{Text: fmt.Sprintf("after the run the series %s in %s of %s %s", value.Quote(name), s.of.Schema.Collection, label, text)}
}

// noRoom says that a bucket would be too large for a record.
func (s *shelf) noRoom() string {
	return fmt.Sprintf("%s: a bucket of %d points is too large for a record; let it have fewer: most: %d", s.of.Schema.Collection, s.most, max(s.most/2, 1))
}
