package simulate

import (
	"context"
	"fmt"
	"testing/synctest"

	"github.com/polystore/polystore/repo/driver"
)

// serve lets the keeper make a call. What the goroutines below it ask of the store, the one
// that makes the call and those that clean up behind it, is done one by one, when all of them
// wait, in an order that no goroutine's pace decides.
func (w *world) serve(do func()) {
	over := make(chan struct{})
	w.mu.Lock()
	w.arrived = make(chan struct{}, 1)
	w.mu.Unlock()
	go func() { defer close(over); do() }()
	for {
		synctest.Wait()
		if k := w.nextOfKeeper(); k != nil {
			k.answer <- w.keep(k)
			continue
		}
		select {
		case <-over:
			w.mu.Lock()
			w.arrived = nil
			w.mu.Unlock()
			return
		case <-w.arrived:
		}
	}
}

// keeperCall makes a call of the keeper.
func (w *world) keeperCall(op Op, of *entry) (e *entry) {
	w.serve(func() { e = w.keeper.call(op, of) })
	return e
}

// nextOfKeeper takes the call of the keeper that is done next, nil if none waits.
func (w *world) nextOfKeeper() *call {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.kept) == 0 {
		return nil
	}
	k := w.inOrder(w.kept)[0]
	w.kept = without(w.kept, k)
	return k
}

// askAsKeeper does a call of the keeper: in its turn while the keeper is served, and at once
// when it cleans up later, while nobody else does anything.
func (w *world) askAsKeeper(ctx context.Context, k *call) error {
	if ctx.Err() != nil {
		return fmt.Errorf("simulate: %w: %w", driver.ErrTimeout, ctx.Err())
	}
	w.mu.Lock()
	arrived := w.arrived
	if arrived != nil {
		w.kept = append(w.kept, k)
	}
	w.mu.Unlock()
	if arrived == nil {
		return w.keep(k)
	}
	select {
	case arrived <- struct{}{}:
	default:
	}
	return <-k.answer
}

// keep does a call of the keeper.
func (w *world) keep(k *call) error {
	if w.tell && k.verb == "commit" {
		w.note("keeper: " + w.words(k))
	}
	return w.exec(k)
}
