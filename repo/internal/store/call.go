package store

import (
	"context"
	"fmt"
	"runtime"
	"sync"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/failure"
)

// A Call is one operation under way: what it is called in errors and traces, and what somebody
// who traces it is to know.
type Call struct {
	Op    string
	trace *trace // nil if nobody is told

	named  bool  // the store wants to know op
	Within bool  // it has passed the collection's gate
	Way    *Way  // of an upkeep that goes on where another one ended
	Now    int64 // the time that rows are judged by, before the store was asked for them
}

// Begin begins an operation, on a collection or on several. The context is that of all it does.
func (s *Handle) Begin(ctx context.Context, op, collection string) (context.Context, Call) {
	k := Call{Op: op, named: s.Facts.Operations}
	if s.Opts.Tracer != nil {
		ctx, k.trace = s.beginTrace(ctx, op, collection)
	}
	return ctx, k
}

// Asks returns the context of a call of the store, which counts what it sends. Where the
// store does not tell, the call itself counts, as one trip of some requests.
func (k *Call) Asks(ctx context.Context, requests int) context.Context {
	if k.trace != nil && k.trace.tally == nil {
		k.trace.depth, k.trace.requests = k.trace.depth+1, k.trace.requests+requests
	}
	return k.Walks(ctx)
}

// Walks is asks for a walk, of which got counts the chunks.
func (k *Call) Walks(ctx context.Context) context.Context {
	if k.named {
		ctx = driver.WithOperation(ctx, k.Op)
	}
	if k.trace != nil && k.trace.tally != nil {
		return driver.WithTally(ctx, k.trace.tally)
	}
	return ctx
}

// Traced reports whether somebody is told of the call.
func (k *Call) Traced() bool { return k.trace != nil }

// AtOnce calls do n times at the same time, each with a call of its own, and adds what
// these cost. A panic of one of them comes in the goroutine of the caller, when all have ended.
func (k *Call) AtOnce(n int, do func(i int, k *Call)) {
	calls, ends := make([]Call, n), make([]end, n)
	traces, tallies := k.trace.split(n)
	var all sync.WaitGroup
	for i := range calls {
		calls[i].Op, calls[i].named, calls[i].Now, calls[i].Within = k.Op, k.named, k.Now, k.Within
		if traces != nil {
			calls[i].trace = &traces[i]
		}
		if i < n-1 {
			all.Go(func() { ends[i].of(func() { do(i, &calls[i]) }) })
		} else { // the caller would only wait
			ends[i].of(func() { do(i, &calls[i]) })
		}
	}
	all.Wait()
	k.trace.join(traces, tallies)
	for i := range ends {
		ends[i].again()
	}
}

// An end is how a function ended that may be the program's own: it returned, panicked, or ended its goroutine.
type end struct {
	returned bool
	panicked any
}

// of calls a function and notes its end.
func (e *end) of(do func()) {
	defer func() {
		if !e.returned {
			e.panicked = recover()
		}
	}()
	do()
	e.returned = true
}

// again ends its caller in the same way.
func (e *end) again() {
	switch {
	case e.panicked != nil:
		panic(e.panicked)
	case !e.returned:
		runtime.Goexit()
	}
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
	k.Read(len(keys))
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
