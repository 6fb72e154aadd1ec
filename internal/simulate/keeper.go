package simulate

import (
	"context"
	"fmt"
	"sync"
	"testing/synctest"

	"github.com/polystore/polystore/repo/driver"
)

// A keeper is the client that makes the calls before the others begin and after they have stopped. The calls of the
// store below it, and below a client that opens, go straight through: they wait for no scheduler.
type keeper struct {
	client  *client
	story   *story
	traffic *traffic

	mu      sync.Mutex
	kept    []*call       // which wait for their turn
	arrived chan struct{} // gets something when there is one more; nil while the keeper is not served
}

// serve lets the keeper make a call. What the goroutines below it ask of the store, the one
// that makes the call and those that clean up behind it, is done one by one, when all of them
// wait, in an order that no goroutine's pace decides.
func (kp *keeper) serve(do func()) {
	over := make(chan struct{})
	kp.mu.Lock()
	kp.arrived = make(chan struct{}, 1)
	kp.mu.Unlock()
	go func() { defer close(over); do() }()
	for {
		synctest.Wait()
		if k := kp.next(); k != nil {
			k.answer <- kp.keep(k)
			continue
		}
		select {
		case <-over:
			kp.mu.Lock()
			kp.arrived = nil
			kp.mu.Unlock()
			return
		case <-kp.arrived:
		}
	}
}

// call makes a call of the keeper.
func (kp *keeper) call(op Op, of *entry) (e *entry) {
	kp.serve(func() { e = kp.client.call(op, of) })
	return e
}

// again makes a call of the keeper, which must succeed.
func (kp *keeper) again(op Op) {
	if e := kp.call(op, nil); e.answer.err != nil {
		kp.story.fail("", "when all have stopped, %s fails: %v", op, e.answer.err)
	}
}

// next takes the call of the keeper that is done next, nil if none waits.
func (kp *keeper) next() *call {
	kp.mu.Lock()
	defer kp.mu.Unlock()
	if len(kp.kept) == 0 {
		return nil
	}
	k := kp.traffic.inOrder(kp.kept)[0]
	kp.kept = without(kp.kept, k)
	return k
}

// ask does a call of the keeper: in its turn while the keeper is served, and at once
// when it cleans up later, while nobody else does anything.
func (kp *keeper) ask(ctx context.Context, k *call) error {
	if ctx.Err() != nil {
		return fmt.Errorf("simulate: %w: %w", driver.ErrTimeout, ctx.Err())
	}
	kp.mu.Lock()
	arrived := kp.arrived
	if arrived != nil {
		kp.kept = append(kp.kept, k)
	}
	kp.mu.Unlock()
	if arrived == nil {
		return kp.keep(k)
	}
	select {
	case arrived <- struct{}{}:
	default:
	}
	return <-k.answer
}

// keep does a call of the keeper.
func (kp *keeper) keep(k *call) error {
	if kp.story.tell && k.verb == "commit" {
		kp.story.note("keeper: " + kp.story.words(k))
	}
	return kp.traffic.exec(k)
}
