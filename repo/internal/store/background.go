package store

import (
	"context"
	"fmt"
	"sync"

	"github.com/polystore/polystore/repo/driver"
)

// A background is what a store does beside its calls.
type background struct {
	mu     sync.Mutex
	closed bool
	over   chan struct{} // closed, too
	all    sync.WaitGroup
}

// Start makes it ready.
func (b *background) Start() { b.over = make(chan struct{}) }

// Beside does something beside the calls, and reports false if the store is closed.
func (s *Handle) Beside(do func()) bool {
	b := &s.Background
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.closed {
		b.all.Go(do)
	}
	return !b.closed
}

// Enter begins what Close ends and waits for. It returns a context that ends then with ErrClosed.
func (b *background) Enter(ctx context.Context) (within context.Context, leave func(), err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, nil, fmt.Errorf("the store was closed: %w", driver.ErrClosed)
	}
	within, cancel := context.WithCancelCause(ctx)
	b.all.Add(1)
	b.all.Go(func() {
		select {
		case <-b.over:
			cancel(fmt.Errorf("the store was closed: %w", driver.ErrClosed))
		case <-within.Done():
		}
	})
	return within, func() { cancel(nil); b.all.Done() }, nil
}

// Close ends what has entered, and waits for what is under way.
func (b *background) Close() {
	b.mu.Lock()
	if !b.closed {
		b.closed = true
		close(b.over)
	}
	b.mu.Unlock()
	b.all.Wait()
}
