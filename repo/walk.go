package repo

import (
	"cmp"
	"context"
	"iter"
	"reflect"
)

// A Chunk is a run of records from [Repo.Walk], and the mark after which a later
// walk goes on, in this program or another; it is "" with the last chunk.
type Chunk[T any] struct {
	Items []T
	Mark  string
}

// Walk yields all records of the collection in chunks, in no order. Mark is "" or
// that of an earlier chunk. A record that is there during the whole walk comes at
// least once.
//
// Records that cannot be read, as another program wrote them, come as the error of their
// chunk, which has the others and its mark; who does not leave the loop then gets the rest.
// Any other error comes once, last, with an empty chunk.
func (r *Repo[T]) Walk(ctx context.Context, mark string) iter.Seq2[Chunk[T], error] {
	return func(yield func(Chunk[T], error) bool) {
		k := r.begin("walk")
		stopped := false
		var first error // of a chunk
		err := r.walk(ctx, &k, mark, func(chunk Chunk[T], err error) bool {
			if first = cmp.Or(first, err); err != nil {
				err = r.annotate(k.op, nil, err)
			}
			stopped = !yield(chunk, err)
			return !stopped
		})
		if err == nil {
			_ = r.end(&k, nil, first)
		} else if err = r.end(&k, nil, err); !stopped {
			yield(Chunk[T]{}, err)
		}
	}
}

func (r *Repo[T]) walk(ctx context.Context, k *call, mark string, yield func(Chunk[T], error) bool) error {
	if ctx == nil {
		return errNoContext
	}
	b := newReadBuffer(0)
	defer b.release()
	for chunk, err := range r.store.driver.Walk(k.walks(ctx), r.records, mark) {
		var f faults
		if err := f.unread(err); err != nil {
			return err
		}
		k.got(len(chunk.Rows))
		if err := r.settleChunk(ctx, k, &f, chunk.Rows); err != nil {
			return err
		}
		out := Chunk[T]{Mark: chunk.Mark, Items: make([]T, 0, len(chunk.Rows))}
		for i := range chunk.Rows {
			var rec T
			ok, err := r.whole().parse(k, b, &chunk.Rows[i], chunk.Rows[i].Key, &rec)
			if err != nil {
				f.of(r.collection, r.records, chunk.Rows[i].Key, err)
			} else if ok {
				out.Items = append(out.Items, rec)
			}
		}
		if !yield(out, f.with(nil)) {
			break
		}
	}
	return r.holds(ctx)
}

// Scan yields the records that a query finds by reading the whole collection. It
// answers any query, with or without an index, at the price of all records; ties
// come in the order of the keys. With an order it holds what it found in memory:
// the limit, or all, at most 100,000, else it is ErrTooLarge. Records that lack a
// field of the order are left out, as they are in an index.
//
// A query may name undeclared fields, where records have such. Their values have the
// kinds with which they were written: only values of the kind that is given meet a
// condition, an order puts the kinds one after the other, and a list or map has no
// place in it.
func (r *Repo[T]) Scan(ctx context.Context, q Query) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		k := r.begin("scan")
		stopped := false
		err := r.scan(ctx, &k, q, func(t *T) bool {
			stopped = !yield(*t, nil)
			return !stopped
		})
		if err = r.end(&k, nil, err); err != nil && !stopped {
			var zero T
			yield(zero, err)
		}
	}
}

func (r *Repo[T]) scan(ctx context.Context, k *call, q Query, yield func(*T) bool) error {
	if ctx == nil {
		return errNoContext
	}
	b, err := r.bindScan(q)
	if err != nil {
		return err
	}
	var found []scanned
	n := 0
	var out T
	err = r.scanRows(ctx, k, &b, func(rec scanned) (bool, error) {
		if len(b.order) > 0 {
			found = append(found, rec)
			return true, trimScan(&b, &found)
		}
		if err := r.shape.decode(&rec.record, reflect.ValueOf(&out).Elem()); err != nil {
			return false, ofKey(rec.key, err)
		}
		n++
		return yield(&out) && n != b.limit, nil
	})
	if err != nil {
		return err
	}
	sortScan(&b, found)
	for i := range found {
		if b.limit > 0 && i == b.limit {
			break
		}
		if err := r.shape.decode(&found[i].record, reflect.ValueOf(&out).Elem()); err != nil {
			return ofKey(found[i].key, err)
		}
		if !yield(&out) {
			break
		}
	}
	return nil
}
