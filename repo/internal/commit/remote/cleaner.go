package remote

import (
	"context"
	"sync"
	"time"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/store"
)

// mostDrops is how many rows wait to be dropped at most: those of a minute with a
// thousand moves a second. What is over it stays as garbage, which no reader returns,
// until Maintain finds it.
const mostDrops = 1 << 16

// farewell is how long a cleaner that was closed goes on with what is due: where the
// store is silent each drop takes some seconds, and there may be thousands.
const farewell = 5 * time.Second

// A Cleaner drops remote rows and claims that nobody needs, each once, when they are
// due. Nobody waits for it.
type Cleaner struct {
	store *store.Handle

	mu      sync.Mutex
	soon    []drop // at once
	late    []drop // by time due
	running bool
	closed  bool
	until   time.Time // then: when it begins no further drop
	wake    chan struct{}
	done    sync.WaitGroup
}

type drop struct {
	op  driver.Op
	due time.Time
}

// Start makes the cleaner one that drops from a store.
func (c *Cleaner) Start(store *store.Handle) { c.store, c.wake = store, make(chan struct{}, 1) }

// add leaves an op to the cleaner, to be done at once or when a scan that is under way
// now must have ended.
func (c *Cleaner) add(op driver.Op, later bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed || len(c.soon)+len(c.late) >= mostDrops:
		return
	case later:
		c.late = append(c.late, drop{op, time.Now().Add(RowDelay)})
	default:
		c.soon = append(c.soon, drop{op: op})
	}
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
func (c *Cleaner) run() {
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
func (c *Cleaner) next() (d drop, wait time.Duration, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	over := c.closed && time.Now().After(c.until)
	if len(c.soon) > 0 && !over {
		d, c.soon = c.soon[0], c.soon[1:]
		return d, 0, true
	}
	if len(c.late) > 0 && !over {
		if wait = time.Until(c.late[0].due); wait <= 0 {
			d, c.late = c.late[0], c.late[1:]
			return d, 0, true
		}
	}
	if len(c.late) == 0 || c.closed {
		c.running = false
		return drop{}, 0, false
	}
	return drop{}, wait, true
}

// drop does what it can: what fails is left for Maintain.
func (c *Cleaner) drop(d drop) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	_, _ = c.store.Driver.Commit(ctx, driver.NewToken(), []driver.Op{d.op})
}

// Close drops what is due, for some seconds, and leaves the rest.
func (c *Cleaner) Close() {
	c.mu.Lock()
	c.closed, c.until = true, time.Now().Add(farewell)
	select {
	case c.wake <- struct{}{}:
	default:
	}
	c.mu.Unlock()
	c.done.Wait()
}
