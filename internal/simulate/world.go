package simulate

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing/synctest"
	"time"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo/driver"
)

const (
	tick     = 100 * time.Millisecond // of a step
	pause    = 7 * tick               // of one after which a client waits: longer than what the library waits at random
	maxSteps = 3000
	maxIdle  = 4000
)

// A chooser picks one of n things that may happen next. What is likely is first:
// before odds nothing goes wrong.
type chooser interface{ pick(events []event) int }

// An event is one thing that may happen.
type event struct {
	fate fate
	call *call
	leap time.Duration
	turn bool // another client gets its turn
}

// A world is one run: the store, its clients, and what is under way.
type world struct {
	s      *Scenario
	wrap   func(driver.Store) driver.Store // what clients see of the store
	pace   func()                          // is called before every call of the store
	mem    *memory.Store
	keeper *client
	tell   bool // keep the story

	mu      sync.Mutex
	tables  map[string]*driver.Table
	clients []*client
	waiting []*call // in the order of arrival
	late    []*call
	held    []*call
	kept    []*call       // of the keeper, which wait for their turn
	arrived chan struct{} // gets something when there is one more; nil while the keeper is not served

	last     *client // whose turn it was
	faults   int     // that are left
	switches int
	leaps    []time.Duration
	idle     time.Duration

	keys    []driver.Key // of the records, by number
	history []moment
	entries []*entry
	commits int            // that were done
	used    map[mark]bool  // tokens that records had
	names   map[string]int // of tokens, in the story
	story   []line
	fates   [wait + 1]int // how often
	step    int
	failure *Failure
}

// play makes one run, and returns what it breaks. It is called in a bubble.
func (w *world) play(choose chooser) {
	scope := w.s.Scope
	w.mem = memory.New(&memory.Options{Scope: &scope, Uncertain: true})
	if err := w.begins(); err != nil {
		w.fail("", "the run cannot begin: %v", err)
		return
	}
	var wg sync.WaitGroup
	for _, c := range w.clients {
		wg.Go(c.run)
	}
	for w.failure == nil && w.next(choose) {
	}
	w.stop()
	wg.Wait()
	for _, c := range w.clients {
		if c.crashed {
			_ = c.door.close() // as the end of a process would
		}
	}
	if w.failure == nil {
		w.finish()
	}
	synctest.Wait()
}

// begins opens the store for all, and does what comes before.
func (w *world) begins() error {
	w.tables, w.names = map[string]*driver.Table{}, map[string]int{}
	w.used = map[mark]bool{}
	w.faults, w.switches, w.leaps = w.s.Faults, w.s.Switches, slices.Clone(w.s.Leaps)
	w.keeper = w.newClient(0, w.s.Before)
	if err := w.openFor(w.keeper); err != nil {
		return err
	}
	if err := w.nameKeys(); err != nil {
		return err
	}
	w.tock()
	for _, op := range w.keeper.ops {
		if e := w.keeperCall(op, nil); e.answer.err != nil {
			return e.answer.err
		}
		time.Sleep(tick)
		w.tock()
	}
	for i, ops := range w.s.Clients {
		c := w.newClient(0, ops) // not yet a number: opening waits for nobody
		if err := w.openFor(c); err != nil {
			return err
		}
		c.number = i + 1
		w.clients = append(w.clients, c)
	}
	return nil
}

func (w *world) newClient(number int, ops []Op) *client {
	ctx, cancel := context.WithCancel(context.WithValue(context.Background(), ownKey{}, true))
	return &client{w: w, number: number, ops: ops, seen: map[string]driver.Token{}, ctx: ctx, stop: cancel}
}

func (w *world) openFor(c *client) (err error) {
	var backend driver.Store = c
	if w.wrap != nil && c != w.keeper {
		backend = w.wrap(c)
	}
	w.serve(func() { c.door, err = w.s.open(c.ctx, backend) })
	return err
}

