package data

import (
	"cmp"
	"context"
	"iter"

	"github.com/polystore/polystore/loadtest/internal/failure"
	"github.com/polystore/polystore/loadtest/internal/generate"
	"github.com/polystore/polystore/loadtest/internal/workload"
)

// Records yields the records of a collection.
func Records(ctx context.Context, w *workload.Workload, c *workload.Collection, data []*generate.Table, each func(Row)) iter.Seq2[map[string]any, error] {
	return func(yield func(map[string]any, error) bool) {
		for r, err := range Rows(ctx, w, c, data) {
			if err == nil {
				each(r)
			}
			if !yield(r.record, err) {
				return
			}
		}
	}
}

// A Row is one record of a collection's data, and where it stands: a line of a
// file, or the number of a generated record.
type Row struct {
	Line   int
	record map[string]any
}

// text returns a field of the record as text, "" where it is none.
func (r Row) text(field string) string {
	text, _ := r.record[field].(string)
	return text
}

// Rows yields the records of a collection, and the faults of its file, if it has
// any, or the end of the context, once, last.
func Rows(ctx context.Context, w *workload.Workload, c *workload.Collection, data []*generate.Table) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		if c.Data.File == "" {
			m := NewMaker(w, c, data)
			for n := range w.Limited(c.Data.Count) {
				if !yield(Row{n + 1, m.Record(n)}, nil) {
					return
				}
			}
			return
		}
		f := &rowFile{ctx: ctx, c: c, src: &c.Data, told: map[string]bool{}}
		taken := 0
		for r := range f.rows() {
			if !yield(r, nil) {
				return
			}
			if taken++; taken == w.Records {
				break
			}
		}
		if err := cmp.Or(ctx.Err(), failure.AsError(f.faults)); err != nil {
			yield(Row{}, err)
		}
	}
}
