package candidate

import (
	"context"
	"fmt"
	"slices"

	"github.com/polystore/polystore/loadtest/internal/failure"
	"github.com/polystore/polystore/loadtest/internal/format"
	"github.com/polystore/polystore/loadtest/internal/workload"
	"github.com/polystore/polystore/repo"
)

// Verify makes sure that the indexes of a candidate agree with its records, that its trees and series are whole, that what
// is embedded is in order, and that its copies are those of what they are from. Copies that an operation left due which was
// not done to its end follow before.
func (c *Candidate) Verify(ctx context.Context) error {
	if err := c.copied.verify(ctx, c.Label); err != nil {
		return err
	}
	wrong, err := disagreeing(ctx, c.Store.Repo, c.Names)
	switch {
	case err != nil:
		return err
	case len(wrong) > 0:
		rep := wrong[0]
		return &failure.WrongAnswers{Text: fmt.Sprintf("after the run index %s of %s does not agree with its records: %s missing, %s that should not be there; %s",
			rep.Index, c.Label, format.Plural(rep.Missing, "row"), format.Count(rep.Stale), rep.Samples[0])}
	}
	for at := range c.repos {
		if kept := c.kept(at); kept != nil {
			if err := kept.verify(ctx, c.Label); err != nil {
				return err
			}
		}
	}
	return nil
}

// LargestHost returns how many records of a collection are embedded in the host that has the most, as the last look at all of
// them found.
func (c *Candidate) LargestHost(at int) int {
	if at < len(c.nests) && c.nests[at] != nil {
		return int(c.nests[at].largest.Load())
	}
	return 0
}

// VerifyRecords makes sure that the records of a candidate are those that were loaded and written, and their copies, too.
func (c *Candidate) VerifyRecords(ctx context.Context, w *workload.Workload) error {
	for _, of := range w.Collections {
		own := c.Model.Copies[of.At]
		if err := c.Seen.After(c.Label, of, own, c.copied.showing(of.At, own, c.Stored(ctx, of.At))); err != nil {
			return err
		}
	}
	return nil
}

// OutOfStep returns how many rows of indexes do not agree with the records, and one of them.
func (c *Candidate) OutOfStep(ctx context.Context) (rows int, sample string, err error) {
	wrong, err := disagreeing(ctx, c.Store.Repo, c.Names)
	for i, rep := range wrong {
		if rows += rep.Missing + rep.Stale; i == 0 {
			sample = fmt.Sprintf("index %s: %s", rep.Index, rep.Samples[0])
		}
	}
	return rows, sample, err
}

// disagreeing returns the reports of the indexes of collections that do not agree with the records.
func disagreeing(ctx context.Context, s *repo.Store, names []string) (list []repo.Report, err error) {
	for _, name := range names {
		r, err := stored(ctx, s, name)
		if err != nil {
			return nil, err
		}
		reports, err := r.Verify(ctx)
		if err != nil {
			return nil, err
		}
		list = append(list, slices.DeleteFunc(reports, repo.Report.Clean)...)
	}
	return list, nil
}
