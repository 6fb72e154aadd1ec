package pebble

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	pebbledb "github.com/cockroachdb/pebble/v2"

	"github.com/polystore/polystore/repo/driver"
)

// maxCommit is the size of the largest commit, far below what Pebble can take.
const maxCommit = 1 << 30

// A commit is the work space of one.
type commit struct {
	changes []change
	keys    []byte   // of all changes
	order   []uint64 // number of the stripe, then index of the change, ascending
	old     []byte   // the row that is there
	row     driver.Row
	reader  reader
	ring    []byte
	value   []byte
}

// A change is one op of a commit.
type change struct {
	view     *view
	from, to int // of its key in commit.keys
	hash     uint64
}

var commits = sync.Pool{New: func() any { return new(commit) }}

const keepBuffer = 64 << 10 // larger buffers are not kept for the next commit

func (c *commit) free() {
	if cap(c.old) > keepBuffer {
		c.old = nil
	}
	if cap(c.value) > keepBuffer {
		c.value = nil
	}
	if cap(c.keys) > keepBuffer {
		c.keys, c.changes, c.order = nil, nil, nil
	}
	commits.Put(c)
}

// Commit does all ops or none.
func (s *store) Commit(ctx context.Context, token driver.Token, ops []driver.Op, views []*view) (*driver.Refusal, error) {
	c := commits.Get().(*commit)
	defer c.free()
	c.plan(s, ops, views)
	if err := s.writable(ctx); err != nil {
		return nil, err
	}
	b := s.db.NewBatch()
	refusal, err := c.decide(s, b, token, ops)
	if err != nil || refusal != nil || b.Empty() {
		b.Close()
		return refusal, err
	}
	return nil, s.settle(ctx, "commit", b, s.sync)
}

// plan makes keys and finds the stripes to lock.
func (c *commit) plan(s *store, ops []driver.Op, views []*view) {
	c.changes, c.keys, c.order = c.changes[:0], c.keys[:0], c.order[:0]
	for i := range ops {
		op, v, from := &ops[i], views[i], len(c.keys)
		c.keys = appendKey(c.keys, v.prefix, op.Row.Key.Partition, op.Row.Key.Sort)
		hash := s.locks.hash(c.keys[from:])
		c.changes = append(c.changes, change{view: v, from: from, to: len(c.keys), hash: hash})
		c.order = append(c.order, hash%stripes<<32|uint64(i))
	}
	slices.Sort(c.order)
}

func (c *commit) key(i uint32) []byte { return c.keys[c.changes[i].from:c.changes[i].to] }

// decide looks at the rows and, if all conditions hold, makes the changes
// visible, all while the rows are locked. The batch stays empty if there is
// nothing to wait for.
func (c *commit) decide(s *store, b *pebbledb.Batch, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
	c.lock(s)
	defer c.unlock(s)
	for i := range c.changes {
		if c.changes[i].view.dropped {
			return nil, who.Invalid("table %s was dropped", c.changes[i].view.name)
		}
	}
	refusal, err := c.doAll(s, b, token, ops)
	if refusal != nil || err != nil {
		return refusal, err
	}
	if b.Empty() { // what was looked at must be as durable as a change
		if s.unsynced.Load() == 0 {
			return nil, nil
		}
		b.LogData(nil, nil)
	}
	if err := s.room(b.Len()); err != nil {
		return nil, err
	}
	defer c.count(s) // also when it is not known whether they are visible
	return nil, s.submit(b, s.sync)
}

// doAll puts all changes into b, or none if the commit was done before.
func (c *commit) doAll(s *store, b *pebbledb.Batch, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
	if ops[0].Table.Ring > 0 {
		again, err := c.sentBefore(s, token)
		if again || err != nil {
			return nil, err
		}
	}
	for i := range ops {
		refusal, err := c.do(s, b, token, &ops[i], uint32(i))
		if refusal != nil {
			refusal.Op = i
		}
		if refusal != nil || err != nil {
			return refusal, err
		}
	}
	return nil, nil
}

// lock locks the stripes in one order for all commits, so that none waits for
// another in a circle.
func (c *commit) lock(s *store) {
	for i, o := range c.order {
		if i == 0 || o>>32 != c.order[i-1]>>32 {
			s.locks.all[o>>32].Lock()
		}
	}
}

func (c *commit) unlock(s *store) {
	for i, o := range c.order {
		if i == 0 || o>>32 != c.order[i-1]>>32 {
			s.locks.all[o>>32].Unlock()
		}
	}
}

// count tells readers that rows of the stripes have changed.
func (c *commit) count(s *store) {
	for _, o := range c.order {
		s.locks.all[o>>32].changes.Add(1)
	}
}

// sentBefore says whether the first row has the token in its ring.
func (c *commit) sentBefore(s *store, token driver.Token) (bool, error) {
	if _, err := c.load(s, 0); err != nil {
		return false, err
	}
	for ring := ringOf(c.old); len(ring) > 0; ring = ring[tokenSize:] {
		if driver.Token(ring[:tokenSize]) == token {
			return true, nil
		}
	}
	return false, nil
}

// submit makes b visible. Without an error the caller must settle it.
func (s *store) submit(b *pebbledb.Batch, durable bool) error {
	var err error
	if durable {
		s.unsynced.Add(1)
		err = s.db.ApplyNoSyncWait(b, pebbledb.Sync)
	} else {
		err = s.db.Apply(b, pebbledb.NoSync)
	}
	if err != nil { // Pebble refused it before it did anything
		if durable {
			s.unsynced.Add(-1)
		}
		return s.failed("write", err)
	}
	return nil
}

// settle waits until b is on disk, if durable, and lets go of it.
func (s *store) settle(ctx context.Context, verb string, b *pebbledb.Batch, durable bool) error {
	if err := s.disk.dead(); err != nil {
		return s.unknown(verb, err) // Pebble may have lost b, and never answer
	}
	if durable {
		if err := s.syncWait(ctx, b); err != nil {
			return s.unknown(verb, err)
		}
	}
	if err := s.disk.dead(); err != nil { // b came too late to be written
		return s.unknown(verb, err)
	}
	return b.Close()
}

func (s *store) unknown(verb string, err error) error {
	return fmt.Errorf("pebble: %s: directory %s: %w: %w", verb, s.dir, driver.ErrUnknownOutcome, err)
}

// syncWait waits until b is on disk or ctx ends.
func (s *store) syncWait(ctx context.Context, b *pebbledb.Batch) error {
	if ctx.Done() == nil {
		defer s.unsynced.Add(-1)
		return b.SyncWait()
	}
	w := waiters.Get().(*waiter)
	w.batch, w.unsynced = b, &s.unsynced
	go w.wait()
	select {
	case err := <-w.done:
		w.batch, w.unsynced = nil, nil
		waiters.Put(w)
		return err
	case <-ctx.Done(): // w and b are left to the collector
		return ctx.Err()
	}
}

// A waiter waits for the disk in place of a commit whose context can end.
type waiter struct {
	batch    *pebbledb.Batch
	unsynced *atomic.Int64
	done     chan error // of 1
}

var waiters = sync.Pool{New: func() any { return &waiter{done: make(chan error, 1)} }}

func (w *waiter) wait() {
	err := w.batch.SyncWait()
	w.unsynced.Add(-1)
	w.done <- err
}
