package conformance

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/polystore/polystore/conformance/internal/finding"
	"github.com/polystore/polystore/repo/driver"
)

// A resending is a commit of several ops that a broken store has met before, but for its
// Store's answer.
type resending func(b *broken, ctx context.Context, ops []driver.Op) (*driver.Refusal, error)

// whenSentAgain breaks a store that meets a commit of several ops once more: do answers
// instead if it has anything to say.
func whenSentAgain(do resending) fault {
	return func(b *broken) {
		var mu sync.Mutex
		met := map[driver.Token]bool{}
		b.commit = func(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
			mu.Lock()
			again := met[token] && len(ops) > 1
			met[token] = true
			mu.Unlock()
			if again {
				if refusal, err := do(b, ctx, ops); refusal != nil || err != nil {
					return refusal, err
				}
			}
			return b.Store.Commit(ctx, token, b.in(ops))
		}
	}
}

// resentFaults returns a fault for each rule about commits that are sent again, which the
// others do not notice.
func resentFaults() map[string]fault {
	return map[string]fault{
		// Takes puts over rows that are there for those of somebody who was faster.
		"puts sent again": whenSentAgain(func(_ *broken, _ context.Context, ops []driver.Op) (*driver.Refusal, error) {
			if slices.ContainsFunc(ops, func(op driver.Op) bool { return op.Do != driver.Put || op.If == driver.Absent }) {
				return nil, nil
			}
			return nil, driver.ErrThrottled
		}),
		"inserts sent again": whenSentAgain(refusesOthers(driver.Put, driver.Absent)),
		// Does what a patch does to all rows but the first again.
		"patches sent again": whenSentAgain(func(b *broken, ctx context.Context, ops []driver.Op) (*driver.Refusal, error) {
			for i := range ops[1:] {
				if op := ops[1+i]; op.Do == driver.Patch {
					op.If = driver.Present
					if _, err := b.Store.Commit(ctx, driver.NewToken(), []driver.Op{op}); err != nil {
						return nil, err
					}
				}
			}
			return nil, nil
		}),
		"deletes sent again": whenSentAgain(refusesOthers(driver.Delete, driver.Present)),
		// Does what has no tokens again.
		"rows sent again": whenSentAgain(func(b *broken, ctx context.Context, ops []driver.Op) (*driver.Refusal, error) {
			for i := range ops {
				if op := ops[i]; op.Table.Ring == 0 {
					if _, err := b.Store.Commit(ctx, driver.NewToken(), []driver.Op{op}); err != nil {
						return nil, err
					}
				}
			}
			return nil, nil
		}),
	}
}

// refusesOthers looks at the conditions of all ops but the first, of one kind, again.
func refusesOthers(do driver.Verb, cond driver.Cond) resending {
	return func(b *broken, _ context.Context, ops []driver.Op) (*driver.Refusal, error) {
		for i := range ops {
			if ops[i].Do != do || ops[i].If != cond || i == 0 {
				continue
			}
			if there := !b.stored(&ops[i]).Rev.IsZero(); there != (cond == driver.Present) {
				return &driver.Refusal{Op: i}, nil
			}
		}
		return nil, nil
	}
}

// Each way to take a commit that is sent again for a new one is noticed by the rule that is
// about it, and by no other of these: none of them can be left out.
func TestResentFaults(t *testing.T) {
	t.Parallel()
	for _, r := range rules() {
		if _, ok := resentFaults()[r.Name]; !ok && r.Name != "sent again" && r.Name != "sent again later" {
			continue
		}
		for name, f := range resentFaults() {
			_, noticed := errors.AsType[*finding.Mismatch](tried(t, &r, f))
			if noticed != (name == r.Name) {
				t.Errorf("the fault of %q is noticed by %q: %v", name, r.Name, noticed)
			}
		}
	}
}
