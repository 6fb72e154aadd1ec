package simulate

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// A client is a process of its own: a driver.Store whose calls wait for the
// scheduler, and the calls of package repo that it makes on top.
type client struct {
	w       *world
	number  int // 0 is the keeper, whose calls go straight through
	door    door
	ops     []Op
	current *entry
	seen    map[string]driver.Token
	crashed bool
	done    bool
	ctx     context.Context

	cutUntil time.Time // when its calls reach the store again

	stop context.CancelFunc
}

// errCrashed is what calls of a client that has stopped get. Nobody hears of it.
var errCrashed = fmt.Errorf("simulate: this client has stopped: %w", driver.ErrClosed)

func factsOf(scope driver.Scope) driver.Facts {
	no := driver.Ability{Reason: "not simulated"}
	return driver.Facts{
		Name: "simulated", Detail: "in memory, with calls that go wrong", Scope: scope, Durability: driver.Memory, Setting: "none",
		Uncertain: true, Remote: driver.Ability{Has: true, Reason: "by commits of their own"}, Native: no, Counts: no, Sizes: no,
	}
}

// run makes the client's calls, one after the other, and closes its store.
func (c *client) run() {
	defer func() {
		if r := recover(); r != nil {
			c.w.story.fail("", "client %d panics: %v", c.number, r)
		}
		c.w.traffic.mu.Lock()
		c.done = true
		c.w.traffic.mu.Unlock()
	}()
	for _, op := range c.ops {
		e := c.call(op, nil)
		if unknown(e.answer.err) != nil && c.w.scenario.Resolve && op.Do.settles() && !c.isCrashed() {
			c.call(Op{Do: resolve, Key: op.Key}, e)
		}
		if c.isCrashed() {
			return
		}
	}
	if err := c.door.close(); err != nil && !c.isCrashed() {
		c.w.story.fail("", "client %d cannot close its store: %v", c.number, err)
	}
}

func (c *client) isCrashed() bool {
	c.w.traffic.mu.Lock()
	defer c.w.traffic.mu.Unlock()
	return c.crashed
}

// enter keeps which call the client makes now.
func (c *client) enter(e *entry) {
	c.w.traffic.mu.Lock()
	defer c.w.traffic.mu.Unlock()
	c.current = e
}

// call makes one call and keeps what came of it.
func (c *client) call(op Op, of *entry) *entry {
	var seen driver.Token
	if op.Seen {
		seen = c.seen[op.Key]
	}
	e := c.w.history.begin(c, op, of, seen)
	if of != nil {
		e.answer = c.door.resolve(c.ctx, unknown(of.answer.err))
	} else {
		e.answer = c.door.do(c.ctx, op, seen)
	}
	c.w.history.end(c, e)
	c.learn(op, e.answer)
	return e
}

// learn keeps the version of a record that the client was told.
func (c *client) learn(op Op, a answer) {
	switch {
	case a.err != nil:
	case op.Do == Get && len(a.found) == 1:
		c.seen[op.Key] = a.found[0].version
	case !a.version.IsZero():
		c.seen[op.Key] = a.version
	}
}

// unknown returns the error of a write whose outcome is unknown, or nil.
func unknown(err error) *repo.Error {
	if e, ok := errors.AsType[*repo.Error](err); ok && e.Outcome != nil {
		return e
	}
	return nil
}

// Facts says that the store changes one commit scope at a time, and may lose answers.
func (c *client) Facts() driver.Facts { return factsOf(c.w.scenario.Scope) }

// Define makes the tables exist. Schemas do not change in a simulation.
func (c *client) Define(ctx context.Context, tables []*driver.Table) error {
	c.w.store.know(tables)
	return c.w.store.mem.Define(context.WithoutCancel(ctx), tables)
}

// Attach makes the store know tables that exist.
func (c *client) Attach(ctx context.Context, tables []*driver.Table) error {
	return c.w.store.mem.Attach(context.WithoutCancel(ctx), tables)
}

// Drop removes the tables.
func (c *client) Drop(ctx context.Context, tables []*driver.Table) error {
	return c.w.store.mem.Drop(context.WithoutCancel(ctx), tables)
}

// Close leaves the simulated store to the others.
func (c *client) Close() error { return nil }

