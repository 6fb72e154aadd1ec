package geo

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/polystore/polystore/repo"
)

// Places finds the records of a collection by a field of type [Point]. Many goroutines may use a Places at once. Make
// one with [Of].
type Places[T any] struct {
	repo       *repo.Repo[T]
	field      string
	at         func(record *T) Point
	collection string
}

// Of returns the places of a collection. Field is the stored name of a field of type [Point], and at returns it. Of
// reads nothing.
//
// The key or an index has the field as the first one of its Sort. Queries fix the fields of its Partition by
// [Query.Where]. An index without Partition has Buckets, and finds the records of all partitions.
func Of[T any](r *repo.Repo[T], field string, at func(record *T) Point) (*Places[T], error) {
	p := &Places[T]{repo: r, field: field, at: at}
	if r == nil || field == "" || at == nil {
		return nil, p.failed("places", fmt.Errorf("Of needs a repository, the name of a field and a function: %w", repo.ErrInvalid))
	}
	plan, err := r.Explain(p.span(Query{where: repo.All()}, 0, 0))
	if p.collection = plan.Collection; err != nil {
		e, ok := errors.AsType[*repo.Error](err)
		if !ok {
			return nil, p.failed("places", err)
		}
		p.collection = e.Collection
		if !errors.Is(err, repo.ErrNoIndex) { // the index may want conditions
			return nil, &repo.Error{Op: "places", Collection: e.Collection, Err: e.Err}
		}
	}
	return p, nil
}

// span returns the query for the records of a query with codes from first to last.
func (p *Places[T]) span(q Query, first, last uint64) repo.Query {
	return q.where.AtLeast(p.field, textOf(first)).AtMost(p.field, textOf(last)).Order(p.field)
}

// single returns the query for the records of a query at one spot, in the order of their keys.
func (p *Places[T]) single(q Query, code uint64) repo.Query {
	return q.where.Where(p.field, textOf(code)).Order(p.field)
}

// failed says which call failed. Errors of package repo stay as they are.
func (p *Places[T]) failed(op string, err error) error {
	if _, ok := errors.AsType[*repo.Error](err); ok || err == nil {
		return err
	}
	out := &repo.Error{Op: op, Retryable: errors.Is(err, repo.ErrTimeout), Err: err}
	if p != nil && p.repo != nil {
		out.Collection, out.Err = p.collection, p.repo.Store().Redact(err)
	}
	return out
}

func (p *Places[T]) check(ctx context.Context, q Query) error {
	switch {
	case p == nil || p.repo == nil:
		return fmt.Errorf("the places are empty: make them with Of: %w", repo.ErrInvalid)
	case ctx == nil:
		return fmt.Errorf("the context is nil: %w", repo.ErrInvalid)
	}
	return q.check()
}

// Find yields the records that a query finds. The query runs anew for each range loop, and lazily: a loop that ends
// early reads little more than it needs. An error comes once, last, with the zero T. Each record was in the region of
// the query when it was read.
func (p *Places[T]) Find(ctx context.Context, q Query) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		if err := p.check(ctx, q); err != nil {
			yield(*new(T), p.failed("find", err))
			return
		}
		n := 0
		for g, err := range p.groups(ctx, q, nil, q.limit) {
			if err != nil {
				yield(*new(T), p.failed("find", err))
				return
			}
			for record, err := range p.recordsOf(ctx, q, g) {
				if n++; !yield(record, err) || err != nil || n == q.limit {
					return
				}
			}
		}
	}
}

// recordsOf yields the records at one spot.
func (p *Places[T]) recordsOf(ctx context.Context, q Query, g group[T]) iter.Seq2[T, error] {
	if !g.whole {
		return p.repo.Find(ctx, p.single(q, g.code))
	}
	return func(yield func(T, error) bool) {
		for _, record := range g.records {
			if !yield(record, nil) {
				return
			}
		}
	}
}
