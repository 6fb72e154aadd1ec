package simulate

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/polystore/polystore/repo/driver"
)

// A traffic holds the calls of the clients that are on their way, to the store or back.
type traffic struct {
	store   *store
	watcher *watcher

	mu      sync.Mutex // guards what changes of a client, too
	waiting []*call    // in the order of arrival
	late    []*call
	held    []*call
	last    *client // whose turn it was
}

// ask lets a call wait for the scheduler, and returns its answer.
func (t *traffic) ask(ctx context.Context, k *call) error {
	c := k.client
	t.mu.Lock()
	crashed, cut := c.crashed, k.sent.Before(c.cutUntil)
	if !crashed && !cut {
		t.waiting = append(t.waiting, k)
	}
	t.mu.Unlock()
	switch {
	case crashed:
		return errCrashed
	case cut:
		return fmt.Errorf("simulate: cut off: %w", driver.ErrUnavailable)
	}
	select {
	case err := <-k.answer:
		return err
	case <-ctx.Done():
		return t.giveUp(ctx, k)
	}
}

// giveUp ends a call whose context has ended. What was sent is under way.
func (t *traffic) giveUp(ctx context.Context, k *call) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.waiting = without(t.waiting, k)
	t.held = without(t.held, k)
	switch {
	case k.client.crashed:
		return errCrashed // what is under way was seen to
	case k.verb != "commit":
		return fmt.Errorf("simulate: %w: %w", driver.ErrTimeout, ctx.Err())
	}
	t.late = append(t.late, k.copied())
	return fmt.Errorf("simulate: %w: %w", driver.ErrUnknownOutcome, ctx.Err())
}

// exec does a call, and looks at what it changed.
func (t *traffic) exec(k *call) error {
	changed, err := t.store.do(k)
	if changed {
		t.watcher.look(k)
	}
	return err
}

// crash makes a client stop. Its commits on their way may still be done.
func (t *traffic) crash(c *client) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c.crashed = true
	c.stop()
	mine := func(k *call) bool { return k.client == c }
	for _, k := range t.waiting {
		if mine(k) {
			if k.verb == "commit" {
				t.late = append(t.late, k.copied())
			}
			k.answer <- errCrashed
		}
	}
	for _, k := range t.held {
		if mine(k) {
			k.answer <- errCrashed
		}
	}
	t.waiting = slices.DeleteFunc(t.waiting, mine)
	t.held = slices.DeleteFunc(t.held, mine)
}

// inTurn returns the waiting calls in an order that no goroutine's pace decides:
// those of the client whose turn it is first.
func (t *traffic) inTurn() []*call { return t.inOrder(t.waiting) }

// inOrder returns calls in such an order.
func (t *traffic) inOrder(waiting []*call) []*call {
	calls := slices.Clone(waiting)
	if len(calls) < 2 {
		return calls
	}
	slices.SortStableFunc(calls, func(a, b *call) int {
		if a.client != b.client {
			return cmp.Or(last(a.client == t.last, b.client == t.last), cmp.Compare(a.client.number, b.client.number))
		}
		return cmp.Compare(a.rank(), b.rank())
	})
	return calls
}

func last(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

func without(list []*call, k *call) []*call {
	return slices.DeleteFunc(list, func(o *call) bool { return o == k })
}
