package simulate

import (
	"slices"
	"time"
)

// retention is longer than a tombstone stays, anywhere.
const retention = 8 * 24 * time.Hour

const sweeps = 3 // a sweep may leave tombstones of its own, which the next one removes

// finish checks what is left when all clients have stopped.
func (w *world) finish() {
	if err := w.openFor(w.keeper.client); err != nil { // as a process that has just begun
		w.story.fail("", "the store cannot be opened any more: %v", err)
		return
	}
	slices.SortStableFunc(w.history.entries, func(a, b *entry) int { return a.client.number - b.client.number })
	asked := w.resolveAll()
	w.sweep()
	if asked {
		w.resolveAll()
		w.sweep()
	}
	w.lookups()
	w.keeper.serve(func() {
		if err := w.keeper.client.door.close(); err != nil {
			w.story.fail("", "the keeper cannot close its store: %v", err)
		}
	})
	calm := w.scheduler.isCalm(w.scenario)
	for _, e := range w.history.entries {
		w.judge.judge(e, calm)
	}
	w.judge.garbage()
}

// sweep runs Maintain until it has nothing more to do.
func (w *world) sweep() {
	for range sweeps {
		before := w.store.done()
		w.scheduler.pass(retention)
		w.keeper.again(Op{Do: Maintain})
		if w.store.done() == before {
			return
		}
	}
}

// resolveAll asks what became of every write whose outcome is unknown, if any.
func (w *world) resolveAll() (any bool) {
	for _, e := range w.history.entries {
		if !e.crashed && e.op.Do.settles() && unknown(e.answer.err) != nil {
			w.keeper.call(Op{Do: resolve, Key: e.op.Key}, e)
			any = true
		}
	}
	w.history.tock()
	return any
}

// lookups looks for every value.
func (w *world) lookups() {
	for _, n := range []string{"0", "1", "2"} {
		if w.scenario.Index {
			w.keeper.again(Op{Do: Find, Kind: "k" + n})
		}
		if w.scenario.Unique {
			w.keeper.again(Op{Do: One, Mail: "m" + n})
		}
	}
}
