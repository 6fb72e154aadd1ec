package store

import "sync"

// A background is what a store does beside its calls.
type background struct {
	mu     sync.Mutex
	closed bool
	all    sync.WaitGroup
}

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

// Close waits for what is under way.
func (b *background) Close() {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.all.Wait()
}