// nameKeys finds the keys of the records.
func (w *world) nameKeys() error {
	t := w.tables[collection]
	for _, id := range Keys {
		vals := map[string]driver.Value{"home": driver.StringValue(home), "id": driver.StringValue(id)}
		part, err := driver.AppendParts(nil, t.Partition, pick(t.Partition, vals))
		if err != nil {
			return err
		}
		sort, err := driver.AppendParts(nil, t.Sort, pick(t.Sort, vals))
		if err != nil {
			return err
		}
		w.keys = append(w.keys, driver.Key{Partition: string(part), Sort: string(sort)})
	}
	return nil
}

func pick(cols []driver.Column, vals map[string]driver.Value) []driver.Value {
	var out []driver.Value
	for _, c := range cols {
		out = append(out, vals[c.Name])
	}
	return out
}

// know keeps the tables that the keeper opened first.
func (w *world) know(tables []*driver.Table) {
	for _, t := range tables {
		if w.tables[t.Name] == nil {
			w.tables[t.Name] = t
		}
	}
}

// next lets one thing happen; false is the end.
func (w *world) next(choose chooser) bool {
	synctest.Wait()
	events, over := w.events()
	switch {
	case over:
		return false
	case len(events) == 0:
		w.idle = min(max(2*w.idle, tick), time.Minute)
		w.pass(w.idle)
		return w.patient(maxIdle)
	}
	e := events[0]
	if len(events) > 1 {
		e = events[choose.pick(events)]
	}
	if e.fate != wait {
		w.idle = 0
	}
	w.happen(e)
	synctest.Wait()
	if w.pauses() {
		w.pass(pause)
	} else {
		w.pass(tick)
	}
	return w.patient(maxSteps)
}

// patient ends a run that does not end.
func (w *world) patient(most int) bool {
	if w.step > most {
		w.fail("", "no end after %d steps", w.step)
	}
	return w.step <= most
}

// advance begins another step of the story.
func (w *world) advance() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.step++
}

// pass lets time pass.
func (w *world) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
	w.advance()
	w.tock()
}

// stop stops every client that is not done.
func (w *world) stop() {
	for _, c := range w.clients {
		if w.mu.Lock(); !c.done {
			w.mu.Unlock()
			w.crash(c)
			synctest.Wait()
			continue
		}
		w.mu.Unlock()
	}
}

// crash makes a client stop. Its commits on their way may still be done.
func (w *world) crash(c *client) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c.crashed = true
	c.stop()
	mine := func(k *call) bool { return k.client == c }
	for _, k := range w.waiting {
		if mine(k) {
			if k.verb == "commit" {
				w.late = append(w.late, k.copied())
			}
			k.answer <- errCrashed
		}
	}
	for _, k := range w.held {
		if mine(k) {
			k.answer <- errCrashed
		}
	}
	w.waiting = slices.DeleteFunc(w.waiting, mine)
	w.held = slices.DeleteFunc(w.held, mine)
}

// words returns a call in words.
func (w *world) words(k *call) string {
	if k.verb != "commit" {
		var keys []string
		for _, key := range k.keys {
			keys = append(keys, w.keyText(k.table, key))
		}
		return strings.TrimSpace(fmt.Sprintf("%s of %s %s", k.verb, k.table.Name, strings.Join(keys, " and ")))
	}
	var ops []string
	for i := range k.ops {
		ops = append(ops, w.opText(&k.ops[i]))
	}
	return fmt.Sprintf("commit %s: %s", w.nameOf(k.token), strings.Join(ops, ", "))
}

func (w *world) opText(op *driver.Op) string {
	text := op.Do.String()
	if op.Row.Dead {
		text = "bury"
	}
	text += " " + op.Table.Name + " " + w.keyText(op.Table, op.Row.Key)
	switch op.If {
	case driver.AtRev:
		text += " if at rev " + w.nameOf(op.Rev)
	case driver.Absent, driver.Present:
		text += " if " + op.If.String()
	}
	return text
}
