package crash_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/polystore/polystore/repo/driver"
)

// A dying store lets so many calls of a write be done, one after the other. To the next one
// there is no answer, nor is it done.
type dying struct {
	driver.Store
	home, collection string

	torn    bool
	stopped chan<- struct{}

	// Of a chore only what changes the store counts: where it dies between two readings is
	// all the same.
	chore  bool
	lose   bool // commits of records get no answer and are not done
	lost   []driver.Op
	token  driver.Token // of what was lost
	tables map[string]*driver.Table

	mu    sync.Mutex
	armed bool
	left  int
	held  []held
}

// held is a row or claim of which a torn store says that it is put, and puts it later.
type held struct {
	token driver.Token
	op    driver.Op
}

// arm says whether calls count: the write begins, or is over.
func (d *dying) arm(armed bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.armed = armed
}

// losing says whether commits of records are lost.
func (d *dying) losing(lose bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lose = lose
}

// Define makes tables one by one, so that the writer may die between them.
func (d *dying) Define(ctx context.Context, tables []*driver.Table) error {
	return d.eachTable(tables, true, func(one []*driver.Table) error { return d.Store.Define(ctx, one) })
}

// Drop removes tables one by one.
func (d *dying) Drop(ctx context.Context, tables []*driver.Table) error {
	return d.eachTable(tables, false, func(one []*driver.Table) error { return d.Store.Drop(ctx, one) })
}

// eachTable defines or drops tables.
func (d *dying) eachTable(tables []*driver.Table, defines bool, do func([]*driver.Table) error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i, t := range tables {
		step := d.step
		if old := d.tables[t.Name]; strings.HasPrefix(t.Name, "_") || defines && old != nil && len(old.Fields) == len(t.Fields) {
			step = func(do func() error) error { return do() } // it is there, as it is to be
		}
		if d.tables[t.Name] = t; !defines {
			d.tables[t.Name] = nil
		}
		if err := step(func() error { return do(tables[i : i+1]) }); err != nil {
			return err
		}
	}
	return nil
}

// step does a call if there is one left, and else never returns. The caller has the lock,
// so that no other call is made.
func (d *dying) step(do func() error) error {
	if !d.armed {
		return do()
	}
	if d.left == 0 {
		d.stopped <- struct{}{}
		select {}
	}
	d.left--
	return do()
}

// Close leaves the store to the other writes.
func (d *dying) Close() error { return nil }

func (d *dying) Get(ctx context.Context, t *driver.Table, keys []driver.Key, mask []int, rows []driver.Row) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.chore {
		return d.Store.Get(ctx, t, keys, mask, rows)
	}
	return d.step(func() error { return d.Store.Get(ctx, t, keys, mask, rows) })
}

func (d *dying) Commit(ctx context.Context, token driver.Token, ops []driver.Op) (refusal *driver.Refusal, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.armed && d.torn {
		return d.tear(ctx, token, ops)
	}
	if d.lose && ops[0].Table.Class == driver.Records {
		d.lost, d.token = cloned(ops), token
		return nil, fmt.Errorf("no answer: %w", driver.ErrUnknownOutcome)
	}
	if d.armed && !d.chore && ops[0].Table.Class == driver.Records {
		if err := d.announce(token, &ops[0]); err != nil {
			return nil, err
		}
	}
	err = d.step(func() (err error) {
		refusal, err = d.Store.Commit(ctx, token, ops)
		return err
	})
	return refusal, err
}

// cloned returns ops that stay as they are.
func cloned(ops []driver.Op) []driver.Op {
	ops = slices.Clone(ops)
	for i := range ops {
		r := &ops[i].Row
		r.Ring, r.Fields, r.Extra, ops[i].Edits = slices.Clone(r.Ring), slices.Clone(r.Fields), slices.Clone(r.Extra), slices.Clone(ops[i].Edits)
	}
	return ops
}

// tear does each op of a commit by itself, the record's first; and what is to be there
// before a record it puts after it.
func (d *dying) tear(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
	if len(ops) == 1 && ops[0].Do == driver.Put && ops[0].Table.Class != driver.Records {
		op := ops[0]
		op.Row.Fields = slices.Clone(op.Row.Fields)
		d.held = append(d.held, held{token, op})
		return nil, nil
	}
	list := []held{}
	for _, op := range ops {
		list = append(list, held{token, op})
	}
	if ops[0].Table.Class == driver.Records {
		list, d.held = append(list, d.held...), nil
	}
	for _, h := range list {
		var refusal *driver.Refusal
		err := d.step(func() (err error) {
			refusal, err = d.Store.Commit(ctx, h.token, []driver.Op{h.op})
			return err
		})
		if err != nil || refusal != nil {
			return refusal, err
		}
	}
	return nil, nil
}

// announce says which commit begins, as an Outcome that Resolve takes.
func (d *dying) announce(token driver.Token, op *driver.Op) error {
	o := map[string]any{"collection": op.Table.Name, "partition": op.Row.Key.Partition, "sort": op.Row.Key.Sort, "token": token.String(), "based": true}
	if op.If == driver.AtRev {
		o["rev"], o["version"] = op.Rev.String(), op.Rev.String()
		if len(op.Row.Ring) > 0 {
			o["version"] = op.Row.Ring[0].String()
		}
	}
	text, err := json.Marshal(o)
	if err != nil {
		return err
	}
	return say(d.home, string(text))
}
