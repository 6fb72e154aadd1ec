package repo

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/polystore/polystore/repo/driver"
)

// mostDrops is how many rows wait to be dropped at most. What is over it stays as
// garbage, which no reader returns, until Maintain finds it.
const mostDrops = 4096

// A cleaner drops loose rows and claims that nobody needs, each once, when they are
// due. Nobody waits for it.
type cleaner struct {
	store *Store

	mu      sync.Mutex
	waiting []drop // by time due
	running bool
	closed  bool
	wake    chan struct{}
	done    sync.WaitGroup
}

type drop struct {
	op  driver.Op
	due time.Time // zero is at once
}

func (c *cleaner) add(op driver.Op, due time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || len(c.waiting) >= mostDrops {
		return
	}
	at, _ := slices.BinarySearchFunc(c.waiting, due, func(d drop, t time.Time) int { return d.due.Compare(t) })
	for at < len(c.waiting) && c.waiting[at].due.Equal(due) {
		at++
	}
	c.waiting = slices.Insert(c.waiting, at, drop{op, due})
	if !c.running {
		c.running = true
		c.done.Go(c.run)
		return
	}
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// run drops what is due until nothing waits.
func (c *cleaner) run() {
	for {
		d, wait, ok := c.next()
		switch {
		case !ok:
			return
		case wait > 0:
			t := time.NewTimer(wait)
			select {
			case <-t.C:
			case <-c.wake:
			}
			t.Stop()
		default:
			c.drop(d)
		}
	}
}

// next takes the first drop that is due, or says how long none is.
func (c *cleaner) next() (d drop, wait time.Duration, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.waiting) > 0 {
		if wait = time.Until(c.waiting[0].due); c.waiting[0].due.IsZero() || wait <= 0 {
			d = c.waiting[0]
			c.waiting = slices.Delete(c.waiting, 0, 1)
			return d, 0, true
		}
	}
	if len(c.waiting) == 0 || c.closed {
		c.running = false
		return drop{}, 0, false
	}
	return drop{}, wait, true
}

// drop does what it can: what fails is left for Maintain.
func (c *cleaner) drop(d drop) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	_, _ = c.store.driver.Commit(ctx, driver.NewToken(), []driver.Op{d.op})
}

// close drops what is due and leaves the rest.
func (c *cleaner) close() {
	c.mu.Lock()
	c.closed = true
	select {
	case c.wake <- struct{}{}:
	default:
	}
	c.mu.Unlock()
	c.done.Wait()
}
