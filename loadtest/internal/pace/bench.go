// Package pace sends operations at fixed instants and measures them. A rate and a function that does
// an operation come in; the times of each operation go out, and their summary, the result of a round.
package pace

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/polystore/polystore/loadtest/internal/operation"
)

// A Bench sends operations at fixed instants, whether or not earlier ones have
// been answered, and measures them. None is left out: one that finds all slots
// busy waits for one.
type Bench struct {
	Clock   Clock
	Rate    int             // operations a second
	Due     []time.Duration // when each is due, in order, where that does not follow from the rate; nil where it does
	At      time.Time       // when the first instant of the next round is; zero is at once
	Divided bool            // the operations are a part of those that are sent together: results have all that is merged
	Last    time.Duration   // where they are divided: the last instant of all of them
	Slots   int             // operations that may be under way at once
	Grace   time.Duration   // how long operations may go on behind the last instant
	Shares  bool            // the store is in this process: see split
	Samples []Sample        // of the last round, by operation; reused

	Beside func(ctx context.Context, start time.Time) // what else goes on, from the first instant on; nil is nothing

	Watch func(Live)    // is told now and then what the round gave so far; nil is nobody
	Each  func(*Sample) // is told of each operation some time after it was answered, of one after the other; nil is nobody

	parts [][]Sample // of the last round, by operation: the steps of a journey

	start time.Time
	next  atomic.Int64   // the first operation that no slot has taken
	idle  atomic.Int64   // slots that wait for the clock
	due   []atomic.Int64 // when the clock released each operation, from the start; 0 is not yet
	done  []atomic.Bool  // whose samples are complete, where somebody watches
}

const lead = 20 * time.Millisecond // from the call to the first instant

// Run does n operations. Do sends the i-th and returns its query and outcome. The
// samples are valid until the next run. Took is the time from the first instant
// to the end of the last operation.
func (b *Bench) Run(ctx context.Context, n int, do func(ctx context.Context, i int) (at int, o operation.Outcome)) (took time.Duration) {
	b.reset(n)
	wake := make(chan struct{}, n) // never full, so that the clock never waits
	opCtx, stop := context.WithCancel(ctx)
	defer stop()
	var slots sync.WaitGroup
	for range b.Slots {
		slots.Go(func() { b.slot(opCtx, wake, do) })
	}
	slots.Go(func() {
		b.release(ctx, wake)
		close(wake)
	})
	if b.Beside != nil {
		slots.Go(func() { b.Beside(opCtx, b.start) })
	}
	last := b.start.Add(b.last())
	cut := time.AfterFunc(time.Until(last.Add(b.Grace)), stop)
	defer cut.Stop()
	end := b.watch()
	slots.Wait()
	took = time.Since(b.start)
	end()
	return took
}

// reset prepares a round of n operations.
func (b *Bench) reset(n int) {
	if cap(b.Samples) < n {
		b.Samples, b.due = make([]Sample, n), make([]atomic.Int64, n)
	}
	b.Samples, b.due = b.Samples[:n], b.due[:n]
	clear(b.Samples)
	if b.done = nil; b.watched() {
		b.done = make([]atomic.Bool, n)
	}
	b.parts = make([][]Sample, n)
	for i := range b.due {
		b.due[i].Store(0)
	}
	b.next.Store(0)
	b.idle.Store(0)
	if b.start = time.Now().Add(lead); !b.At.IsZero() {
		now := time.Now()
		b.start = now.Add(b.At.Sub(now)) // counts on when the clock of the machine is set
	}
}

// Part notes a step of the i-th operation, from within it.
func (b *Bench) Part(i int, s operation.Step) {
	b.parts[i] = append(b.parts[i], Sample{service: int64(s.Took), At: uint16(s.At), Outcome: s.Outcome})
}

// Parts yields the steps of all operations.
func (b *Bench) Parts(yield func(*Sample) bool) {
	for _, list := range b.parts {
		for i := range list {
			if !yield(&list[i]) {
				return
			}
		}
	}
}

// instant returns when the i-th operation is due, from the start.
func (b *Bench) instant(i int) time.Duration {
	if b.Due != nil {
		return b.Due[i]
	}
	return time.Duration(int64(i) * int64(time.Second) / int64(b.Rate))
}

// last returns the last instant, of all operations if they are divided.
func (b *Bench) last() time.Duration { return max(b.Last, b.instant(len(b.Samples)-1)) }

// now returns the time from the start.
func (b *Bench) now() int64 { return int64(time.Since(b.start)) }

// release wakes a slot for each operation at its instant, unless a slot that
// became free has taken it already.
func (b *Bench) release(ctx context.Context, wake chan<- struct{}) {
	b.Clock.Attach()
	defer b.Clock.Detach()
	for i := range b.due {
		if ctx.Err() != nil {
			b.next.Store(int64(len(b.due)))
			return
		}
		b.Clock.Until(b.start.Add(b.instant(i)))
		b.due[i].Store(max(b.now(), 1))
		if b.next.Load() <= int64(i) {
			wake <- struct{}{}
		}
	}
}

// slot does one operation after the other. When the round is cut off, those that
// are left are noted as unfinished.
func (b *Bench) slot(ctx context.Context, wake <-chan struct{}, do func(context.Context, int) (int, operation.Outcome)) {
	free := b.now()
	for {
		i, idle, ok := b.take()
		if !ok {
			b.idle.Add(1)
			_, more := <-wake
			b.idle.Add(-1)
			if !more && b.next.Load() >= int64(len(b.due)) {
				return
			}
			continue
		}
		s := &b.Samples[i]
		begin := b.now()
		s.lag, s.wait = b.split(int64(b.instant(i)), b.due[i].Load(), free, begin, idle)
		at, o := do(ctx, i)
		free = b.now()
		s.At, s.Outcome, s.service = uint16(at), o, free-begin
		if b.done != nil {
			b.done[i].Store(true)
		}
	}
}

// take returns the next operation that is due, if there is one, and whether
// another slot was idle while it was due. That is looked at first: a slot that
// finds nothing left because of this take was not idle before it.
func (b *Bench) take() (i int, idle, ok bool) {
	for {
		idle = b.idle.Load() > 0
		next := b.next.Load()
		if next >= int64(len(b.due)) || int64(b.instant(int(next))) > b.now() {
			return 0, false, false
		}
		if b.next.CompareAndSwap(next, next+1) {
			return int(next), idle, true
		}
	}
}

// split divides the time from the instant to the beginning of an operation into
// lag and wait. Due is when the clock released it, or 0 if a slot that became
// free was faster; free is when the slot that took it became free;
// idle is whether another slot was idle.
//
// An operation that a slot takes as soon as it is free, with no other slot idle,
// has waited for it; otherwise the clock was late. A store in this process shares
// the processors with its callers: there a slot is free only with a processor to
// run it, and all delay but the clock's own is wait, as it would be in a service
// that embeds the store.
func (b *Bench) split(instant, due, free, begin int64, idle bool) (lag, wait int64) {
	late := begin - instant
	switch {
	case b.Shares && due > 0:
		lag = min(max(due-instant, 0), late)
	case b.Shares:
	case free <= instant || idle:
		lag = late
	default:
		lag = begin - free
	}
	return lag, late - lag
}
