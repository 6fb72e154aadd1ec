package cassandra

import (
	"context"
	"iter"
	"math"

	"github.com/polystore/polystore/repo/driver"
)

// A page of a range has at most so many rows, and hardly more bytes. A first page
// is that of a short list.
const (
	firstPage = 100
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
	bad  error // of the row after those
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
	p.rows = p.rows[:0]
	args, err := v.bounds(&p.span)
	if err != nil || args == nil {
		p.done = true
		return err
	}
	q := s.query(s.level, v.spanText(v.selection(p.span.Mask), &p.span), append(args, limit)...)
	answer, err := s.ask(ctx, "range of "+v.name, q.PageSize(limit).PageState(nil))
	if err != nil {
		return err
	}
	r := s.newReader(v, p.span.Mask, answer, p.span.Key.Partition)
	bytes := r.page(ctx, p)
	if err := answer.Close(); err != nil {
		return s.failed(ctx, "range of "+v.name, err)
	}
	p.done = len(p.rows) < limit && len(answer.PageState()) == 0
	if len(p.rows) > 0 {
		p.goOn(v)
	}
	if bytes > pageBytes {
		p.size = max(1, p.size*pageBytes/bytes)
	} else {
		p.size = min(mostRows, 2*p.size)
	}
	return nil
}

// page reads the rows of a page, up to one that is corrupt, and returns their bytes.
func (r *reader) page(ctx context.Context, p *pager) (bytes int) {
	for r.next() {
		n := len(p.rows)
		if n == cap(p.rows) {
			p.rows = append(p.rows, driver.Row{})
		}
		p.rows = p.rows[:n+1]
		row := &p.rows[n]
		row.Reset()
		if p.bad = r.keyed(ctx, row, p.span.Key.Partition); p.bad != nil {
			p.rows = p.rows[:n]
			break
		}
		for i := range r.cells {
			bytes += len(r.cells[i].data)
		}
	}
	return bytes
}

// keyed decodes a row of a partition with its key.
func (r *reader) keyed(ctx context.Context, row *driver.Row, partition string) error {
	sort, ok := r.v.sortOf(r.sortText())
	if !ok {
		return r.bad(sortColumn)
	}
	row.Key = driver.Key{Partition: partition, Sort: sort}
	return r.row(ctx, row)
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

// bounds returns what to bind for the partition and the bounds of a span, nil for one
// that can have no rows.
func (v *view) bounds(span *driver.Span) ([]any, error) {
	from, to := v.head+span.From, v.head+span.To
	if span.To == "" {
		to = driver.After(v.head)
	}
	if from >= to {
		return nil, nil
	}
	args, err := v.partition(make([]any, 0, len(v.parts)+3), span.Key.Partition)
	if err != nil {
		return nil, err
	}
	return append(args, from, to), nil
}

// spanText returns the statement that reads the rows of a span. Records that are dead
// are left out by the server.
func (v *view) spanText(selection string, span *driver.Span) string {
	text := "SELECT " + selection + " FROM " + v.table + " WHERE " + v.where + ` AND "_sort" >= ? AND "_sort" < ?` + v.live()
	if selection == "count(*)" {
		return text + v.filtering()
	}
	if span.Reverse {
		return text + ` ORDER BY "_sort" DESC LIMIT ?` + v.filtering()
	}
	return text + ` ORDER BY "_sort" ASC LIMIT ?` + v.filtering()
}

func (v *view) live() string {
	if v.class == driver.Records {
		return ` AND "_dead" = false`
	}
	return ""
}

func (v *view) filtering() string {
	if v.class == driver.Records {
		return " ALLOW FILTERING"
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
	v, err := s.checked(span.Table, nil)
	if err != nil {
		return 0, err
	}
	args, err := v.bounds(&span)
	if err != nil || args == nil {
		return 0, err
	}
	if span.Limit > 0 {
		return s.countKeys(ctx, v, &span, args)
	}
	doing := "count of " + v.name
	answer, err := s.ask(ctx, doing, s.query(s.level, v.spanText("count(*)", &span), args...))
	if err != nil {
		return 0, err
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
			return 0, err
		}
		n += answer.NumRows()
		if state = answer.PageState(); len(state) == 0 {
			return n, nil
		}
	}
}
