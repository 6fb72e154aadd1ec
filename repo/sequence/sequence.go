package sequence

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/polystore/polystore/repo"
)

// A Sequence hands out the numbers of one sequence. Many goroutines may use a Sequence at once, and share what it
// takes: use one in each program. Make one with [Collection.Sequence].
type Sequence struct {
	collection *Collection
	name       string
	block      int64
	first      int64

	mu       sync.Mutex
	hand     numbers   // taken and not handed out; empty while somebody waits
	queue    []*waiter // who waits for the next write, the oldest first
	fetching bool      // one of the waiters writes, or will
	epoch    int       // changes when numbers in hand lose their worth
}

// Numbers are those from next on, below end.
type numbers struct{ next, end int64 }

func (n *numbers) take() (int64, bool) {
	if n.next == n.end {
		return 0, false
	}
	n.next++
	return n.next - 1, true
}

// A waiter is a call of Next that waits.
type waiter struct {
	answer   chan answer // has room for one
	answered bool        // by an answer that was not yet taken, or by the last one
	gone     bool
}

// An answer ends the wait of a call, or makes it the one that writes.
type answer struct {
	n     int64
	err   error
	leads bool
}

func (w *waiter) give(a answer) { w.answered = true; w.answer <- a }

// Next returns the next number. If numbers are in hand, Next does not call the store. A call whose context ends while
// it waits is ErrTimeout; the number that it would have got may be skipped. After [Greatest] Next is [ErrExhausted].
//
// If a write ends with an unknown outcome, Next writes anew, and its number may be skipped.
func (s *Sequence) Next(ctx context.Context) (int64, error) {
	if err := s.check(ctx); err != nil {
		return 0, s.failed("next", err)
	}
	s.mu.Lock()
	if n, ok := s.hand.take(); ok {
		s.mu.Unlock()
		return n, nil
	}
	w := &waiter{answer: make(chan answer, 1)}
	s.queue = append(s.queue, w)
	leads := !s.fetching
	s.fetching = true
	s.mu.Unlock()
	n, err := s.wait(ctx, w, leads)
	return n, s.failed("next", err)
}

func (s *Sequence) check(ctx context.Context) error {
	switch {
	case s == nil || s.collection == nil:
		return fmt.Errorf("the sequence is empty: make one with Collection.Sequence: %w", repo.ErrInvalid)
	case ctx == nil:
		return fmt.Errorf("the context is nil: %w", repo.ErrInvalid)
	}
	return timeout(ctx)
}

// timeout is the error of a context that has ended, or nil.
func timeout(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%w: %w", repo.ErrTimeout, err)
	}
	return nil
}

// wait returns what a waiter gets, which writes when it is its turn.
func (s *Sequence) wait(ctx context.Context, w *waiter, leads bool) (int64, error) {
	for {
		if leads {
			s.serve(ctx, w)
		}
		select {
		case a := <-w.answer:
			if leads = a.leads; !leads {
				return a.n, a.err
			}
		case <-ctx.Done():
			if a, ok := s.leave(w); ok {
				return a.n, a.err
			}
			return 0, timeout(ctx)
		}
	}
}

// leave makes a waiter wait no longer. It returns the answer that the waiter had got before.
func (s *Sequence) leave(w *waiter) (answer, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w.answered {
		if a := <-w.answer; !a.leads {
			return a, true
		}
		s.queue = s.queue[1:] // it is the first, since it was to write
		s.passOn()
		return answer{}, false
	}
	w.gone = true
	s.queue = slices.DeleteFunc(s.queue, func(other *waiter) bool { return other == w })
	return answer{}, false
}

// passOn makes the first waiter write, if there is one.
func (s *Sequence) passOn() {
	s.fetching = len(s.queue) > 0
	if s.fetching {
		s.queue[0].give(answer{leads: true})
	}
}

var errUnfinished = fmt.Errorf("a write ended early: %w", repo.ErrInternal)

// serve takes numbers for all who wait, and hands them out. Own is the waiter whose context is ctx.
func (s *Sequence) serve(ctx context.Context, own *waiter) {
	s.mu.Lock()
	batch, epoch := s.queue, s.epoch
	s.queue = nil
	own.answered = false
	s.mu.Unlock()
	got, err := numbers{}, errUnfinished // which stays if the program's own code ends the goroutine
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		batch = slices.DeleteFunc(batch, func(w *waiter) bool { return w.gone })
		switch {
		case err != nil && ctx.Err() != nil: // which is nothing to the others
			own.give(answer{err: err})
			batch = slices.DeleteFunc(batch, func(w *waiter) bool { return w == own })
		case err != nil:
			for _, w := range batch {
				w.give(answer{err: err})
			}
			batch = nil
		}
		batch = hand(&got, batch)
		s.queue = append(batch, s.queue...)
		if s.block > 1 && epoch == s.epoch { // else those who came later may not have what was taken before they came
			s.queue = hand(&got, s.queue)
			s.hand = got
		}
		s.passOn()
	}()
	got, err = s.fetch(ctx, max(s.block, int64(len(batch))))
}

// hand gives numbers to waiters, and returns the waiters for whom there are none.
func hand(got *numbers, list []*waiter) []*waiter {
	for i, w := range list {
		n, ok := got.take()
		if !ok {
			return list[i:]
		}
		w.give(answer{n: n})
	}
	return nil
}

// mostUnknown is how many writes of unknown outcome are followed by another one.
const mostUnknown = 3

// fetch takes numbers from the store: as many as it should, or those that are left.
func (s *Sequence) fetch(ctx context.Context, count int64) (got numbers, err error) {
	take := func(next int64) (int64, error) {
		got = numbers{next, math.MaxInt64}
		switch {
		case next == got.end:
			return 0, ErrExhausted
		case next < got.end-count:
			got.end = next + count
		}
		return got.end, nil
	}
	for range mostUnknown {
		if err = s.change(ctx, take); !errors.Is(err, repo.ErrUnknownOutcome) || ctx.Err() != nil {
			break
		}
	}
	if err != nil {
		return numbers{}, err
	}
	return got, nil
}
