package candidate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"strings"
	"time"

	"github.com/polystore/polystore/loadtest/internal/data"
	"github.com/polystore/polystore/loadtest/internal/failure"
	"github.com/polystore/polystore/loadtest/internal/format"
	"github.com/polystore/polystore/loadtest/internal/generate"
	"github.com/polystore/polystore/loadtest/internal/limit"
	"github.com/polystore/polystore/loadtest/internal/progress"
	"github.com/polystore/polystore/loadtest/internal/workload"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// A Filling is the loading of a candidate: a first piece of each collection, which tells how long the rest takes, and
// the rest. Those of several candidates may go on at the same time.
type Filling struct {
	Of    *Candidate
	parts []*part
}

// Fill begins to load all collections of a candidate. Stop ends it.
func (c *Candidate) Fill(ctx context.Context, w *workload.Workload, tables []*generate.Table, p *progress.Log) *Filling {
	f := &Filling{Of: c}
	for _, col := range w.Collections {
		x := &part{c: c, col: col, names: c.names[col.At], total: tables[col.At].Len, first: limit.FirstPiece}
		if c.Store.Facts.Scope < driver.ScopeStore {
			x.first = limit.FirstGathered
		}
		x.step = p.Begin(fmt.Sprintf("load %s into %s", col.Schema.Collection, c.Label), x.total, "records")
		if x.left = time.Now(); c.Taken {
			x.n = x.total
		}
		x.next, x.stop = iter.Pull(x.load(ctx, w, tables))
		f.parts = append(f.parts, x)
	}
	return f
}

// Some loads a first piece of each collection.
func (f *Filling) Some() error {
	return f.each(func(x *part) error { x.more(); return x.err })
}

// Rest loads what is left.
func (f *Filling) Rest() error {
	return f.each(func(x *part) error {
		for x.more() {
		}
		return x.err
	})
}

// each does a step of the loading for each collection. Where a strategy cannot keep the trees of the data the candidate
// Lacks them.
func (f *Filling) each(do func(*part) error) error {
	if f.Of.Taken {
		return nil
	}
	began := time.Now()
	for _, x := range f.parts {
		if err := do(x); err != nil || f.Of.Lacks != "" {
			return err
		}
	}
	f.Of.Loaded += time.Since(began)
	return nil
}

// Left returns how long the rest takes, by what Some took. What is embedded comes when its hosts are there, and these are
// written again then, so it is taken to last as long as these.
func (f *Filling) Left() (left time.Duration) {
	for _, x := range f.parts {
		of := f.stored(x)
		if left += of.whole(of.took) - of.took; of != x {
			left += of.took
		}
	}
	return left
}

// stored returns the part that loads the records in the store: of what is embedded its hosts.
func (f *Filling) stored(x *part) *part {
	if n := f.Of.nests[x.col.At]; n != nil {
		return f.parts[n.in.At]
	}
	return x
}

// Stop ends the loading, also one that has not come to its end.
func (f *Filling) Stop() {
	for _, x := range f.parts {
		x.stop()
	}
}

// A part is the loading of one collection.
type part struct {
	c     *Candidate
	col   *workload.Collection
	names []string // that it takes in the store
	step  *progress.Step
	first int // records of the first piece
	total int
	lines []int // of the records of this piece
	n     int   // records so far
	took  time.Duration
	left  time.Time // when it was left last
	err   error
	next  func() (struct{}, bool)
	stop  func()
}

// whole returns how long something takes with all records that takes so long with those that are loaded.
func (x *part) whole(d time.Duration) time.Duration {
	return time.Duration(float64(d) * float64(x.total) / float64(max(x.n, 1)))
}

// more goes on with the loading, and reports whether there is more of it.
func (x *part) more() bool {
	began := time.Now()
	x.step.Idle(began.Sub(x.left))
	_, more := x.next()
	x.left = time.Now()
	if x.took += x.left.Sub(began); !more {
		x.step.End()
	}
	return more
}

