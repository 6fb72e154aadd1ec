package cassandra

import (
	"context"
	"iter"
	"math"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/driver/frame"
)

// firstPage is how many rows a first page has: that of a short list.
const firstPage = 100

// Range yields the rows of a span, page by page.
func (s *store) Range(ctx context.Context, span driver.Span) iter.Seq2[*driver.Row, error] {
	return s.frame.Pages(ctx, span, s.page)
}

// page reads the next page of a span, and leaves in p the span after it.
func (s *store) page(ctx context.Context, v *view, p *frame.Pager) error {
	sec, err := v.sectionOf(&p.Span)
	if err != nil || sec.args == nil {
		p.Done = true
		return err
	}
	if v.native == nil && s.slow.has(v.Name, sec.partition) {
		return s.pageInPieces(ctx, v, p, sec)
	}
	got, end, err := s.readPage(ctx, v, p, &sec, p.Limit())
	if v.native == nil && isTooMuch(err) {
		s.slow.add(v.Name, sec.partition)
		return s.pageInPieces(ctx, v, p, sec)
	}
	if err != nil {
		return v.lostIndex(err, p.Span.Reverse)
	}
	p.Done = end
	v.goOn(p, &got)
	return nil
}

// readPage reads up to a limit of rows of a section into p, and reports whether there are no more.
func (s *store) readPage(ctx context.Context, v *view, p *frame.Pager, sec *section, limit int) (got pageOf, end bool, err error) {
	args := append(sec.args[:len(sec.args):len(sec.args)], limit)
	answer, err := s.ask(ctx, "range of "+v.Name, s.query(s.level, v.pageText(&p.Span), args...).PageSize(limit).PageState(nil))
	if err != nil {
		return got, false, err
	}
	r := s.newReader(v, p.Span.Mask, answer, sec.partition)
	p.Read(func(row *driver.Row) (bool, error) { return got.next(ctx, r, row) })
	end = got.rows < limit && len(answer.PageState()) == 0
	return got, end, s.failed(ctx, "range of "+v.Name, answer.Close())
}

// A pageOf counts what a page of a range had.
type pageOf struct {
	rows, bytes int
	last        driver.Key
}

// next reads the next row of a page. The server leaves out the dead, and SAI finds none: no value of
// an index is noText.
func (p *pageOf) next(ctx context.Context, r *reader, row *driver.Row) (bool, error) {
	if !r.next() {
		return false, nil
	}
	for i := range r.cells {
		p.bytes += len(r.cells[i].data)
	}
	if err := r.keyed(ctx, row, r.where); err != nil {
		return true, err
	}
	p.rows, p.last = p.rows+1, row.Key
	if row.Dead { // with a field that no index has of such a row
		return true, r.bad("_dead")
	}
	return true, nil
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

// live returns the condition by which the server leaves out what was deleted.
func (v *view) live() string {
	if v.Class == driver.Records {
		return ` AND "_dead" = false`
	}
	return ` AND "_rev" > 0x`
}

// countSpan counts the rows of a span at once, or in pieces.
func (s *store) countSpan(ctx context.Context, v *view, span *driver.Span) (int, error) {
	sec, err := v.sectionOf(span)
	if err != nil || sec.args == nil {
		return 0, err
	}
	most := math.MaxInt32
	if span.Limit > 0 {
		most = min(span.Limit, most)
	}
	if v.native == nil && s.slow.has(v.Name, sec.partition) {
		return s.countInPieces(ctx, v, sec, most)
	}
	n, err := s.count(ctx, v, span, &sec, most)
	if v.native == nil && isTooMuch(err) {
		s.slow.add(v.Name, sec.partition)
		return s.countInPieces(ctx, v, sec, most)
	}
	if err != nil {
		return 0, v.lostIndex(err, false)
	}
	return n, nil
}

// count lets the server count a section, or reads its keys up to a limit.
func (s *store) count(ctx context.Context, v *view, span *driver.Span, sec *section, most int) (int, error) {
	if span.Limit > 0 {
		return s.countKeys(ctx, v, span, sec.args, most)
	}
	doing := "count of " + v.Name
	answer, err := s.ask(ctx, doing, s.query(s.level, v.spanText("count(*)", span), sec.args...))
	if err != nil {
		return 0, err
	}
	var n int64
	answer.Scan(&n)
	return int(n), s.failed(ctx, doing, answer.Close())
}

// countKeys reads the keys of a span up to its limit.
func (s *store) countKeys(ctx context.Context, v *view, span *driver.Span, args []any, most int) (n int, err error) {
	doing := "count of " + v.Name
	q := s.query(s.level, v.spanText(quoted(sortColumn), span), append(args, most)...).PageSize(5000)
	for state := []byte(nil); ; {
		answer, err := s.ask(ctx, doing, q.PageState(state))
		if err != nil {
			return 0, err
		}
		n += answer.NumRows()
		if state = answer.PageState(); len(state) == 0 || n >= most {
			return min(n, most), nil
		}
	}
}