// Get reads rows by key: where the scenario is fine, each at a moment of its own.
func (c *client) Get(ctx context.Context, t *driver.Table, keys []driver.Key, mask []int, rows []driver.Row) error {
	if t.Name == "_catalog" { // is asked beside the calls, at times that nobody chooses
		return c.w.store.mem.Get(context.WithoutCancel(ctx), t, keys, mask, rows)
	}
	get := func(part int, keys []driver.Key, rows []driver.Row) error {
		return c.ask(ctx, &call{verb: "get", table: t, keys: keys, part: part, exec: func(ctx context.Context) error {
			return c.w.store.mem.Get(ctx, t, keys, mask, rows)
		}})
	}
	if !c.w.scenario.Fine || len(keys) < 2 || len(keys) != len(rows) {
		return get(0, keys, rows)
	}
	errs := make([]error, len(keys))
	var wg sync.WaitGroup
	for i := range keys {
		wg.Go(func() { errs[i] = get(i, keys[i:i+1], rows[i:i+1]) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// Range yields the rows of a span: as they are at one moment, or, where the scenario
// is fine, each as it is at a moment of its own.
func (c *client) Range(ctx context.Context, span driver.Span) iter.Seq2[*driver.Row, error] {
	return func(yield func(*driver.Row, error) bool) {
		rest := span
		if c.w.scenario.Fine {
			rest.Limit = 1
		}
		for n := 0; span.Limit == 0 || n < span.Limit; {
			rows, err := c.page(ctx, rest)
			if err != nil {
				yield(nil, err)
				return
			}
			for i := range rows {
				if n++; !yield(&rows[i], nil) {
					return
				}
			}
			if len(rows) == 0 || rest.Limit != 1 || span.Limit == 1 {
				return
			}
			if last := rows[0].Key.Sort; span.Reverse {
				rest.To = last
			} else {
				rest.From = last + "\x00"
			}
		}
	}
}

func (c *client) page(ctx context.Context, span driver.Span) (rows []driver.Row, err error) {
	err = c.ask(ctx, &call{verb: "range", table: span.Table, keys: []driver.Key{span.Key}, exec: func(ctx context.Context) error {
		rows = nil
		for row, err := range c.w.store.mem.Range(ctx, span) {
			if err != nil {
				return err
			}
			rows = append(rows, clonedRow(row))
		}
		return nil
	}})
	return rows, err
}

// Walk yields all rows of a table as they are at one moment.
func (c *client) Walk(ctx context.Context, t *driver.Table, mark string) iter.Seq2[driver.Chunk, error] {
	return func(yield func(driver.Chunk, error) bool) {
		var chunks []driver.Chunk
		err := c.ask(ctx, &call{verb: "walk", table: t, exec: func(ctx context.Context) error {
			chunks = nil
			for chunk, err := range c.w.store.mem.Walk(ctx, t, mark) {
				if err != nil {
					return err
				}
				chunks = append(chunks, chunk)
			}
			return nil
		}})
		if err != nil {
			yield(driver.Chunk{}, err)
			return
		}
		for _, chunk := range chunks {
			if !yield(chunk, nil) {
				return
			}
		}
	}
}

// Commit does all ops or none, when the scheduler says so, and if it does.
func (c *client) Commit(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
	k := &call{verb: "commit", token: token, ops: ops}
	if len(ops) > 0 {
		k.table = ops[0].Table
	}
	err := c.ask(ctx, k)
	return k.refusal, err
}

// ask sends a call to the store, and returns the answer.
func (c *client) ask(ctx context.Context, k *call) error {
	if c.w.pace != nil {
		c.w.pace()
	}
	k.client, k.answer, k.sent, k.own = c, make(chan error, 1), time.Now(), ctx.Value(ownKey{}) != nil
	c.w.traffic.mu.Lock()
	k.entry = c.current
	direct := c.number == 0
	c.w.traffic.mu.Unlock()
	if direct {
		return c.w.keeper.ask(ctx, k)
	}
	return c.w.traffic.ask(ctx, k)
}

// ownKey marks the context of what a client calls.
type ownKey struct{}

func clonedRow(r *driver.Row) driver.Row {
	out := *r
	out.Fields, out.Extra, out.Ring = slices.Clone(r.Fields), slices.Clone(r.Extra), slices.Clone(r.Ring)
	return out
}
