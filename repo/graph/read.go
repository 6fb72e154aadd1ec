package graph

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"reflect"
	"sync"

	"github.com/polystore/polystore/repo"
)

// How a level is read.
const (
	manyRanges = 16   // ranges at the same time
	manyGets   = 4    // requests by keys at the same time
	getSize    = 1000 // keys of a request
	pageSize   = 256  // records that a reader hands over at once
)

// A page is some of the records that were read for a thing.
type page[J, R any] struct {
	of      J
	records []R
}

// readAhead reads things at the same time, at most some of them, and yields their records in the order of the things.
// A reader is at most two pages ahead of the loop. When the loop ends, no reader is left.
func readAhead[J, R any](
	ctx context.Context, most int, things []J, read func(context.Context, J) iter.Seq2[R, error],
) iter.Seq2[page[J, R], error] {
	if len(things) == 1 {
		return readOne(things[0], read(ctx, things[0]))
	}
	return func(yield func(page[J, R], error) bool) {
		ctx, stop := context.WithCancel(ctx)
		var group sync.WaitGroup
		defer group.Wait()
		defer stop()
		var readers []*reader[R] // of the next things
		for i, thing := range things {
			for next := i + len(readers); len(readers) < most && next < len(things); next++ {
				r := &reader[R]{pages: make(chan []R, 1)}
				readers = append(readers, r)
				group.Go(func() { r.run(ctx, read(ctx, things[next])) })
			}
			r := readers[0]
			for records := range r.pages {
				if !yield(page[J, R]{thing, records}, nil) {
					return
				}
			}
			if err := r.end(); err != nil {
				yield(page[J, R]{}, err)
				return
			}
			readers = readers[1:]
		}
	}
}

// readOne yields the records of a thing, without a goroutine.
func readOne[J, R any](thing J, seq iter.Seq2[R, error]) iter.Seq2[page[J, R], error] {
	return func(yield func(page[J, R], error) bool) {
		stopped := false
		err := inPages(seq, func(records []R) bool {
			stopped = !yield(page[J, R]{thing, records}, nil)
			return !stopped
		})
		if err != nil && !stopped {
			yield(page[J, R]{}, err)
		}
	}
}

// inPages calls take with pages of records until take returns false.
func inPages[R any](seq iter.Seq2[R, error], take func([]R) bool) error {
	var records []R
	for record, err := range seq {
		if err != nil {
			return err
		}
		if records = append(records, record); len(records) == pageSize {
			if !take(records) {
				return nil
			}
			records = nil
		}
	}
	if len(records) > 0 {
		take(records)
	}
	return nil
}

// A reader hands over pages, and then says how the reading ended.
type reader[R any] struct {
	pages    chan []R
	err      error
	panicked any
}

var errUnfinished = fmt.Errorf("a reader ended early: %w", repo.ErrInternal)

func (r *reader[R]) run(ctx context.Context, seq iter.Seq2[R, error]) {
	defer close(r.pages)
	defer func() { r.panicked = recover() }()
	r.err = errUnfinished // which stays if the program's own code ends the goroutine
	var late error
	err := inPages(seq, func(records []R) bool {
		select {
		case r.pages <- records:
			return true
		case <-ctx.Done():
			late = fmt.Errorf("%w: %w", repo.ErrTimeout, ctx.Err())
			return false
		}
	})
	r.err = cmp.Or(err, late)
}

// end returns how the reading ended. A panic of the program's own code goes on in the goroutine of the caller.
func (r *reader[R]) end() error {
	if r.panicked != nil {
		panic(r.panicked)
	}
	return r.err
}

// everything yields the records that meet a query. The zero Query is all records of the collection, in no order.
func everything[T any](ctx context.Context, r *repo.Repo[T], q repo.Query) iter.Seq2[T, error] {
	if !reflect.ValueOf(q).IsZero() {
		return r.Find(ctx, q)
	}
	return func(yield func(T, error) bool) {
		for chunk, err := range r.Walk(ctx, "") {
			for _, record := range chunk.Items {
				if !yield(record, nil) {
					return
				}
			}
			if err != nil {
				var none T
				yield(none, err)
				return
			}
		}
	}
}
