package simulate

import (
	"context"
	"slices"
	"sync"
	"testing/synctest"
	"time"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo/driver"
)

// A world is one run of a scenario: it has the clients begin, lets the scheduler go on to the end, and has what is
// left cleaned up and judged.
type world struct {
	scenario *Scenario
	wrap     func(driver.Store) driver.Store // what clients see of the store
	pace     func()                          // is called before every call of the store

	story     *story
	store     *store
	history   *history
	watcher   *watcher
	traffic   *traffic
	scheduler *scheduler
	keeper    *keeper
	judge     *judge
}

// newWorld returns the run of a scenario that has not begun; tell says that its story is kept.
func newWorld(s *Scenario, tell bool) *world {
	w := &world{scenario: s}
	w.story = &story{tell: tell, names: map[string]int{}}
	w.store = &store{story: w.story, tables: map[string]*driver.Table{}}
	w.history = &history{story: w.story}
	w.watcher = &watcher{scenario: s, story: w.story, store: w.store, history: w.history, used: map[mark]bool{}}
	w.traffic = &traffic{store: w.store, watcher: w.watcher}
	w.scheduler = &scheduler{
		story: w.story, store: w.store, history: w.history, traffic: w.traffic,
		faults: s.Faults, switches: s.Switches, leaps: slices.Clone(s.Leaps),
	}
	w.keeper = &keeper{story: w.story, traffic: w.traffic}
	w.judge = &judge{scenario: s, story: w.story, store: w.store, history: w.history}
	return w
}

// play makes the run. It is called in a bubble.
func (w *world) play(choose chooser) {
	scope := w.scenario.Scope
	w.store.mem = memory.New(&memory.Options{Scope: &scope, Uncertain: true})
	if err := w.begins(); err != nil {
		w.story.fail("", "the run cannot begin: %v", err)
		return
	}
	var wg sync.WaitGroup
	for _, c := range w.scheduler.clients {
		wg.Go(c.run)
	}
	for w.story.failure == nil && w.scheduler.next(choose) {
	}
	w.scheduler.stop()
	wg.Wait()
	for _, c := range w.scheduler.clients {
		if c.crashed {
			_ = c.door.close() // as the end of a process would
		}
	}
	if w.story.failure == nil {
		w.finish()
	}
	synctest.Wait()
}

// begins opens the store for all, and does what comes before.
func (w *world) begins() error {
	w.keeper.client = w.newClient(0, w.scenario.Before)
	if err := w.openFor(w.keeper.client); err != nil {
		return err
	}
	if err := w.store.nameKeys(); err != nil {
		return err
	}
	w.history.tock()
	for _, op := range w.keeper.client.ops {
		if e := w.keeper.call(op, nil); e.answer.err != nil {
			return e.answer.err
		}
		time.Sleep(tick)
		w.history.tock()
	}
	for i, ops := range w.scenario.Clients {
		c := w.newClient(0, ops) // not yet a number: opening waits for nobody
		if err := w.openFor(c); err != nil {
			return err
		}
		c.number = i + 1
		w.scheduler.clients = append(w.scheduler.clients, c)
	}
	return nil
}

func (w *world) newClient(number int, ops []Op) *client {
	ctx, cancel := context.WithCancel(context.WithValue(context.Background(), ownKey{}, true))
	return &client{w: w, number: number, ops: ops, seen: map[string]driver.Token{}, ctx: ctx, stop: cancel}
}

func (w *world) openFor(c *client) (err error) {
	var backend driver.Store = c
	if w.wrap != nil && c != w.keeper.client {
		backend = w.wrap(c)
	}
	w.keeper.serve(func() { c.door, err = w.scenario.open(c.ctx, backend) })
	return err
}
