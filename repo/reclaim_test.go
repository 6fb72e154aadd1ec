package repo_test

import (
	"errors"
	"testing"
	"time"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// A write that wants the unique value of an expired record deletes that first. If the
// outcome of this is unknown, the write itself was not sent: it is not done, and there is
// no outcome to be resolved, least of all that of the other record.
func TestUnknownEndOfAnExpiredOwner(t *testing.T) {
	together := newNarrow()
	together.Store = memory.New(&memory.Options{Uncertain: true})
	for name, s := range map[string]*narrow{"in one commit": together, "in another partition": newNarrow()} {
		t.Run(name, func(t *testing.T) {
			now := time.Now()
			_, r := openLeases(t, s, &now)
			insertLease(t, r, lease{ID: "b", Mail: "x", Expires: now.Add(time.Second)})
			now = now.Add(time.Minute)
			s.meddle(func(op *driver.Op) fate {
				if op.Table.Class == driver.Records && op.Row.Dead {
					return never
				}
				return asUsual
			})
			err := r.Insert(t.Context(), &lease{ID: "a", Mail: "x"})
			e, ok := errors.AsType[*repo.Error](err)
			if !errors.Is(err, repo.ErrUnavailable) || errors.Is(err, repo.ErrUnknownOutcome) || !ok || e.Outcome != nil || e.Key != "a" {
				t.Errorf("insert: %+v, want ErrUnavailable about record a, without an outcome", err)
			}
			s.meddle(nil)
			if found, err := r.Exists(t.Context(), repo.Key{"a"}); found || err != nil {
				t.Errorf("the record is there: %v, %v", found, err)
			}
			insertLease(t, r, lease{ID: "a", Mail: "x"})
		})
	}
}
