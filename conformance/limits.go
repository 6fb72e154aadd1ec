package conformance

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/polystore/polystore/conformance/internal/finding"
	"github.com/polystore/polystore/conformance/internal/history"
	"github.com/polystore/polystore/conformance/internal/random"
)

// limits are for stores that hang: a busy machine is slow, but goes on.
type limits struct {
	limit time.Duration // for a rule to come to its next step
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

// A watchdog knows when something moved last: the store answered, or a rule came to its next step.
// A nil one takes no notice.
type watchdog struct {
	last atomic.Pointer[time.Time]
	ends time.Time // set by guard: moves after it do not count
}

func newWatchdog() *watchdog {
	d := new(watchdog)
	d.move()
	return d
}

func (d *watchdog) move() {
	if d == nil {
		return
	}
	if now := time.Now(); d.ends.IsZero() || now.Before(d.ends) {
		d.last.Store(&now)
	}
}

func (d *watchdog) idle() time.Duration { return time.Since(*d.last.Load()) }

// longest is how many times its limit a rule may take, however it moves.
const longest = 10

// guard returns a context that ends when nothing has moved for a limit; its cause is for people.
func (d *watchdog) guard(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	d.move()
	if d.ends.IsZero() { // else it is a part of a rule
		d.ends = time.Now().Add(longest * limit)
	}
	ctx, stop := context.WithTimeoutCause(ctx, longest*limit, fmt.Errorf("it took %s", longest*limit))
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		for timer := time.NewTimer(limit); ; timer.Reset(limit - d.idle()) {
			select {
			case <-ctx.Done():
				return
			case <-timer.C:
			}
			if d.idle() >= limit {
				cancel(fmt.Errorf("it came no further within %s", limit))
				return
			}
		}
	}()
	return ctx, func() { cancel(nil); stop() }
}

// await waits for what was called, and reports whether it returned, before nothing had moved for
// a limit, or soon after the end of ctx.
func (d *watchdog) await(ctx context.Context, limit time.Duration, done <-chan error) (err error, returned bool) {
	timer, over := time.NewTimer(limit), ctx.Done()
	defer timer.Stop()
	for {
		select {
		case err := <-done:
			return err, true
		case <-over:
			over = nil
			timer.Reset(min(limit, afterEnd))
		case <-timer.C:
			if over == nil && ctx.Err() != nil || d.idle() >= limit {
				return nil, false
			}
			timer.Reset(limit - d.idle())
		}
	}
}

// within does what is no rule and may hang. What does not return is left behind.
func (s *suite) within(ctx context.Context, what string, do func() error) error {
	s.observer.begins(what)
	defer s.observer.ends(what)
	done := make(chan error, 1)
	go func() { done <- finding.Caught(do) }()
	err, returned := newWatchdog().await(ctx, s.stall, done)
	if !returned {
		return finding.Wanted(what+" to return", fmt.Sprintf("it did not within %s, and was left behind", s.stall))
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
	dog, done := newWatchdog(), make(chan error, 1)
	go func() {
		done <- do(limited, func(what string, n, total int) {
			dog.move()
			if !left.Load() {
				tell(what, n, total)
			}
		})
	}()
	err, returned := dog.await(ctx, s.stall, done)
	if !returned {
		left.Store(true)
		return finding.Wanted("the store to answer", fmt.Sprintf("no progress within %s; what hangs was left behind", s.stall))
	}
	return err
}

// watchedCompare does the random operations.
func (s *suite) watchedCompare(ctx context.Context, o Options) error {
	return s.watched(ctx, randomGroup, o.Progress, func(ctx context.Context, tell progress) error {
		return random.Compare(ctx, s.target(), o.Seed, o.Ops, tell)
	})
}

// watchedRecord makes the histories.
func (s *suite) watchedRecord(ctx context.Context, o Options) error {
	return s.watched(ctx, historyGroup, o.Progress, func(ctx context.Context, tell progress) error {
		return history.Record(ctx, s.target(), o.Seed, o.Histories, tell)
	})
}

type progress = func(what string, done, total int)
