package mongo

import (
	"context"
	"iter"

	"github.com/polystore/polystore/internal/backend"
	"github.com/polystore/polystore/repo/driver"
)

// Range yields the rows of a span, page by page.
func (s *Store) Range(ctx context.Context, span driver.Span) iter.Seq2[*driver.Row, error] {
	return backend.Pages(span, defaultBatch, func(p *backend.Pager) error { return s.page(ctx, p) })
}

// page reads the next page of a span, and leaves in p the span after it.
func (s *Store) page(ctx context.Context, p *backend.Pager) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	v, err := s.checked(p.Span.Table, p.Span.Mask)
	if err != nil {
		return err
	}
	limit := p.Limit()
	b, err := s.documents(ctx, "range of "+v.name, v.askPage(&p.Span, limit))
	if err != nil {
		return err
	}
	sh := v.shape(p.Span.Mask)
	p.Read(func(row *driver.Row) (bool, error) {
		e, ok := b.rest.next()
		if !ok {
			return false, nil
		}
		return true, s.readRow(ctx, v, &sh, e.data, row)
	})
	p.Done = len(p.Rows) < limit && !b.more
	p.GoOn(v.sort, b.size)
	return nil
}

// askPage returns the command that reads the rows of a span.
func (v *view) askPage(span *driver.Span, limit int) writer {
	w := command("find", v.collection)
	v.within(&w, "filter", span)
	sort := w.open(typeDocument, "sort")
	if span.Reverse {
		w.int32("_id", -1)
	} else {
		w.int32("_id", 1)
	}
	w.close(sort)
	w.int64("limit", int64(limit))
	v.projection(&w, span.Mask)
	if limit > defaultBatch {
		w.int32("batchSize", int32(limit+1)) // one more ends the cursor
	}
	w.acknowledged()
	return w
}

// within appends the filter of the rows of a span.
func (v *view) within(w *writer, name string, span *driver.Span) {
	p := span.Key.Partition
	to := p + span.To
	if span.To == "" {
		to = driver.After(p)
	}
	at := w.open(typeDocument, name)
	id := w.open(typeDocument, "_id")
	w.text("$gte", p+span.From)
	w.text("$lt", to)
	w.close(id)
	if v.class == driver.Records {
		dead := w.open(typeDocument, "_dead")
		w.bool("$ne", true)
		w.close(dead)
	}
	w.close(at)
}

// Count returns the number of rows of a span, which the server counts.
func (s *Store) Count(ctx context.Context, span driver.Span) (int, error) {
	if err := s.enter(ctx); err != nil {
		return 0, err
	}
	defer s.leave()
	v, err := s.checked(span.Table, nil)
	if err != nil {
		return 0, err
	}
	w := command("aggregate", v.collection)
	cursor := w.open(typeDocument, "cursor")
	w.close(cursor)
	v.counting(&w, &span)
	w.acknowledged()
	b, err := s.documents(ctx, "count of "+v.name, w)
	if err != nil {
		return 0, err
	}
	e, ok := b.rest.next()
	if !ok { // of no rows there is no count
		return 0, nil
	}
	in := elementsOf(e.data)
	e, ok = in.next()
	n, whole := e.number()
	if !ok || !whole {
		return 0, corrupt("count of %s: %s: the answer cannot be read", v.name, s.addr)
	}
	return int(n), nil
}

// counting appends the stages that count the rows of a span.
func (v *view) counting(w *writer, span *driver.Span) {
	at := w.open(typeArray, "pipeline")
	stage := w.open(typeDocument, "0")
	v.within(w, "$match", span)
	w.close(stage)
	last := "1"
	if span.Limit > 0 {
		stage = w.open(typeDocument, "1")
		w.int64("$limit", int64(span.Limit))
		w.close(stage)
		last = "2"
	}
	stage = w.open(typeDocument, last)
	w.text("$count", "rows")
	w.close(stage)
	w.close(at)
}
