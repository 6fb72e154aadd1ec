package repo

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/polystore/polystore/repo/driver"
)

// A call is one operation under way: what it is called in errors and events,
// and what it has cost so far.
type call struct {
	op       string
	began    time.Time
	depth    int
	requests int
	rows     int
	tally    *driver.Tally // of an operation that is observed, if the store tells what it sends

	named  bool  // the store wants to know op
	within bool  // it has passed the collection's gate
	way    *way  // of an upkeep that goes on where another one ended
	now    int64 // the time that rows are judged by, before the store was asked for them
}

func (s *handle) begin(op string) call {
	c := call{op: op, named: s.facts.Operations}
	if s.opts.Observed {
		c.began = time.Now()
		if s.facts.Tallies {
			c.tally = new(driver.Tally)
		}
	}
	return c
}

// asks returns the context of a call of the store, which counts what it sends. Where the
// store does not tell, the call itself counts, as one trip of some requests.
func (k *call) asks(ctx context.Context, requests int) context.Context {
	ctx = k.tells(ctx)
	if k.tally != nil {
		return driver.WithTally(ctx, k.tally)
	}
	k.depth, k.requests = k.depth+1, k.requests+requests
	return ctx
}

// tells returns the context of a call of a store that wants to know the operation.
func (k *call) tells(ctx context.Context) context.Context {
	if k.named {
		return driver.WithOperation(ctx, k.op)
	}
	return ctx
}

// walks is asks for a walk, of which got counts the chunks.
func (k *call) walks(ctx context.Context) context.Context {
	ctx = k.tells(ctx)
	if k.tally != nil {
		return driver.WithTally(ctx, k.tally)
	}
	return ctx
}

// got counts a chunk of a walk with its rows.
func (k *call) got(rows int) {
	k.rows += rows
	if k.tally == nil {
		k.depth, k.requests = k.depth+1, k.requests+1
	}
}

// atOnce calls do n times at the same time, each with a call of its own, and adds what
// these cost.
func (k *call) atOnce(n int, do func(i int, k *call)) {
	calls := make([]call, n)
	var tallies []driver.Tally
	if k.tally != nil {
		tallies = make([]driver.Tally, n)
	}
	var all sync.WaitGroup
	for i := range calls {
		calls[i].op, calls[i].named, calls[i].now, calls[i].within = k.op, k.named, k.now, k.within
		if tallies != nil {
			calls[i].tally = &tallies[i]
		}
		all.Go(func() { do(i, &calls[i]) })
	}
	all.Wait()
	depth := 0
	for i := range calls {
		k.requests, k.rows, depth = k.requests+calls[i].requests, k.rows+calls[i].rows, max(depth, calls[i].depth)
	}
	k.depth += depth
	k.tally.Beside(tallies)
}

// sent returns the round trips and requests of the operation so far.
func (k *call) sent() (depth, requests int) {
	if k.tally != nil {
		return k.tally.Count()
	}
	return k.depth, k.requests
}

// get reads rows by key, such that k can judge whether they have expired.
func (s *handle) get(ctx context.Context, k *call, t *driver.Table, keys []driver.Key, mask []int, rows []driver.Row) error {
	if ctx == nil {
		return errNoContext
	}
	k.tick(s)
	if err := s.read(ctx, k, t, keys, mask, rows); err != nil {
		return err
	}
	return s.settle(ctx, k, t, keys, mask, rows)
}

// read reads rows by key and counts what that costs.
func (s *handle) read(ctx context.Context, k *call, t *driver.Table, keys []driver.Key, mask []int, rows []driver.Row) error {
	k.rows += len(keys)
	if err := s.driver.Get(k.asks(ctx, len(keys)), t, keys, mask, rows); err != nil {
		return err
	}
	for i := range rows {
		if err := checkWidth(&rows[i], t, mask); err != nil {
			return err
		}
	}
	return nil
}

// checkWidth sees that a row that a store returned has no more fields than were
// asked for.
func checkWidth(row *driver.Row, t *driver.Table, mask []int) error {
	most := len(t.Fields)
	if mask != nil {
		most = len(mask)
	}
	if len(row.Fields) > most {
		return fmt.Errorf("the store returned %d fields of a row of %s, %d were asked for: %w", len(row.Fields), t.Name, most, driver.ErrInternal)
	}
	return nil
}

func (s *handle) commit(ctx context.Context, k *call, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
	k.tick(s)
	return s.driver.Commit(k.asks(ctx, 1), token, ops)
}
