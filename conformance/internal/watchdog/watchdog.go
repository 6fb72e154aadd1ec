package watchdog

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

// AfterEnd is how long what hangs is waited for when a run is broken off.
const AfterEnd = 10 * time.Second

// Longest is how many times its limit a rule may take, however it moves.
const Longest = 10

// A Dog knows when something moved last: the store answered, or a rule came to its next step.
// A nil one takes no notice.
type Dog struct {
	last atomic.Pointer[time.Time]
	ends time.Time // set by Guard: moves after it do not count
}

// New returns a Dog that has just seen something move.
func New() *Dog {
	d := new(Dog)
	d.Move()
	return d
}

// Move says that something moves.
func (d *Dog) Move() {
	if d == nil {
		return
	}
	if now := time.Now(); d.ends.IsZero() || now.Before(d.ends) {
		d.last.Store(&now)
	}
}

func (d *Dog) idle() time.Duration { return time.Since(*d.last.Load()) }

// Guard returns a context that ends when nothing has moved for a limit; its cause is for people.
func (d *Dog) Guard(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	d.Move()
	if d.ends.IsZero() { // else it is a part of a rule
		d.ends = time.Now().Add(Longest * limit)
	}
	ctx, stop := context.WithTimeoutCause(ctx, Longest*limit, fmt.Errorf("it took %s", Longest*limit))
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

// Await waits for what was called, and reports whether it returned, before nothing had moved for
// a limit, or soon after the end of ctx.
func (d *Dog) Await(ctx context.Context, limit time.Duration, done <-chan error) (err error, returned bool) {
	timer, over := time.NewTimer(limit), ctx.Done()
	defer timer.Stop()
	for {
		select {
		case err := <-done:
			return err, true
		case <-over:
			over = nil
			timer.Reset(min(limit, AfterEnd))
		case <-timer.C:
			if over == nil && ctx.Err() != nil || d.idle() >= limit {
				return nil, false
			}
			timer.Reset(limit - d.idle())
		}
	}
}
