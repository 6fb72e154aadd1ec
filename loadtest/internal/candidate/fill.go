package candidate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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
)

// Fill loads all collections of a candidate and returns how long that took. Where a strategy cannot keep the trees
// of the data the candidate Lacks them.
func (c *Candidate) Fill(ctx context.Context, w *workload.Workload, tables []*generate.Table, p *progress.Log) (time.Duration, error) {
	began := time.Now()
	for _, col := range w.Collections {
		step := p.Begin(fmt.Sprintf("load %s into %s", col.Schema.Collection, c.Label), tables[col.At].Len, "records")
		lines := []int{}
		records := data.Records(ctx, w, col, tables, func(r data.Row) {
			lines = append(lines, r.Line)
			step.Add(1)
		})
		n, err := 0, error(nil)
		if f := c.forests[col.At]; f != nil {
			n, err = f.load(ctx, records)
		} else {
			n, err = c.repos[col.At].InsertAll(ctx, func(yield func(map[string]any, error) bool) {
				for rec, err := range records {
					if err == nil {
						rec = expiring(rec, col)
					}
					if !yield(rec, err) {
						return
					}
				}
			})
		}
		step.End()
		if c.forests[col.At] != nil && errors.Is(err, repo.ErrTooLarge) {
			c.Lacks = col.Schema.Collection + ": " + strings.TrimSuffix(reason(err), ": "+repo.ErrTooLarge.Error())
			return 0, nil
		}
		if err != nil {
			return 0, cmp.Or(ctx.Err(), refused(w, col, lines, err)) // interrupted is nobody's fault
		}
		if n != tables[col.At].Len {
			return 0, fmt.Errorf("load %s: %s loaded where %s were read before; the data changed meanwhile", col.Schema.Collection, format.Plural(n, "record"), format.Count(tables[col.At].Len))
		}
	}
	return time.Since(began), nil
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
