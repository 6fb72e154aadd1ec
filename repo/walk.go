package repo

import (
	"cmp"
	"context"
	"iter"
)

// A Chunk is a run of records from [Repo.Walk], with the mark at which a later walk resumes, in
// this program or another. The mark of the last chunk is "".
type Chunk[T any] struct {
	Items []T
	Mark  string
}

// Walk yields all records of the collection in chunks, in no order. Mark is "", or the mark of an
// earlier chunk. A record that is there during the whole walk comes at least once.
//
// Records that cannot be read, because another program wrote them, come as the error of their
// chunk. This chunk has the other records and its mark, and a loop that goes on gets the rest. Any
// other error comes once, last, with an empty chunk.
func (r *Repo[T]) Walk(ctx context.Context, mark string) iter.Seq2[Chunk[T], error] {
	return func(yield func(Chunk[T], error) bool) {
		ctx, c, k := begin(ctx, "walk", r)
		defer k.Leave()
		stopped := false
		var first error // of a chunk
		var items []T
		err := r.on().v.Walk(ctx, &k, mark, func(t any, left int) {
			if items == nil {
				items = make([]T, 0, left)
			}
			items = append(items, *t.(*T))
		}, func(mark string, err error) bool {
			if first = cmp.Or(first, err); err != nil {
				err = c.annotate(k.Op, nil, err)
			}
			k.Return(len(items))
			stopped = !yield(Chunk[T]{Items: items, Mark: mark}, err)
			items = nil
			return !stopped
		})
		if err == nil {
			_ = c.end(&k, nil, first)
		} else if err = c.end(&k, nil, err); !stopped {
			yield(Chunk[T]{}, err)
		}
	}
}

// Scan yields the records that a query finds by reading the whole collection. It answers any query,
// with or without an index, at the price of reading all records; ties come in the order of the
// keys. With an order it holds the found records in memory: as many as the limit, or all, at most
// 100,000; more is ErrTooLarge. Records that lack a field of the order are left out, as in an
// index.
//
// A query may name undeclared fields, where records have such fields. Their values have the kinds
// with which they were written: only values of the kind of the given value meet a condition, an
// order puts one kind after the other, and records with a list or map there are left out.
func (r *Repo[T]) Scan(ctx context.Context, q Query) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		ctx, c, k := begin(ctx, "scan", r)
		defer k.Leave()
		stopped := false
		err := r.on().v.Scan(ctx, &k, q.def, func(t any) bool {
			k.Return(1)
			stopped = !yield(*t.(*T), nil)
			return !stopped
		})
		if err = c.end(&k, nil, err); err != nil && !stopped {
			var zero T
			yield(zero, err)
		}
	}
}
