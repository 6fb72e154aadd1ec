package conformance

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

// limits are for stores that hang: a busy machine is slow, but goes on.
type limits struct {
	limit time.Duration // of a rule
	stall time.Duration // for what is no rule to make any progress
}

var usual = limits{limit: 3 * time.Minute, stall: 5 * time.Minute}

// fewHang is how many rules that never return are enough: no more are begun.
const fewHang = 8

func (s *suite) hangs() bool { return s.hung.Load() >= fewHang }

// A run that is broken off waits so long for what hangs, and for what it made to be dropped.
const (
	afterEnd   = 10 * time.Second
	dropsAtEnd = time.Minute
)

// await waits for what was called, and reports whether it returned: within the limit, which
// begins anew at each move, or soon after the end of ctx.
func await(ctx context.Context, limit time.Duration, done <-chan error, moved <-chan struct{}) (err error, returned bool) {
	timer, over := time.NewTimer(limit), ctx.Done()
	defer timer.Stop()
	for {
		select {
		case err := <-done:
			return err, true
		case <-timer.C:
			return nil, false
		case <-moved:
			timer.Reset(limit)
		case <-over:
			moved, over = nil, nil
			timer.Reset(min(limit, afterEnd))
		}
	}
}

// within does what is no rule and may hang. What does not return is left behind.
func (s *suite) within(ctx context.Context, what string, do func() error) error {
	s.observer.begins(what)
	defer s.observer.ends(what)
	done := make(chan error, 1)
	go func() { done <- caught(do) }()
	err, returned := await(ctx, s.stall, done, nil)
	if !returned {
		return &mismatch{what + " to return", fmt.Sprintf("it did not within %s, and was left behind", s.stall)}
	}
	return err
}

// watched does what is no rule: the random operations, the histories. What makes no progress
// for too long is left behind.
func (s *suite) watched(ctx context.Context, id string, tell progress, do func(ctx context.Context, tell progress) error) error {
	s.observer.begins(id)
	defer s.observer.ends(id)
	limited, cancel := context.WithCancel(ctx)
	defer cancel()
	var left atomic.Bool
	moved, done := make(chan struct{}, 1), make(chan error, 1)
	go func() {
		done <- do(limited, func(what string, n, total int) {
			select {
			case moved <- struct{}{}:
			default:
			}
			if !left.Load() {
				tell(what, n, total)
			}
		})
	}()
	err, returned := await(ctx, s.stall, done, moved)
	if !returned {
		left.Store(true)
		return &mismatch{"the store to answer", fmt.Sprintf("no progress within %s; what hangs was left behind", s.stall)}
	}
	return err
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