// load loads the collection, and yields after its first piece.
func (x *part) load(ctx context.Context, w *workload.Workload, tables []*generate.Table) iter.Seq[struct{}] {
	return func(yield func(struct{}) bool) {
		pause := func() bool { return yield(struct{}{}) }
		records := x.c.copied.filled(x.col, tables, data.Records(ctx, w, x.col, tables, func(r data.Row) {
			x.lines = append(x.lines, r.Line)
			x.step.Add(1)
		}))
		err := error(nil)
		f, s, n := x.c.forests[x.col.At], x.c.shelves[x.col.At], x.c.nests[x.col.At]
		switch {
		case n != nil:
			err = x.embed(ctx, n, records, pause)
		case f != nil:
			x.n, err = f.load(ctx, x.interrupted(records, pause))
		case s != nil:
			err = x.inPieces(ctx, records, pause, s.load)
		default:
			err = x.inPieces(ctx, records, pause, x.c.repos[x.col.At].InsertAll)
		}
		switch {
		case n != nil && errors.Is(err, repo.ErrTooLarge):
			x.c.Lacks = n.overfull(err, tables[x.col.At])
		case f != nil && errors.Is(err, repo.ErrTooLarge):
			x.c.Lacks = x.col.Schema.Collection + ": " + strings.TrimSuffix(reason(err), ": "+repo.ErrTooLarge.Error())
		case s != nil && errors.Is(err, repo.ErrTooLarge):
			x.c.Lacks = s.noRoom()
		case err != nil:
			x.err = cmp.Or(ctx.Err(), refused(w, x.col, x.lines, err)) // interrupted is nobody's fault
		case x.n != x.total:
			x.err = fmt.Errorf("load %s: %s loaded where %s were read before; the data changed meanwhile", x.col.Schema.Collection, format.Plural(x.n, "record"), format.Count(x.total))
		}
	}
}

// inPieces loads the records, with a pause after the first piece.
func (x *part) inPieces(ctx context.Context, records iter.Seq2[map[string]any, error], pause func() bool, load func(context.Context, iter.Seq2[map[string]any, error]) (int, error)) error {
	next, stop := iter.Pull2(records)
	defer stop()
	for _, most := range []int{x.first, math.MaxInt} {
		x.lines = x.lines[:0]
		n, err := load(ctx, func(yield func(map[string]any, error) bool) {
			for range most {
				rec, err, more := next()
				if err == nil && more {
					rec = expiring(rec, x.col)
				}
				if !more || !yield(rec, err) {
					return
				}
			}
		})
		if x.n += n; err != nil || most == x.first && !pause() {
			return err
		}
	}
	return nil
}

// interrupted yields the records of trees, with a pause after the first piece. Trees are loaded in small commits, so almost
// all of that is written by then.
func (x *part) interrupted(records iter.Seq2[map[string]any, error], pause func() bool) iter.Seq2[map[string]any, error] {
	return func(yield func(map[string]any, error) bool) {
		for rec, err := range records {
			if x.n == x.first && !pause() {
				return
			}
			if x.n++; !yield(rec, err) {
				return
			}
		}
	}
}

// refused names the lines of the records that the library would not take.
func refused(w *workload.Workload, c *workload.Collection, lines []int, err error) error {
	var batch *repo.BatchError
	if !errors.As(err, &batch) {
		return err
	}
	var faults failure.Faults
	for _, f := range batch.Failed {
		if f.Index < len(lines) && len(faults) < limit.MaxFaults {
			faults = append(faults, failure.Fault{File: c.Data.Name(w), Line: lines[f.Index], Text: reason(f.Err)})
		}
	}
	if c.Data.File == "" {
		for i := range faults {
			faults[i].Text = fmt.Sprintf("record %d of %s: %s", faults[i].Line, c.Schema.Collection, faults[i].Text)
			faults[i].Line = c.Data.Place.Line
		}
	}
	return failure.AsError(faults)
}
