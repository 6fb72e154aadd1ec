package mongo

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	mongobson "go.mongodb.org/mongo-driver/v2/bson"
	mongodriver "go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/driver/frame"
)

// lockTime is how long the server keeps a transaction of which it hears nothing, and
// with it the locks on its rows, if it was not told otherwise.
const lockTime = time.Minute

// mostUndone is how many transactions wait to be undone at most: the server forgets the
// others by itself.
const mostUndone = 1000

// lateTime is how much later the server is told once more: a statement that was given up
// under way can come after what undoes its transaction, and begins it then.
const lateTime = time.Second

// An undoer keeps the transactions that the server could not be told to undo, because
// the network was gone, until it answers again, and those that it is to be told of once
// more. Nothing runs meanwhile.
type undoer struct {
	client  *mongodriver.Client
	chores  sync.WaitGroup // what a call left behind to be put in order
	waiting atomic.Int64

	mu   sync.Mutex
	list []undone
}

type undone struct {
	session *mongodriver.Session
	since   time.Time
	told    time.Time // when the server was told for the first time
}

// due reports whether the server can be told of u.
func (u *undone) due() bool { return u.told.IsZero() || time.Since(u.told) >= lateTime }

func (u *undoer) add(list ...undone) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, one := range list {
		if len(u.list) < mostUndone && time.Since(one.since) < lockTime {
			u.list = append(u.list, one)
		}
	}
	u.waiting.Store(int64(len(u.list)))
}

// take returns the transactions that are due, or all.
func (u *undoer) take(all bool) []undone {
	u.mu.Lock()
	defer u.mu.Unlock()
	var list, rest []undone
	for _, one := range u.list {
		if all || one.due() {
			list = append(list, one)
		} else {
			rest = append(rest, one)
		}
	}
	u.list = rest
	u.waiting.Store(int64(len(rest)))
	return list
}

// abandon undoes a transaction that will not be committed, because of err if that is
// not nil. Its rows are locked until then.
func (u *undoer) abandon(ctx context.Context, session *mongodriver.Session, err error) {
	lost := err != nil && codeOf(err) == 0 && !errors.Is(err, frame.ErrBeaten) &&
		!is[*taken](err) && !errors.Is(err, errThere) && !errors.Is(err, driver.ErrTooLarge)
	switch {
	case lost:
		u.giveUp(session)
	case frame.Over(ctx) == nil:
		session.EndSession(ctx)
	default:
		u.afterwards(session.EndSession)
	}
}

// giveUp tells the server to undo a transaction, if it did not commit it, now or when it
// answers again.
func (u *undoer) giveUp(session *mongodriver.Session) {
	u.undo([]undone{{session: session, since: time.Now()}})
}

// undo sends one command for all transactions of a list.
func (u *undoer) undo(list []undone) {
	u.afterwards(func(ctx context.Context) {
		var ids mongobson.A
		for _, one := range list {
			ids = append(ids, one.session.ID())
		}
		err := u.client.Database("admin").RunCommand(ctx, mongobson.D{{Key: "killSessions", Value: ids}}).Err()
		if err != nil && codeOf(err) == 0 {
			u.add(list...)
			return
		}
		for _, one := range list {
			if one.told.IsZero() {
				one.told = time.Now()
				u.add(one)
			} else {
				one.session.EndSession(ctx)
			}
		}
	})
}

// choreTime is how long something may take that no call waits for.
const choreTime = 2 * time.Second

// afterwards does something that the call need not wait for, and Close does.
func (u *undoer) afterwards(do func(ctx context.Context)) {
	u.chores.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), choreTime)
		defer cancel()
		do(ctx)
	})
}

// undoWaiting undoes what could not be undone before, now that the server answers.
func (u *undoer) undoWaiting() {
	if u.waiting.Load() == 0 {
		return
	}
	if list := u.take(false); len(list) > 0 {
		u.undo(list)
	}
}

// undoLast undoes what is still waiting when the store is closed.
func (u *undoer) undoLast() {
	u.chores.Wait()
	list := u.take(true)
	if len(list) == 0 {
		return
	}
	for i := range list {
		if !list[i].due() {
			time.Sleep(time.Until(list[i].told.Add(lateTime)))
		}
	}
	u.undo(list)
	u.chores.Wait()
}
