package mongo

import (
	"context"
	"iter"

	"github.com/polystore/polystore/backends/mongo/internal/bson"
	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/driver/frame"
)

// Range yields the rows of a span, page by page.
func (s *store) Range(ctx context.Context, span driver.Span) iter.Seq2[*driver.Row, error] {
	return func(yield func(*driver.Row, error) bool) { s.frame.Pages(ctx, span, s.page, yield) }
}

// page reads the next page of a span, and leaves in p the span after it.
func (s *store) page(ctx context.Context, v *view, p *frame.Pager) error {
	limit := p.Limit()
	sc, ok, err := v.scan(&p.Span)
	if err != nil || !ok {
		p.Done = true
		return err
	}
	ask := sc.ask(limit)
	b, err := s.conn.documents(ctx, "range of "+p.Span.Table.Name, s.conn.acknowledged(&ask))
	if err != nil {
		return v.lostIndex(err)
	}
	last, r := "", s.newReader(v, p.Span.Mask)
	p.Read(func(row *driver.Row) (bool, error) {
		e, ok := b.rest.Next()
		if !ok {
			return false, nil
		}
		bad := r.row(ctx, e.Data, row)
		if bad == nil {
			last = e.Data
		}
		return true, bad
	})
	p.Done = len(p.Rows) < limit && !b.more
	if v.native == nil {
		p.GoOn(v.Sort, b.size)
	} else {
		v.goOn(p, last, b.size)
	}
	return nil
}

// goOn takes the rows of a page, of which last is the last document, out of a span of a
// native index.
func (v *view) goOn(p *frame.Pager, last string, bytes int) {
	p.Resize(bytes)
	if len(p.Rows) == 0 || p.Done {
		return
	}
	b, err := v.after(last, &p.Rows[len(p.Rows)-1], &p.Span)
	switch {
	case err != nil && p.Bad == nil:
		p.Bad = err
	case p.Span.Reverse:
		p.Span.High = b
	default:
		p.Span.Low = b
	}
}

// lostIndex returns the error of a run, which means of a native index that somebody
// removed it if the server does not know what it is told to use.
func (v *view) lostIndex(err error) error {
	if v.native == nil || codeOf(err) != codeBadValue {
		return err
	}
	return who.Schema("the collection %s has lost the index %s; make it again with Rebuild: %s", v.collection, v.native.table.Name, err)
}

// count lets the server count the rows of a span.
func (s *store) count(ctx context.Context, v *view, span *driver.Span) (int, error) {
	sc, ok, err := v.scan(span)
	if err != nil || !ok {
		return 0, err
	}
	ask := sc.askCount()
	b, err := s.conn.documents(ctx, "count of "+span.Table.Name, s.conn.acknowledged(&ask))
	if err != nil {
		return 0, v.lostIndex(err)
	}
	e, ok := b.rest.Next()
	if !ok { // of no rows there is no count
		return 0, nil
	}
	n, whole := bson.Find(e.Data, "rows").Number()
	if !whole {
		return 0, who.Corrupt("count of %s: %s: the answer cannot be read", v.Name, s.conn.addr)
	}
	return int(n), nil
}

// A scan is a span in the words of MongoDB.
type scan struct {
	v    *view
	span *driver.Span
	run  run // of a native index; where there is none it has the columns alone
}

// scan returns the scan of a span; ok is false if there can be no rows in it.
func (v *view) scan(span *driver.Span) (sc scan, ok bool, err error) {
	sc = scan{v, span, run{cols: byID}}
	if v.native == nil {
		return sc, true, nil
	}
	sc.run, ok, err = v.runOf(span)
	return sc, ok, err
}

// ask returns the command, all but its end, that reads the rows.
func (sc *scan) ask(limit int) bson.Writer {
	w := command("find", sc.v.collection)
	sc.filter(&w, "filter")
	directions(&w, "sort", sc.run.cols[sc.run.equal:], sc.span.Reverse)
	sc.hint(&w)
	w.Int64("limit", int64(limit))
	sc.projection(&w)
	if limit > defaultBatch {
		w.Int32("batchSize", int32(limit+1)) // one more ends the cursor
	}
	return w
}

// filter appends the condition of the rows.
func (sc *scan) filter(w *bson.Writer, name string) {
	if sc.v.native != nil {
		sc.run.filter(w, name)
		return
	}
	p := sc.span.Key.Partition
	to := p + sc.span.To
	if sc.span.To == "" {
		to = driver.After(p)
	}
	at := w.Open(name)
	id := w.Open("_id")
	w.Text("$gte", p+sc.span.From)
	w.Text("$lt", to)
	w.Close(id)
	if sc.v.Class == driver.Records {
		w.BoolIn("_dead", "$ne", true)
	}
	w.Close(at)
}

// directions appends columns with their directions. Of none it appends nothing.
func directions(w *bson.Writer, name string, cols []keyField, reverse bool) {
	if len(cols) == 0 {
		return
	}
	at := w.Open(name)
	for _, f := range cols {
		w.Int32(f.name, f.direction(reverse))
	}
	w.Close(at)
}

// byID is the order of rows that are read by their keys.
var byID = []keyField{{name: "_id", kind: driver.String}}

// hint appends the index by which the rows are read, where that is not the one of their keys.
func (sc *scan) hint(w *bson.Writer) {
	if sc.v.native != nil {
		w.Text("hint", sc.v.native.table.Name)
	}
}

// askCount returns the command, all but its end, that counts the rows.
func (sc *scan) askCount() bson.Writer {
	w := command("aggregate", sc.v.collection)
	w.Empty("cursor")
	sc.hint(&w)
	w.OpenList("pipeline")
	match := w.Open("0")
	sc.filter(&w, "$match")
	w.Close(match)
	last := "1"
	if sc.span.Limit > 0 {
		limit := w.Open("1")
		w.Int64("$limit", int64(sc.span.Limit))
		w.Close(limit)
		last = "2"
	}
	w.TextIn(last, "$count", "rows")
	return w
}
