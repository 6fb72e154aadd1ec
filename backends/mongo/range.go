package mongo

import (
	"context"
	"iter"

	"github.com/polystore/polystore/repo/driver"
)

// A page of a range has at most so many rows, and hardly more bytes. A first page
// is that of a short list.
const (
	firstPage = defaultBatch
	mostRows  = 512
	pageBytes = 1 << 20
)

// Range yields the rows of a span, page by page.
func (s *Store) Range(ctx context.Context, span driver.Span) iter.Seq2[*driver.Row, error] {
	return func(yield func(*driver.Row, error) bool) {
		p := pager{span: span, size: firstPage}
		for n := 0; !p.done; {
			if err := s.page(ctx, &p, n); err != nil {
				yield(nil, err)
				return
			}
			for i := range p.rows {
				n++
				if !yield(&p.rows[i], nil) || n == span.Limit {
					return
				}
			}
			if p.bad != nil {
				yield(nil, p.bad)
				return
			}
		}
	}
}

// A pager is the rest of a span, and the page that was read last.
type pager struct {
	span driver.Span
	size int // rows of the next page
	done bool
	rows []driver.Row
	bad  error // of the document after the rows
}

// page reads the next page of a span of which n rows have been yielded, and leaves in p
// the span after it.
func (s *Store) page(ctx context.Context, p *pager, n int) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	v, err := s.checked(p.span.Table, p.span.Mask)
	if err != nil {
		return err
	}
	limit := p.size
	if p.span.Limit > 0 {
		limit = min(limit, p.span.Limit-n)
	}
	b, err := s.documents(ctx, "range of "+v.name, v.askPage(&p.span, limit))
	if err != nil {
		return err
	}
	sh := v.shape(p.span.Mask)
	n = s.readPage(ctx, v, &sh, &b, p)
	p.done = n < limit && !b.more
	if n > 0 {
		p.goOn(v)
	}
	if b.size > pageBytes {
		p.size = max(1, p.size/2)
	} else {
		p.size = min(mostRows, 2*p.size)
	}
	return nil
}

// readPage reads the rows of a page, up to one that is corrupt, and returns how many
// there are.
func (s *Store) readPage(ctx context.Context, v *view, sh *shape, b *batch, p *pager) int {
	n := 0
	for e, ok := b.rest.next(); ok; e, ok = b.rest.next() {
		if n == cap(p.rows) {
			p.rows = append(p.rows[:n], driver.Row{})
		}
		p.rows = p.rows[:n+1]
		row := &p.rows[n]
		row.Reset()
		if p.bad = s.readRow(ctx, v, sh, e.data, row); p.bad != nil {
			break
		}
		n++
	}
	p.rows = p.rows[:n]
	return n
}

// goOn takes the rows that were read out of the span.
func (p *pager) goOn(v *view) {
	last := p.rows[len(p.rows)-1].Key.Sort
	switch {
	case len(v.sort) == 0:
		p.done = true
	case p.span.Reverse:
		p.span.To = last
	default:
		p.span.From = driver.After(last)
	}
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
