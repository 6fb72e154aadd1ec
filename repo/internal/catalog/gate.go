package catalog

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/polystore/polystore/repo/driver"
)

// A gate lets writers in, many at once, or one alone who changes what they go by. Nobody
// waits longer at it than their context lasts: who is within may be waiting for a store.
type gate struct {
	within sync.RWMutex
	wanted atomic.Int32 // those who want to be alone, for whom writers hold back
}

// enter lets a writer in, who is to call leave.
func (g *gate) enter(ctx context.Context) error {
	return g.await(ctx, func() bool { return g.wanted.Load() == 0 && g.within.TryRLock() })
}

func (g *gate) leave() { g.within.RUnlock() }

// Shut lets somebody in alone, who is to call open.
func (g *gate) Shut(ctx context.Context) error {
	g.wanted.Add(1)
	defer g.wanted.Add(-1)
	return g.await(ctx, g.within.TryLock)
}

func (g *gate) Open() { g.within.Unlock() }

// await asks try again and again, with pauses that grow to some milliseconds.
func (g *gate) await(ctx context.Context, try func() bool) error {
	for wait := 100 * time.Microsecond; !try(); wait = min(2*wait, 5*time.Millisecond) {
		select {
		case <-ctx.Done():
			return fmt.Errorf("before the store was asked, while the collection was opened or changed by others: %w: %w", driver.ErrTimeout, ctx.Err())
		case <-time.After(wait):
		}
	}
	return nil
}
