package loadtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/polystore/polystore/loadtest/internal/format"
	"github.com/polystore/polystore/loadtest/internal/limit"
	"github.com/polystore/polystore/repo"
)

// fill loads all collections of a candidate and returns how long that took.
func (c *candidate) fill(ctx context.Context, w *Workload, data []*table, p *progress) (time.Duration, error) {
	began := time.Now()
	for _, col := range w.collections {
		step := p.begin(fmt.Sprintf("load %s into %s", col.schema.Collection, c.label), data[col.at].n, "records")
		lines := []int{}
		n, err := c.repos[col.at].InsertAll(ctx, recordsOf(ctx, w, col, data, func(r row) {
			lines = append(lines, r.line)
			step.add(1)
		}))
		step.end()
		if err != nil {
			return 0, cmp.Or(ctx.Err(), refused(w, col, lines, err)) // interrupted is nobody's fault
		}
		if n != data[col.at].n {
			return 0, fmt.Errorf("load %s: %s loaded where %s were read before; the data changed meanwhile", col.schema.Collection, format.Plural(n, "record"), format.Count(data[col.at].n))
		}
	}
	return time.Since(began), nil
}

// recordsOf yields the records of a collection.
func recordsOf(ctx context.Context, w *Workload, c *collection, data []*table, each func(row)) iter.Seq2[map[string]any, error] {
	return func(yield func(map[string]any, error) bool) {
		for r, err := range rowsOf(ctx, w, c, data) {
			if err == nil {
				each(r)
			}
			if !yield(r.record, err) {
				return
			}
		}
	}
}

// refused names the lines of the records that the library would not take.
func refused(w *Workload, c *collection, lines []int, err error) error {
	var batch *repo.BatchError
	if !errors.As(err, &batch) {
		return err
	}
	var faults Faults
	for _, f := range batch.Failed {
		if f.Index < len(lines) && len(faults) < limit.MaxFaults {
			faults = append(faults, Fault{File: c.data.name(w), Line: lines[f.Index], Text: reason(f.Err)})
		}
	}
	if c.data.file == "" {
		for i := range faults {
			faults[i].Text = fmt.Sprintf("record %d of %s: %s", faults[i].Line, c.schema.Collection, faults[i].Text)
			faults[i].Line = c.data.place.line
		}
	}
	return faults.asError()
}
