package repo

import (
	"context"
	"fmt"

	"github.com/polystore/polystore/repo/internal/failure"
	"github.com/polystore/polystore/repo/internal/layout"
	"github.com/polystore/polystore/repo/internal/scan"
)

// A Report says how an index and its records agree.
type Report struct {
	Index   string
	Records int      // live records that were read
	Rows    int      // rows and claims of the index that were read
	Missing int      // rows that a record should have, but that are not there
	Stale   int      // rows that no record should have, or whose values differ from the record
	Garbage int      // rows in other partitions that belong to no record and that no reader returns; Maintain removes them
	Samples []string // some of these rows, for people
}

// Clean reports whether nothing disagrees.
func (r Report) Clean() bool { return r.Missing == 0 && r.Stale == 0 }

// Verify compares every ready index of the collection with its records, in both directions, and returns a
// report for each. It reads everything. Because others may write meanwhile, it looks at a
// disagreement twice before it counts it. It skips rows that cannot be read: the reports are about
// the other rows, and the error names some of the skipped rows.
func (r *Repo[T]) Verify(ctx context.Context) ([]Report, error) {
	ctx, c, k := begin(ctx, "verify", r)
	defer k.Leave()
	var reports []Report
	if ctx == nil {
		return nil, c.end(&k, nil, failure.ErrNoContext)
	}
	var f scan.Faults
	for _, x := range c.Indexes {
		if x.Stage != layout.Ready {
			continue // it lacks rows
		}
		rep, err := c.Verify(ctx, &k, &f, x)
		if err != nil {
			return reports, c.end(&k, nil, f.With(fmt.Errorf("index %s: %w", x.ID, err)))
		}
		reports = append(reports, Report(rep))
	}
	return reports, c.end(&k, nil, f.With(nil))
}

// Rebuild makes an index agree with the records again: it removes rows that no record should have,
// and writes missing rows. Readers always see every row that was there and right, writers of this
// process wait, and an interrupted Rebuild has done a part. Open repositories stay usable. No other
// process may write to the store. Rebuild writes a record again that lacks a row which covers "*", or that a program
// wrote which did not know of an index in other partitions; the record then has another version.
//
// Rows and records that cannot be read stay as they are, and do not stop the rest; the error,
// ErrCorrupt, names some of them. If rows of the index cannot be read, remove the index with
// [DropIndex] and open with [WithBuild].
func (r *Repo[T]) Rebuild(ctx context.Context, index string) error {
	ctx, c, k := begin(ctx, "rebuild", r)
	defer k.Leave()
	return c.end(&k, nil, c.Rebuild(ctx, &k, index))
}
