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
	return func(yield func(*driver.Row, error) bool) { s.frame.Pages(ctx, span, s.page, yield) }
}

// page reads the next page of a span, and leaves in p the span after it.
func (s *store) page(ctx context.Context, v *view, p *frame.Pager) error {
	sc, err := s.scan(v, &p.Span)
	if err != nil || sc.rest.args == nil {
		p.Done = true
		return err
	}
	return sc.try(func() error {
		got, end, err := sc.readPage(ctx, p, &sc.rest, p.Limit())
		if err != nil {
			return err
		}
		p.Done = end
		v.goOn(p, &got)
		return nil
	}, func() error { return sc.pageInPieces(ctx, p) })
}

// count counts the rows of a span.
func (s *store) count(ctx context.Context, v *view, span *driver.Span) (n int, err error) {
	sc, err := s.scan(v, span)
	if err != nil || sc.rest.args == nil {
		return 0, err
	}
	most := math.MaxInt32
	if span.Limit > 0 {
		most = min(span.Limit, most)
	}
	err = sc.try(func() (err error) {
		if span.Limit > 0 {
			n, err = sc.countKeys(ctx, most)
		} else {
			n, err = sc.countAll(ctx)
		}
		return err
	}, func() (err error) {
		n, err = sc.countInPieces(ctx, most)
		return err
	})
	return n, err
}

// A scan reads a span, or counts its rows.
type scan struct {
	store *store
	v     *view
	span  *driver.Span
	rest  section // of the span
}

func (s *store) scan(v *view, span *driver.Span) (*scan, error) {
	sec, err := v.sectionOf(span)
	return &scan{s, v, span, sec}, err
}

// try reads at once or, where a server has given that up, in pieces.
func (sc *scan) try(whole, inPieces func() error) error {
	v, slow := sc.v, &sc.store.slow
	if v.native != nil {
		return v.lostIndex(whole(), sc.span.Reverse)
	}
	if slow.has(v.Name, sc.rest.partition) {
		return inPieces()
	}
	err := whole()
	if isTooMuch(err) {
		slow.add(v.Name, sc.rest.partition)
		return inPieces()
	}
	return err
}

// readPage reads up to a limit of rows of a section into p, and reports whether there are no more.
func (sc *scan) readPage(ctx context.Context, p *frame.Pager, sec *section, limit int) (got pageOf, end bool, err error) {
	conn, doing := sc.store.conn, "range of "+sc.v.Name
	args := append(sec.args[:len(sec.args):len(sec.args)], limit)
	answer, err := conn.ask(ctx, doing, conn.query(conn.level, sc.v.pageText(sc.span), args...).PageSize(limit).PageState(nil))
	if err != nil {
		return got, false, err
	}
	r := sc.store.newReader(sc.v, sc.span.Mask, answer, sec.partition)
	p.Read(func(row *driver.Row) (bool, error) { return got.next(ctx, r, row) })
	end = got.rows < limit && len(answer.PageState()) == 0
	return got, end, conn.failed(ctx, doing, answer.Close())
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

// countAll lets the server count.
func (sc *scan) countAll(ctx context.Context) (int, error) {
	var n int64
	conn := sc.store.conn
	err := conn.each(ctx, "count of "+sc.v.Name, conn.query(conn.level, sc.v.spanText("count(*)", sc.span), sc.rest.args...), func() {}, &n)
	return int(n), err
}

// countKeys reads the keys of a span up to its limit.
func (sc *scan) countKeys(ctx context.Context, most int) (n int, err error) {
	conn := sc.store.conn
	q := conn.query(conn.level, sc.v.spanText(quoted(sortColumn), sc.span), append(sc.rest.args, most)...).PageSize(5000)
	for state := []byte(nil); ; {
		answer, err := conn.ask(ctx, "count of "+sc.v.Name, q.PageState(state))
		if err != nil {
			return 0, err
		}
		n += answer.NumRows()
		if state = answer.PageState(); len(state) == 0 || n >= most {
			return min(n, most), nil
		}
	}
}
