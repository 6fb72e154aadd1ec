package store

import (
	"context"
	"errors"
	"time"

	"github.com/polystore/polystore/repo/driver"
)

// A Tracer is told of operations and requests: what package repo makes of its own. No function of
// it panics, and each may be nil and may return a nil function.
type Tracer struct {
	Begin   func(ctx context.Context, op, collection string) (context.Context, func(Cost, error))
	Request func(ctx context.Context, op, collection string, commands int) func(depth, requests int, err error)
}

// A Cost is what an operation has done when it ends.
type Cost struct {
	Index              string // that answered its query
	Batch              int    // keys or writes that its caller gave
	Depth, Requests    int
	Conflicts, Retries int
	Rows, Records      int
	Took               time.Duration
}

// A trace is an operation of which somebody is told.
type trace struct {
	Cost
	began           time.Time
	tally           *driver.Tally // nil if the store does not tell what it sends
	depth, requests int           // which are counted here then
	end             func(Cost, error)
}

// ErrPanicked is how an operation ended from which a panic of its caller's function or loop came.
var ErrPanicked = errors.New("a function or loop of the caller panicked")

func (s *Handle) beginTrace(ctx context.Context, op, collection string) (context.Context, *trace) {
	t := &trace{began: time.Now()}
	if begin := s.Opts.Tracer.Begin; begin != nil {
		ctx, t.end = begin(ctx, op, collection)
	}
	request := s.Opts.Tracer.Request
	if t.end == nil && request == nil {
		return ctx, nil
	}
	if s.Facts.Tallies {
		t.tally = new(driver.Tally)
	}
	if t.tally != nil && request != nil {
		t.tally.Tell = func(ctx context.Context, commands int) func(depth, requests int, err error) {
			return request(ctx, op, collection, commands)
		}
	}
	return ctx, t
}

// End ends the operation, once, and returns err.
func (k *Call) End(err error) error {
	t := k.trace
	if k.trace = nil; t == nil || t.end == nil {
		return err
	}
	t.Depth, t.Requests = t.depth, t.requests
	if t.tally != nil {
		beaten := 0
		t.Depth, t.Requests, beaten = t.tally.Count()
		t.Conflicts, t.Retries = t.Conflicts+beaten, t.Retries+beaten
	}
	t.Took = time.Since(t.began)
	t.end(t.Cost, err)
	return err
}

// Leave is to be deferred: it ends an operation that a panic ends.
func (k *Call) Leave() {
	if k.trace != nil {
		_ = k.End(ErrPanicked)
	}
}

// Got counts a chunk of a walk with its rows.
func (k *Call) Got(rows int) {
	if k.trace != nil && k.trace.tally == nil {
		k.trace.depth, k.trace.requests = k.trace.depth+1, k.trace.requests+1
	}
	k.Read(rows)
}

// Read counts rows that the store returned.
func (k *Call) Read(rows int) {
	if k.trace != nil {
		k.trace.Rows += rows
	}
}

// Return counts records that the caller gets.
func (k *Call) Return(records int) {
	if k.trace != nil {
		k.trace.Records += records
	}
}

// Takes says how many keys or writes the caller gave.
func (k *Call) Takes(batch int) {
	if k.trace != nil {
		k.trace.Batch = batch
	}
}

// Uses says which index answers the query.
func (k *Call) Uses(index string) {
	if k.trace != nil {
		k.trace.Index = index
	}
}

// Conflict counts a commit that the store refused.
func (k *Call) Conflict() {
	if k.trace != nil {
		k.trace.Conflicts++
	}
}

// Retry counts another attempt after a conflict.
func (k *Call) Retry() {
	if k.trace != nil {
		k.trace.Retries++
	}
}

// split returns traces for n calls at the same time, which nobody ends.
func (t *trace) split(n int) ([]trace, []driver.Tally) {
	if t == nil {
		return nil, nil
	}
	traces, tallies := make([]trace, n), t.tally.Split(n)
	for i := range tallies {
		traces[i].tally = &tallies[i]
	}
	return traces, tallies
}

// join adds what traces of split have.
func (t *trace) join(traces []trace, tallies []driver.Tally) {
	if t == nil {
		return
	}
	depth := 0
	for i := range traces {
		o := &traces[i]
		t.Rows, t.Records = t.Rows+o.Rows, t.Records+o.Records
		t.Conflicts, t.Retries = t.Conflicts+o.Conflicts, t.Retries+o.Retries
		t.requests, depth = t.requests+o.requests, max(depth, o.depth)
	}
	t.depth += depth
	t.tally.Join(tallies)
}
