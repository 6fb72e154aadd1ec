package repo

import (
	"context"
	"fmt"

	"github.com/polystore/polystore/repo/internal/failure"
	"github.com/polystore/polystore/repo/internal/scan"
)

// A Report says how an index and its records agree.
type Report struct {
	Index   string
	Records int      // live records that were read
	Rows    int      // rows and claims of the index that were read
	Missing int      // rows that a record should have and has not
	Stale   int      // rows that no record should have, or that carry other values than it
	Garbage int      // rows in another partition that no record has and no reader returns; Maintain removes them
	Samples []string // some of them, for people
}

// Clean reports whether nothing disagrees.
func (r Report) Clean() bool { return r.Missing == 0 && r.Stale == 0 }

// Verify compares every index of the collection with its records, in both
// directions, and returns a report for each. It reads everything. While others
// write it looks at a disagreement twice before it counts it. Rows that cannot be
// read it passes over: the reports are of the others, and the error names some of them.
func (r *Repo[T]) Verify(ctx context.Context) ([]Report, error) {
	ctx, c, k := r.begin(ctx, "verify")
	defer k.Leave()
	var reports []Report
	if ctx == nil {
		return nil, c.end(&k, nil, failure.ErrNoContext)
	}
	var f scan.Faults
	for _, x := range c.Indexes {
		rep, err := c.Verify(ctx, &k, &f, x)
		if err != nil {
			return reports, c.end(&k, nil, f.With(fmt.Errorf("index %s: %w", x.ID, err)))
		}
		reports = append(reports, Report(rep))
	}
	return reports, c.end(&k, nil, f.With(nil))
}

// Rebuild makes an index agree with the records again: it removes rows that no
// record should have and writes those that are missing. Readers see what was
// there and right all the time, writers of this process wait, and a Rebuild that
// is interrupted has done a part. Repositories that are open stay so. It needs a
// store that no other process writes to. A record that a program wrote which did not
// know of an index in other partitions is written again, and has another version then. Rows
// and records that cannot be read stay as they are and keep it from no other; the error, ErrCorrupt,
// names some of them. Where they are rows of the index, remove it with [DropIndex] and open with [WithRebuild].
func (r *Repo[T]) Rebuild(ctx context.Context, index string) error {
	ctx, c, k := r.begin(ctx, "rebuild")
	defer k.Leave()
	return c.end(&k, nil, c.Rebuild(ctx, &k, index))
}
