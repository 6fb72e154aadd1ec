package store

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/failure"
)

// A Call is one operation under way: what it is called in errors and events,
// and what it has cost so far.
type Call struct {
	Op       string
	Began    time.Time
	depth    int
	requests int
	Rows     int
	tally    *driver.Tally // of an operation that is observed, if the store tells what it sends

	named  bool  // the store wants to know op
	Within bool  // it has passed the collection's gate
	Way    *Way  // of an upkeep that goes on where another one ended
	Now    int64 // the time that rows are judged by, before the store was asked for them
}

// Begin begins an operation: what it sends is counted from here on.
func (s *Handle) Begin(op string) Call {
	c := Call{Op: op, named: s.Facts.Operations}
	if s.Opts.Observed {
		c.Began = time.Now()
		if s.Facts.Tallies {
			c.tally = new(driver.Tally)
		}
	}
	return c
}

// Asks returns the context of a call of the store, which counts what it sends. Where the
// store does not tell, the call itself counts, as one trip of some requests.
func (k *Call) Asks(ctx context.Context, requests int) context.Context {
	ctx = k.tells(ctx)
	if k.tally != nil {
		return driver.WithTally(ctx, k.tally)
	}
	k.depth, k.requests = k.depth+1, k.requests+requests
	return ctx
}

// tells returns the context of a call of a store that wants to know the operation.
func (k *Call) tells(ctx context.Context) context.Context {
	if k.named {
		return driver.WithOperation(ctx, k.Op)
	}
	return ctx
}

// Walks is asks for a walk, of which got counts the chunks.
func (k *Call) Walks(ctx context.Context) context.Context {
	ctx = k.tells(ctx)
	if k.tally != nil {
		return driver.WithTally(ctx, k.tally)
	}
	return ctx
}

// Got counts a chunk of a walk with its rows.
func (k *Call) Got(rows int) {
	k.Rows += rows
	if k.tally == nil {
		k.depth, k.requests = k.depth+1, k.requests+1
	}
}

// AtOnce calls do n times at the same time, each with a call of its own, and adds what
// these cost.
func (k *Call) AtOnce(n int, do func(i int, k *Call)) {
	calls := make([]Call, n)
	var tallies []driver.Tally
	if k.tally != nil {
		tallies = make([]driver.Tally, n)
	}
	var all sync.WaitGroup
	for i := range calls {
		calls[i].Op, calls[i].named, calls[i].Now, calls[i].Within = k.Op, k.named, k.Now, k.Within
		if tallies != nil {
			calls[i].tally = &tallies[i]
		}
		all.Go(func() { do(i, &calls[i]) })
	}
	all.Wait()
	depth := 0
	for i := range calls {
		k.requests, k.Rows, depth = k.requests+calls[i].requests, k.Rows+calls[i].Rows, max(depth, calls[i].depth)
	}
	k.depth += depth
	k.tally.Beside(tallies)
}

// Sent returns the round trips and requests of the operation so far.
func (k *Call) Sent() (depth, requests int) {
	if k.tally != nil {
		return k.tally.Count()
	}
	return k.depth, k.requests
}

// Get reads rows by key, such that k can judge whether they have expired.
func (s *Handle) Get(ctx context.Context, k *Call, t *driver.Table, keys []driver.Key, mask []int, rows []driver.Row) error {
	if ctx == nil {
		return failure.ErrNoContext
	}
	k.Tick(s)
	if err := s.read(ctx, k, t, keys, mask, rows); err != nil {
		return err
	}
	return s.settle(ctx, k, t, keys, mask, rows)
}

// read reads rows by key and counts what that costs.
func (s *Handle) read(ctx context.Context, k *Call, t *driver.Table, keys []driver.Key, mask []int, rows []driver.Row) error {
	k.Rows += len(keys)
	if err := s.Driver.Get(k.Asks(ctx, len(keys)), t, keys, mask, rows); err != nil {
		return err
	}
	for i := range rows {
		if err := CheckWidth(&rows[i], t, mask); err != nil {
			return err
		}
	}
	return nil
}

// CheckWidth sees that a row that a store returned has no more fields than were
// asked for.
func CheckWidth(row *driver.Row, t *driver.Table, mask []int) error {
	most := len(t.Fields)
	if mask != nil {
		most = len(mask)
	}
	if len(row.Fields) > most {
		return fmt.Errorf("the store returned %d fields of a row of %s, %d were asked for: %w", len(row.Fields), t.Name, most, driver.ErrInternal)
	}
	return nil
}

// Commit is Commit of the driver, as a part of a call.
func (s *Handle) Commit(ctx context.Context, k *Call, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
	k.Tick(s)
	return s.Driver.Commit(k.Asks(ctx, 1), token, ops)
}
