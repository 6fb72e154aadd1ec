package live

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo/driver"
)

const catalog = "_catalog"

// A base is a store in memory that several programs have open.
type base struct {
	*memory.Store
	mu     sync.Mutex
	tables map[*driver.Table]bool // that some program has defined
}

func newBase(scope driver.Scope) *base {
	return &base{Store: memory.New(&memory.Options{Scope: &scope, Uncertain: true}), tables: map[*driver.Table]bool{}}
}

// Facts says that other programs may have the store open.
func (b *base) Facts() driver.Facts {
	f := b.Store.Facts()
	f.OneProcess = false
	return f
}

// Define makes tables exist.
func (b *base) Define(ctx context.Context, tables []*driver.Table) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, t := range tables {
		b.tables[t] = true
	}
	return b.Store.Define(ctx, tables)
}

// Drop removes tables. The programs that have them open are not told, and may write to them again.
func (b *base) Drop(ctx context.Context, tables []*driver.Table) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	err := b.Store.Drop(ctx, tables)
	for t := range b.tables {
		if err == nil && slices.ContainsFunc(tables, func(o *driver.Table) bool { return o.Name == t.Name }) {
			err = b.Store.Define(ctx, []*driver.Table{t})
		}
	}
	return err
}

// A place is where a call stops.
type place string

const (
	toRead  place = "read"    // before a read
	hasRead place = "answer"  // after it
	toPut   place = "row"     // before a row in another partition is put
	toSend  place = "send"    // before a record is committed
	toAsk   place = "ask"     // before the catalog is read, but not by who renews a lease
	toTell  place = "catalog" // before the catalog is changed
	toDrop  place = "drop"    // before a table is dropped
)

// A stop holds back what comes to a place, from a given time that something comes there.
type stop struct {
	at    place
	after atomic.Int32 // how many pass before; below 0 is all
	whole bool         // whatever the program does from then on is held back
	dead  atomic.Bool  // it fails when it goes on

	sleeps atomic.Bool
	asleep chan struct{}
	wake   chan struct{}
}

func newStop(at place, after int) *stop {
	s := &stop{at: at, asleep: make(chan struct{}), wake: make(chan struct{})}
	s.after.Store(int32(after))
	return s
}

// pass waits at a place if s holds it, however long its context lasts: a program that stands still does not look at it.
func (s *stop) pass(at place) error {
	switch {
	case at == s.at && s.after.Add(-1) == -1:
		s.sleeps.Store(true)
		close(s.asleep)
		<-s.wake
	case s.whole && s.sleeps.Load():
		<-s.wake
	}
	if s.dead.Load() {
		return fmt.Errorf("live: this program has stopped: %w", driver.ErrClosed)
	}
	return nil
}

// A process is the store as one program has it open.
type process struct {
	*base
	stop *stop // nil if it does not stop
}

// ofSleeper is the context's key for the stop of a call.
type ofSleeper struct{}

// stopOf returns a stop of a whole program.
func stopOf(at place, after int) *stop {
	s := newStop(at, after)
	s.whole = true
	return s
}

func (p *process) pass(ctx context.Context, at place) error {
	if s, ok := ctx.Value(ofSleeper{}).(*stop); ok {
		return s.pass(at)
	}
	if p.stop != nil {
		return p.stop.pass(at)
	}
	return nil
}

// Close leaves the store to the others.
func (p *process) Close() error { return nil }

// Get reads rows.
func (p *process) Get(ctx context.Context, t *driver.Table, keys []driver.Key, mask []int, rows []driver.Row) error {
	at := toRead
	if _, hurries := ctx.Deadline(); t.Name == catalog && !hurries {
		at = toAsk
	}
	err := p.pass(ctx, at)
	if err == nil {
		err = p.base.Get(context.WithoutCancel(ctx), t, keys, mask, rows)
	}
	if err == nil && t.Name != catalog {
		err = p.pass(ctx, hasRead)
	}
	return err
}

// Range reads the rows of a span.
func (p *process) Range(ctx context.Context, span driver.Span) iter.Seq2[*driver.Row, error] {
	return func(yield func(*driver.Row, error) bool) {
		if err := p.pass(ctx, toRead); err != nil {
			yield(nil, err)
			return
		}
		var rows []*driver.Row
		for row, err := range p.base.Range(context.WithoutCancel(ctx), span) {
			if err != nil {
				yield(nil, err)
				return
			}
			own := *row
			own.Fields, own.Extra, own.Ring = slices.Clone(row.Fields), slices.Clone(row.Extra), slices.Clone(row.Ring)
			rows = append(rows, &own)
		}
		err := p.pass(ctx, hasRead)
		for _, row := range rows {
			if err == nil && !yield(row, nil) {
				return
			}
		}
		if err != nil {
			yield(nil, err)
		}
	}
}

// Commit sends a commit.
func (p *process) Commit(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
	at, records := toPut, 0
	for i := range ops {
		switch {
		case ops[i].Table.Name == catalog:
			at = toTell
		case ops[i].Table.Class == driver.Records:
			at, records = toSend, records+1
		}
	}
	for range max(1, records) { // what comes to a place is a record, of which a filler commits some at once
		if err := p.pass(ctx, at); err != nil {
			return nil, err
		}
	}
	return p.base.Commit(context.WithoutCancel(ctx), token, ops)
}

// Drop removes tables.
func (p *process) Drop(ctx context.Context, tables []*driver.Table) error {
	if err := p.pass(ctx, toDrop); err != nil {
		return err
	}
	return p.base.Drop(ctx, tables)
}
