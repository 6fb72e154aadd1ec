package measure

import (
	"context"
	"errors"
	"time"

	"github.com/polystore/polystore/loadtest/internal/candidate"
	"github.com/polystore/polystore/loadtest/internal/fault"
	"github.com/polystore/polystore/loadtest/internal/ledger"
	"github.com/polystore/polystore/loadtest/internal/operation"
	"github.com/polystore/polystore/loadtest/internal/workload"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// books have the writes of a phase with faults.
type books struct {
	all  ledger.Ledger
	kept ledger.Ledger // without those that the store may lose
}

// before takes what the records have before the writes.
func (b *books) before(ctx context.Context, c *candidate.Candidate, w *workload.Workload, calls []operation.Call) error {
	for _, book := range []*ledger.Ledger{&b.all, &b.kept} {
		book.Expect(calls)
		for _, of := range w.Collections {
			if err := book.Before(of, c.All(ctx, of.At)); err != nil {
				return err
			}
		}
	}
	return nil
}

// note enters a call, or the steps of a journey. Of those that are excused nobody can say whether they were done.
func (b *books) note(k *operation.Call, x *act, excused bool) {
	enter := func(k *operation.Call, o operation.Outcome) {
		if b.all.Note(k, x.began, x.ended, o); excused {
			o = operation.Failed
		}
		b.kept.Note(k, x.began, x.ended, o)
	}
	enter(k, x.outcome)
	for _, step := range x.steps {
		enter(step.Call, step.Outcome)
	}
}

// after looks for the writes in the records. A collection may be lost with the server that was killed.
func (b *books) after(ctx context.Context, c *candidate.Candidate, w *workload.Workload) error {
	for _, book := range []*ledger.Ledger{&b.all, &b.kept} {
		for _, of := range w.Collections {
			err := book.After(of, c.All(ctx, of.At))
			if errors.Is(err, repo.ErrSchema) {
				err = book.After(of, func(func(map[string]any, error) bool) {})
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// excuses returns whether a store may lose what it acknowledged at a time: by its class of durability, shortly before it
// was killed. The spans count from an instant that lies after that from which the times count.
func excuses(spans []fault.Span, after time.Duration, facts driver.Facts) func(at time.Duration) bool {
	return func(at time.Duration) bool {
		for _, s := range spans {
			if s.Kills() && facts.Delay > 0 && at >= s.From+after-facts.Delay && at <= s.To+after {
				return true
			}
		}
		return false
	}
}
