package conformance

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/polystore/polystore/repo/driver"
)

// A filtered store leaves some ops of commits out, so that indexes and records
// come apart.
type filtered struct {
	driver.Store
	keep func(op *driver.Op) bool
}

func (f *filtered) Commit(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
	var kept []driver.Op
	for i := range ops {
		if f.keep(&ops[i]) {
			kept = append(kept, ops[i])
		}
	}
	return f.Store.Commit(ctx, token, kept)
}

// A jittery store waits a little before some calls, so that those of several
// goroutines mix in more ways.
type jittery struct{ driver.Store }

func (jittery) wait() {
	if rand.N(3) > 0 {
		time.Sleep(rand.N(150 * time.Microsecond))
	}
}

func (j jittery) Get(ctx context.Context, t *driver.Table, keys []driver.Key, mask []int, rows []driver.Row) error {
	j.wait()
	return j.Store.Get(ctx, t, keys, mask, rows)
}

func (j jittery) Commit(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
	j.wait()
	return j.Store.Commit(ctx, token, ops)
}

// A lossy store is the store under test behind a connection that loses answers.
// It is one whose outcomes can be unknown, so that records keep their tokens.
type lossy struct {
	driver.Store

	mu    sync.Mutex
	plans []lossPlan // for the next commits, in order
	held  []heldCommit
	hook  func() // called when an answer is lost
}

// A lossPlan says what becomes of one commit whose answer is lost.
type lossPlan uint8

const (
	doneThenLost lossPlan = iota // it was done
	lostOnTheWay                 // it was never done
	doneLater                    // it is done when release is called
	notLost                      // it was not lost
)

type heldCommit struct {
	token driver.Token
	ops   []driver.Op
}

var errAnswerLost = fmt.Errorf("the answer was lost: %w", driver.ErrUnknownOutcome)

func (l *lossy) Facts() driver.Facts {
	f := l.Store.Facts()
	f.Uncertain = true
	return f
}

// lose makes the answers of the next commits be lost.
func (l *lossy) lose(plans ...lossPlan) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.plans = append(l.plans, plans...)
}

// onLoss makes hook be called when an answer is lost.
func (l *lossy) onLoss(hook func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hook = hook
}

func (l *lossy) Commit(ctx context.Context, token driver.Token, ops []driver.Op) (refusal *driver.Refusal, err error) {
	l.mu.Lock()
	plan := notLost
	if len(l.plans) > 0 && ops[0].Table.Class == driver.Records { // not what is put before a commit, or dropped after it
		plan, l.plans = l.plans[0], l.plans[1:]
	}
	if plan == notLost {
		l.mu.Unlock()
		return l.Store.Commit(ctx, token, ops)
	}
	if plan == doneLater {
		l.held = append(l.held, heldCommit{token, copyOps(ops)})
	}
	hook := l.hook
	l.mu.Unlock()
	defer func() {
		if hook != nil {
			hook()
			err = errors.Join(err, ctx.Err())
		}
	}()
	if plan == doneThenLost {
		if _, err := l.Store.Commit(ctx, token, ops); err != nil {
			return nil, errors.Join(errAnswerLost, err)
		}
	}
	return nil, errAnswerLost
}

// release does the commits that were held back, and returns how many of them
// were done.
func (l *lossy) release(ctx context.Context) (done int, err error) {
	l.mu.Lock()
	held := l.held
	l.held = nil
	l.mu.Unlock()
	for _, h := range held {
		refusal, err := l.Store.Commit(ctx, h.token, h.ops)
		if err != nil {
			return done, err
		}
		if refusal == nil {
			done++
		}
	}
	return done, nil
}

// copyOps returns ops with slices of their own, which a store may keep.
func copyOps(ops []driver.Op) []driver.Op {
	list := make([]driver.Op, len(ops))
	for i, op := range ops {
		op.Row = copyRow(&op.Row)
		op.Edits = append([]driver.Edit(nil), op.Edits...)
		list[i] = op
	}
	return list
}
