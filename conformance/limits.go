package conformance

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

// stallLimit is how long a part of a run may be without any progress. It is for stores that
// hang: a busy machine is slow, but goes on.
const stallLimit = 5 * time.Minute

// within does what may hang. What does not return is left behind.
func within(limit time.Duration, what string, do func() error) error {
	done := make(chan error, 1)
	go func() { done <- caught(do) }()
	select {
	case err := <-done:
		return err
	case <-time.After(limit):
		return &mismatch{what + " to return", fmt.Sprintf("it did not within %s, and was left behind", limit)}
	}
}

// watched does what is no rule: the random operations, the histories. What makes no progress
// for too long is left behind.
func (s *suite) watched(ctx context.Context, id string, tell progress, do func(ctx context.Context, tell progress) error) error {
	s.observer.begins(id)
	defer s.observer.ends(id)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var left atomic.Bool
	moved, done := make(chan struct{}, 1), make(chan error, 1)
	go func() {
		done <- do(ctx, func(what string, n, total int) {
			select {
			case moved <- struct{}{}:
			default:
			}
			if !left.Load() {
				tell(what, n, total)
			}
		})
	}()
	for {
		select {
		case err := <-done:
			return err
		case <-moved:
		case <-time.After(s.stall):
			left.Store(true)
			return &mismatch{"the store to answer", fmt.Sprintf("no progress within %s; what hangs was left behind", s.stall)}
		}
	}
}

// watchedCompare does the random operations.
func (s *suite) watchedCompare(ctx context.Context, o Options) error {
	return s.watched(ctx, randomGroup, o.Progress, func(ctx context.Context, tell progress) error {
		return s.compare(ctx, o.Seed, o.Ops, tell)
	})
}

// watchedRecord makes the histories.
func (s *suite) watchedRecord(ctx context.Context, o Options) error {
	return s.watched(ctx, historyGroup, o.Progress, func(ctx context.Context, tell progress) error {
		return s.record(ctx, o.Seed, o.Histories, tell)
	})
}

type progress = func(what string, done, total int)
