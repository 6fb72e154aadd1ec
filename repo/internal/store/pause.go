package store

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/polystore/polystore/repo/driver"
)

// Pause waits before another attempt: not at all the first time, then a random
// time that grows to some milliseconds.
func Pause(ctx context.Context, attempt int) error { return PauseLike(ctx, attempt, 0) }

// PauseLike is pause after an attempt that took a time: where the store is far, rivals
// take as long, and so the pause grows to many times that.
func PauseLike(ctx context.Context, attempt int, took time.Duration) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%w: %w", driver.ErrTimeout, err)
	}
	if attempt == 0 {
		return nil
	}
	took = min(took, 20*time.Millisecond)
	t := time.NewTimer(rand.N(min(max(took, 50*time.Microsecond)<<min(attempt, 10), max(32*took, 20*time.Millisecond))))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", driver.ErrTimeout, ctx.Err())
	}
}
