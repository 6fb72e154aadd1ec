package double

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/polystore/polystore/repo/driver"
)

// A Filtered store leaves some ops of commits out, so that indexes and records
// come apart.
type Filtered struct {
	driver.Store
	Keep func(op *driver.Op) bool
}

// Commit does the ops that Keep keeps.
func (f *Filtered) Commit(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
	var kept []driver.Op
	for i := range ops {
		if f.Keep(&ops[i]) {
			kept = append(kept, ops[i])
		}
	}
	return f.Store.Commit(ctx, token, kept)
}

// A Jittery store waits a little before some calls, so that those of several
// goroutines mix in more ways.
type Jittery struct{ driver.Store }

func (Jittery) wait() {
	if rand.N(3) > 0 {
		time.Sleep(rand.N(150 * time.Microsecond))
	}
}

// Get waits, and reads.
func (j Jittery) Get(ctx context.Context, t *driver.Table, keys []driver.Key, mask []int, rows []driver.Row) error {
	j.wait()
	return j.Store.Get(ctx, t, keys, mask, rows)
}

// Commit waits, and commits.
func (j Jittery) Commit(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
	j.wait()
	return j.Store.Commit(ctx, token, ops)
}

// A Lossy store is the store under test behind a connection that loses answers.
// It is one whose outcomes can be unknown, so that records keep their tokens.
type Lossy struct {
	driver.Store

	Mu    sync.Mutex
	Plans []LossPlan // for the next commits, in order
	held  []heldCommit
	hook  func() // called when an answer is lost
}

// A LossPlan says what becomes of one commit whose answer is lost.
type LossPlan uint8

// The plans.
const (
	DoneThenLost LossPlan = iota // it was done
	LostOnTheWay                 // it was never done
	DoneLater                    // it is done when release is called
	NotLost                      // it was not lost
)

type heldCommit struct {
	token driver.Token
	ops   []driver.Op
}

var errAnswerLost = fmt.Errorf("the answer was lost: %w", driver.ErrUnknownOutcome)

// Facts says that outcomes can be unknown.
func (l *Lossy) Facts() driver.Facts {
	f := l.Store.Facts()
	f.Uncertain = true
	return f
}

// Lose makes the answers of the next commits be lost.
func (l *Lossy) Lose(plans ...LossPlan) {
	l.Mu.Lock()
	defer l.Mu.Unlock()
	l.Plans = append(l.Plans, plans...)
}

// OnLoss makes hook be called when an answer is lost.
func (l *Lossy) OnLoss(hook func()) {
	l.Mu.Lock()
	defer l.Mu.Unlock()
	l.hook = hook
}

// Commit commits as the next plan says.
func (l *Lossy) Commit(ctx context.Context, token driver.Token, ops []driver.Op) (refusal *driver.Refusal, err error) {
	l.Mu.Lock()
	plan := NotLost
	if len(l.Plans) > 0 && ops[0].Table.Class == driver.Records { // not what is put before a commit, or dropped after it
		plan, l.Plans = l.Plans[0], l.Plans[1:]
	}
	if plan == NotLost {
		l.Mu.Unlock()
		return l.Store.Commit(ctx, token, ops)
	}
	if plan == DoneLater {
		l.held = append(l.held, heldCommit{token, CopyOps(ops)})
	}
	hook := l.hook
	l.Mu.Unlock()
	defer func() {
		if hook != nil {
			hook()
			err = errors.Join(err, ctx.Err())
		}
	}()
	if plan == DoneThenLost {
		if _, err := l.Store.Commit(ctx, token, ops); err != nil {
			return nil, errors.Join(errAnswerLost, err)
		}
	}
	return nil, errAnswerLost
}

// Release does the commits that were held back, and returns how many of them
// were done.
func (l *Lossy) Release(ctx context.Context) (done int, err error) {
	l.Mu.Lock()
	held := l.held
	l.held = nil
	l.Mu.Unlock()
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

// CopyOps returns ops with slices of their own, which a store may keep.
func CopyOps(ops []driver.Op) []driver.Op {
	list := make([]driver.Op, len(ops))
	for i, op := range ops {
		op.Row = CopyRow(&op.Row)
		op.Edits = append([]driver.Edit(nil), op.Edits...)
		list[i] = op
	}
	return list
}

// CopyRow returns r with slices of its own.
func CopyRow(r *driver.Row) driver.Row {
	c := *r
	c.Fields, c.Extra, c.Ring = slices.Clone(r.Fields), slices.Clone(r.Extra), slices.Clone(r.Ring)
	return c
}
