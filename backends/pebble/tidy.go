package pebble

import (
	"context"
	"sync"
	"time"

	pebbledb "github.com/cockroachdb/pebble/v2"
)

// A read that passes what was deleted costs as much as if that were there, until Pebble compacts
// it away in the course of other writes. So who has passed much has it compacted.
const (
	tidyFrom = 2000 // steps over what is no row, from which it is worth while
	tidyLess = 4    // and so many for each row: a span that is full of rows is left alone
	tidyPart = 10   // of the time, one part at most goes to compactions
)

// tidying compacts spans, one at a time, in the background.
type tidying struct {
	mu     sync.Mutex
	busy   bool
	rested time.Time // when the next may begin
	ctx    context.Context
	cancel context.CancelFunc
	done   sync.WaitGroup
}

func (t *tidying) init() { t.ctx, t.cancel = context.WithCancel(context.Background()) }

// begin reports whether a compaction may begin. If so, its goroutine must end.
func (t *tidying) begin() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.busy || t.ctx.Err() != nil || time.Now().Before(t.rested) {
		return false
	}
	t.busy = true
	t.done.Add(1)
	return true
}

func (t *tidying) end(took time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.busy, t.rested = false, time.Now().Add((tidyPart-1)*took)
	t.done.Done()
}

// close ends what is under way, and lets nothing begin.
func (t *tidying) close() {
	t.mu.Lock()
	t.cancel()
	t.mu.Unlock()
	t.done.Wait()
}

// tidy has the span compacted that a scan has read, if it held hardly more than what was
// deleted. The scan is to end. What cannot be done now is left to the next that passes.
func (s *store) tidy(c *scan, reverse bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.it == nil {
		return
	}
	passed := passedBy(c.it) - c.rows - c.dead
	if passed < tidyFrom || passed < tidyLess*(c.rows+c.dead) {
		return
	}
	low, high := string(c.low), string(c.high)
	if c.it.Valid() && reverse {
		low = string(c.it.Key())
	} else if c.it.Valid() {
		high = string(c.it.Key())
	}
	if low >= high || s.disk.dead() != nil || s.room(0) != nil || !s.tidying.begin() {
		return
	}
	go func() {
		began := time.Now()
		_ = s.db.Compact(s.tidying.ctx, []byte(low), []byte(high), false) // a disk that fails is seen by who writes
		s.tidying.end(time.Since(began))
	}()
}

// passedBy returns how many entries an iterator has passed, those among them that are no rows.
func passedBy(it *pebbledb.Iterator) int {
	stats := it.Stats()
	return stats.ForwardStepCount[pebbledb.InternalIterCall] + stats.ReverseStepCount[pebbledb.InternalIterCall]
}
