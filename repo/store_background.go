package repo

import "sync"

// A background is what a store does beside its calls.
type background struct {
	mu     sync.Mutex
	closed bool
	all    sync.WaitGroup
}

// beside does something beside the calls, and reports false if the store is closed.
func (s *handle) beside(do func()) bool {
	b := &s.background
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.closed {
		b.all.Go(do)
	}
	return !b.closed
}

// close waits for what is under way.
func (b *background) close() {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.all.Wait()
}
