package conformance

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/polystore/polystore/repo/driver"
)

// inTwo does a commit of more than most ops in two.
func inTwo(most int) fault {
	return func(b *broken) {
		b.commit = func(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
			if len(ops) > most {
				if refusal, err := b.Store.Commit(ctx, token, ops[:most]); refusal != nil || err != nil {
					return refusal, err
				}
				refusal, err := b.Store.Commit(ctx, driver.NewToken(), ops[most:])
				if refusal != nil {
					refusal.Op += most
				}
				return refusal, err
			}
			return b.Store.Commit(ctx, token, ops)
		}
	}
}

// tooLarge refuses a commit of more than most ops, whatever Facts says.
func tooLarge(most int) fault {
	return func(b *broken) {
		b.commit = func(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
			if len(ops) > most {
				return nil, fmt.Errorf("%d ops, at most %d: %w", len(ops), most, driver.ErrTooLarge)
			}
			return b.Store.Commit(ctx, token, ops)
		}
	}
}

// bound makes Facts say how many ops a group may have.
func bound(most int) fault {
	return func(b *broken) { b.facts = func(f *driver.Facts) { f.MaxOps = most } }
}

// boundBytes makes Facts say how many bytes a group may have.
func boundBytes(most int) fault {
	return func(b *broken) { b.facts = func(f *driver.Facts) { f.MaxBytes = most } }
}

// forgetsBytes says most to the first who asks, which is the suite, and that there is no
// bound to all others.
func forgetsBytes(most int) fault {
	return func(b *broken) {
		var asked atomic.Int64
		b.facts = func(f *driver.Facts) {
			if f.MaxBytes = most; asked.Add(1) > 1 {
				f.MaxBytes = 0
			}
		}
	}
}

// forgetsBound says most to the first who asks, which is the suite, and that there is no
// bound to all others.
func forgetsBound(most int) fault {
	return func(b *broken) {
		var asked atomic.Int64
		b.facts = func(f *driver.Facts) {
			if asked.Add(1) > 1 {
				f.MaxOps = 0
				return
			}
			f.MaxOps = most
		}
	}
}
