package data

import (
	"cmp"
	"context"
	"iter"

	"github.com/polystore/polystore/loadtest/internal/failure"
	"github.com/polystore/polystore/loadtest/internal/generate"
	"github.com/polystore/polystore/loadtest/internal/random"
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
		takes, err := sampled(ctx, w, c)
		if err != nil {
			yield(Row{}, err)
			return
		}
		f := newRowFile(ctx, c)
		for r := range f.rows() {
			take, more := takes()
			if take && !yield(r, nil) {
				return
			}
			if !more {
				break
			}
		}
		if err := f.err(); err != nil {
			yield(Row{}, err)
		}
	}
}

// sampled returns what says of each row of a file whether it is taken, and whether others may be. All are or, where the
// run has fewer records than the file, so many of them, each as likely as any other one; of trees the first ones, since
// a node needs its parent.
func sampled(ctx context.Context, w *workload.Workload, c *workload.Collection) (takes func() (take, more bool), err error) {
	left := w.Records
	switch {
	case left == 0:
		return func() (bool, bool) { return true, true }, nil
	case c.Tree != nil || w.First:
		return func() (bool, bool) { left--; return true, left > 0 }, nil
	}
	rows := int(c.Data.Rows.Load())
	if rows == 0 {
		f := newRowFile(ctx, c)
		for range f.rows() {
			rows++
		}
		if err := f.err(); err != nil {
			return nil, err
		}
		c.Data.Rows.Store(int64(rows))
	}
	// Knuth, The Art of Computer Programming, 3.4.2, algorithm S
	r := random.New(w.Seed, "sample of "+c.Schema.Collection, 0)
	return func() (bool, bool) {
		take := r.IntN(max(rows, 1)) < left
		if rows--; take {
			left--
		}
		return take, left > 0
	}, nil
}

func newRowFile(ctx context.Context, c *workload.Collection) *rowFile {
	return &rowFile{ctx: ctx, c: c, src: &c.Data, told: map[string]bool{}}
}

// err returns what was wrong with the file, when it was read.
func (f *rowFile) err() error { return cmp.Or(f.ctx.Err(), failure.AsError(f.faults)) }
