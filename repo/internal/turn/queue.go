package turn

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/polystore/polystore/repo/driver"
)

// Queues let writers of one program that want the same record go one after the other, once
// one of them was refused because another was faster. If all went at once, each commit would
// refuse all others, and what they do together would grow with the square of their number.
//
// That is a courtesy and no lock: writers of other programs know nothing of it, and one whose
// turn does not come goes ahead, and waits anew if it is refused again: those who have their
// turns would be faster each time. So a function that is given to Update may itself write.
type Queues struct {
	some atomic.Int32 // the length of of
	mu   sync.Mutex
	of   map[driver.Key]*queue
}

// A queue is for one record, as long as somebody is in it.
type queue struct {
	turn  chan struct{}
	moves atomic.Int64 // turns that have ended, and commits that came to their end without one
	users int
}

// longestTurn is how long a turn may last before those who wait for it go ahead, counted from
// the last move: a store may let the one who has the turn wait for all that were sent before.
const longestTurn = time.Second

// Has reports whether there is a queue for a record: others wait for it, and a write of it should, too.
func (q *Queues) Has(key driver.Key) bool {
	if q.some.Load() == 0 {
		return false
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.of[key] != nil
}

// wait waits until it has the turn, and reports whether it has; or until a turn is too long.
func (q *queue) wait(ctx context.Context) (has bool, err error) {
	t := time.NewTicker(longestTurn)
	defer t.Stop()
	for seen := q.moves.Load(); ; {
		select {
		case q.turn <- struct{}{}:
			return true, nil
		case <-ctx.Done():
			return false, fmt.Errorf("%w: %w", driver.ErrTimeout, ctx.Err())
		case <-t.C:
			now := q.moves.Load()
			if now == seen {
				return false, nil
			}
			seen = now
		}
	}
}

func (q *Queues) enter(key driver.Key) *queue {
	q.mu.Lock()
	defer q.mu.Unlock()
	one := q.of[key]
	if one == nil {
		one = &queue{turn: make(chan struct{}, 1)}
		if q.of == nil {
			q.of = map[driver.Key]*queue{}
		}
		q.of[key] = one
		q.some.Add(1)
	}
	one.users++
	return one
}

func (q *Queues) leave(key driver.Key, one *queue) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if one.users--; one.users == 0 {
		delete(q.of, key)
		q.some.Add(-1)
	}
}

// A Turn is that of a write, or of a group of them, at one record, from when it waited for it.
type Turn struct {
	Queues *Queues // those in which it may Hold
	key    driver.Key
	queue  *queue // nil before it waited
	has    bool   // the turn is its own
}

// Wait waits for the turn at a record, unless it has it, and reports whether others had theirs meanwhile.
// It gives up the turn at another record. Refused says that a commit has been sent already.
func (t *Turn) Wait(ctx context.Context, queues *Queues, key driver.Key, refused bool) (waited bool, err error) {
	if t.queue != nil && (t.Queues != queues || t.key != key) {
		t.End()
	}
	if t.has {
		return false, nil
	}
	t.join(queues, key)
	if refused {
		t.queue.moves.Add(1)
	}
	if t.take() {
		return false, nil
	}
	t.has, err = t.queue.wait(ctx)
	return true, err
}

// Hold lets the others of this program wait until the outcome of a write that was sent is
// settled: four that come meanwhile would push its token out of the ring, and nobody knew. It
// waits for nobody itself.
func (t *Turn) Hold(key driver.Key) {
	if t.Queues != nil && !t.has {
		t.join(t.Queues, key)
		t.take()
	}
}

func (t *Turn) join(queues *Queues, key driver.Key) {
	if t.queue == nil {
		t.Queues, t.key, t.queue = queues, key, queues.enter(key)
	}
}

// take takes the turn if nobody has it.
func (t *Turn) take() bool {
	select {
	case t.queue.turn <- struct{}{}:
		t.has = true
	default:
	}
	return t.has
}

// End lets the next writer have its turn.
func (t *Turn) End() {
	if t.has {
		t.queue.moves.Add(1)
		<-t.queue.turn
	}
	if t.queue != nil {
		t.Queues.leave(t.key, t.queue)
	}
	*t = Turn{}
}
