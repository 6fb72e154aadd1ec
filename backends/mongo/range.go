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
	return s.frame.Pages(ctx, span, s.page)
}

// page reads the next page of a span, and leaves in p the span after it.
func (s *store) page(ctx context.Context, v *view, p *frame.Pager) error {
	limit := p.Limit()
	ask, ok, err := v.ask(&p.Span, limit)
	if err != nil || !ok {
		p.Done = true
		return err
	}
	s.acknowledged(&ask)
	b, err := s.documents(ctx, "range of "+p.Span.Table.Name, ask)
	if err != nil {
		return v.lostIndex(err)
	}
	last := ""
	sh := v.Shape(p.Span.Mask)
	p.Read(func(row *driver.Row) (bool, error) {
		e, ok := b.rest.Next()
		if !ok {
			return false, nil
		}
		bad := s.readRow(ctx, v, &sh, e.Data, row)
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

// ask returns the command that reads the rows of a span; ok is false if there can be
// none.
func (v *view) ask(span *driver.Span, limit int) (w bson.Writer, ok bool, err error) {
	if v.native == nil {
		return v.askPage(span, limit), true, nil
	}
	r, ok, err := v.runOf(span)
	if err != nil || !ok {
		return nil, false, err
	}
	return v.askNative(&r, span, limit), true, nil
}

// lostIndex returns the error of a run, which means of a native index that somebody
// removed it if the server does not know what it is told to use.
func (v *view) lostIndex(err error) error {
	if v.native == nil || codeOf(err) != codeBadValue {
		return err
	}
	return who.Schema("the collection %s has lost the index %s; make it again with Rebuild: %s", v.collection, v.native.table.Name, err)
}

// askPage returns the command, all but its end, that reads the rows of a span.
func (v *view) askPage(span *driver.Span, limit int) bson.Writer {
	w := command("find", v.collection)
	v.within(&w, "filter", span)
	sort := w.Open(bson.Document, "sort")
	if span.Reverse {
		w.Int32("_id", -1)
	} else {
		w.Int32("_id", 1)
	}
	w.Close(sort)
	w.Int64("limit", int64(limit))
	v.projection(&w, span.Mask)
	if limit > defaultBatch {
		w.Int32("batchSize", int32(limit+1)) // one more ends the cursor
	}
	return w
}

// within appends the filter of the rows of a span.
func (v *view) within(w *bson.Writer, name string, span *driver.Span) {
	p := span.Key.Partition
	to := p + span.To
	if span.To == "" {
		to = driver.After(p)
	}
	at := w.Open(bson.Document, name)
	id := w.Open(bson.Document, "_id")
	w.Text("$gte", p+span.From)
	w.Text("$lt", to)
	w.Close(id)
	if v.Class == driver.Records {
		w.BoolIn("_dead", "$ne", true)
	}
	w.Close(at)
}

// count lets the server count the rows of a span.
func (s *store) count(ctx context.Context, v *view, span *driver.Span) (int, error) {
	w := command("aggregate", v.collection)
	w.Empty("cursor")
	if ok, err := v.counting(&w, span); err != nil || !ok {
		return 0, err
	}
	s.acknowledged(&w)
	b, err := s.documents(ctx, "count of "+span.Table.Name, w)
	if err != nil {
		return 0, v.lostIndex(err)
	}
	e, ok := b.rest.Next()
	if !ok { // of no rows there is no count
		return 0, nil
	}
	in := bson.ElementsOf(e.Data)
	e, ok = in.Next()
	n, whole := e.Number()
	if !ok || !whole {
		return 0, who.Corrupt("count of %s: %s: the answer cannot be read", v.Name, s.addr)
	}
	return int(n), nil
}

// counting appends the stages that count the rows of a span; ok is false if there can
// be none.
func (v *view) counting(w *bson.Writer, span *driver.Span) (ok bool, err error) {
	var r run
	if v.native != nil {
		if r, ok, err = v.runOf(span); err != nil || !ok {
			return false, err
		}
		w.Text("hint", v.native.table.Name)
	}
	at := w.Open(bson.Array, "pipeline")
	stage := w.Open(bson.Document, "0")
	if v.native != nil {
		v.filter(w, "$match", &r)
	} else {
		v.within(w, "$match", span)
	}
	w.Close(stage)
	last := "1"
	if span.Limit > 0 {
		stage = w.Open(bson.Document, "1")
		w.Int64("$limit", int64(span.Limit))
		w.Close(stage)
		last = "2"
	}
	w.TextIn(last, "$count", "rows")
	w.Close(at)
	return true, nil
}
