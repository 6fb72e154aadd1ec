package cassandra

import (
	"context"
	"iter"
	"math"

	"github.com/polystore/polystore/internal/backend"
	"github.com/polystore/polystore/repo/driver"
)

// firstPage is how many rows a first page has: that of a short list.
const firstPage = 100

// Range yields the rows of a span, page by page.
func (s *Store) Range(ctx context.Context, span driver.Span) iter.Seq2[*driver.Row, error] {
	return backend.Pages(span, firstPage, func(p *backend.Pager) error { return s.page(ctx, p) })
}

// page reads the next page of a span, and leaves in p the span after it.
func (s *Store) page(ctx context.Context, p *backend.Pager) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	v, err := s.ranged(&p.Span)
	if err != nil {
		return err
	}
	limit := p.Limit()
	sec, err := v.sectionOf(&p.Span)
	if err != nil || sec.args == nil {
		p.Done = true
		return err
	}
	q := s.query(s.level, v.pageText(&p.Span), append(sec.args, limit)...)
	answer, err := s.ask(ctx, "range of "+v.name, q.PageSize(limit).PageState(nil))
	if err != nil {
		return v.lostIndex(err, p.Span.Reverse)
	}
	r := s.newReader(v, p.Span.Mask, answer, sec.partition)
	bytes := 0
	p.Read(func(row *driver.Row) (bool, error) {
		if !r.next() {
			return false, nil
		}
		for i := range r.cells {
			bytes += len(r.cells[i].data)
		}
		return true, r.keyed(ctx, row, sec.partition)
	})
	if err := answer.Close(); err != nil {
		return s.failed(ctx, "range of "+v.name, err)
	}
	p.Done = len(p.Rows) < limit && len(answer.PageState()) == 0
	v.goOn(p, bytes)
	return nil
}

// keyed decodes a row of a partition with its key.
func (r *reader) keyed(ctx context.Context, row *driver.Row, partition string) error {
	sort, ok := r.v.sortOf(r.sortText())
	if !ok {
		return r.bad(sortColumn)
	}
	row.Key = driver.Key{Partition: partition, Sort: sort}
	err := r.row(ctx, row)
	if err == nil && row.Dead && r.v.native != nil { // with a field that no index has of such a row
		return r.bad("_dead")
	}
	return err
}

// pageText returns the statement that reads a page of a span.
func (v *view) pageText(span *driver.Span) string {
	switch {
	case span.Mask != nil || v.native != nil:
		return v.spanText(v.selection(span.Mask), span)
	case span.Reverse:
		return v.backward
	}
	return v.forward
}

// spanText returns the statement that reads the rows of a span. Records that are dead
// are left out by the server.
func (v *view) spanText(selection string, span *driver.Span) string {
	text := "SELECT " + selection + " FROM " + v.table + " WHERE " + v.where + ` AND "_sort" >= ? AND "_sort" < ?` + v.conditions(span.Reverse)
	switch {
	case selection == "count(*)":
	case span.Reverse:
		text += ` ORDER BY "_sort" DESC LIMIT ?`
	case v.native == nil:
		text += ` ORDER BY "_sort" ASC LIMIT ?`
	default:
		text += " LIMIT ?"
	}
	if v.filters(span.Reverse) {
		text += " ALLOW FILTERING"
	}
	return text
}

func (v *view) live() string {
	if v.class == driver.Records {
		return ` AND "_dead" = false`
	}
	return ""
}

// Count returns the number of rows of a span. The server counts them; if there is a
// limit, at which it would not stop, it sends their keys.
func (s *Store) Count(ctx context.Context, span driver.Span) (int, error) {
	if err := s.enter(ctx); err != nil {
		return 0, err
	}
	defer s.leave()
	span.Mask, span.Reverse = nil, false
	v, err := s.ranged(&span)
	if err != nil {
		return 0, err
	}
	sec, err := v.sectionOf(&span)
	if err != nil || sec.args == nil {
		return 0, err
	}
	if span.Limit > 0 {
		return s.countKeys(ctx, v, &span, sec.args)
	}
	doing := "count of " + v.name
	answer, err := s.ask(ctx, doing, s.query(s.level, v.spanText("count(*)", &span), sec.args...))
	if err != nil {
		return 0, v.lostIndex(err, false)
	}
	var n int64
	answer.Scan(&n)
	return int(n), s.failed(ctx, doing, answer.Close())
}

// countKeys reads the keys of a span up to its limit.
func (s *Store) countKeys(ctx context.Context, v *view, span *driver.Span, args []any) (n int, err error) {
	doing := "count of " + v.name
	args = append(args, min(span.Limit, math.MaxInt32))
	q := s.query(s.level, v.spanText(quoted(sortColumn), span), args...).PageSize(5000)
	for state := []byte(nil); ; {
		answer, err := s.ask(ctx, doing, q.PageState(state))
		if err != nil {
			return 0, v.lostIndex(err, false)
		}
		n += answer.NumRows()
		if state = answer.PageState(); len(state) == 0 {
			return n, nil
		}
	}
}
