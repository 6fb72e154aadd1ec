package simulate

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"testing/synctest"
	"time"

	"github.com/polystore/polystore/repo/driver"
)

// events returns what may happen next, what is likely first; over says that
// nothing more can.
func (w *world) events() (list []event, over bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	calls := w.inTurn()
	running := slices.ContainsFunc(w.clients, func(c *client) bool { return !c.done && !c.crashed })
	goesOn := len(calls) > 0 && calls[0].client == w.last
	if goesOn && w.switches == 0 {
		calls = slices.DeleteFunc(calls, func(k *call) bool { return k.client != w.last })
	}
	for _, k := range calls {
		list = append(list, event{call: k, turn: goesOn && k.client != w.last})
	}
	now := time.Now()
	w.late = w.inOrder(slices.DeleteFunc(w.late, func(k *call) bool { return w.isLost(k, now) }))
	for _, k := range w.late {
		list = append(list, event{fate: deliver, call: k})
	}
	for _, k := range w.held {
		list = append(list, event{fate: release, call: k})
	}
	if !running {
		if len(calls) == 0 && len(w.held) == 0 && len(w.late) > 0 {
			list = append(list, event{fate: rest})
		}
		return list, len(list) == 0
	}
	if len(list) > 0 && len(calls) == 0 && w.sleeps() {
		list = slices.Insert(list, 0, event{fate: wait})
	}
	if len(list) == 0 {
		return nil, false
	}
	return append(list, w.mishaps(calls)...), false
}

// sleeps reports whether a client waits for nothing but time. The caller has the lock.
func (w *world) sleeps() bool {
	return slices.ContainsFunc(w.clients, func(c *client) bool {
		return !c.done && !c.crashed && !slices.ContainsFunc(w.held, func(k *call) bool { return k.client == c })
	})
}

// pauses reports whether a client's own call waits for nothing but time: what cleans up behind
// the client may have sent something.
func (w *world) pauses() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.ContainsFunc(w.clients, func(c *client) bool {
		mine := func(k *call) bool { return k.client == c && k.own }
		return !c.done && !c.crashed && !slices.ContainsFunc(w.held, mine) && !slices.ContainsFunc(w.waiting, mine)
	})
}

// mishaps returns what may go wrong.
func (w *world) mishaps(calls []*call) []event {
	var list []event
	if w.faults > 0 {
		for _, k := range calls {
			for _, f := range k.faults() {
				list = append(list, event{fate: f, call: k, turn: calls[0].client == w.last && k.client != w.last})
			}
		}
	}
	for _, d := range w.leaps {
		list = append(list, event{fate: leap, leap: d})
	}
	return list
}

// inTurn returns the waiting calls in an order that no goroutine's pace decides:
// those of the client whose turn it is first.
func (w *world) inTurn() []*call { return w.inOrder(w.waiting) }

func (w *world) inOrder(waiting []*call) []*call {
	calls := slices.Clone(waiting)
	if len(calls) < 2 {
		return calls
	}
	slices.SortStableFunc(calls, func(a, b *call) int {
		if a.client != b.client {
			return cmp.Or(last(a.client == w.last, b.client == w.last), cmp.Compare(a.client.number, b.client.number))
		}
		return cmp.Compare(a.rank(), b.rank())
	})
	return calls
}

func last(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// hexToken finds tokens in keys. They differ from run to run but for the time, in front, at
// which they were made.
const hexToken = `[0-9a-fA-F]{32}`

var tokenOrTime = regexp.MustCompile(`([0-9a-fA-F]{12})[0-9a-fA-F]{20}`)

// rank returns a text that orders the calls of one client, the same in every run.
func (k *call) rank() string {
	text := fmt.Sprint(k.verb, k.part)
	for _, key := range k.keys {
		text += " " + k.table.Name + " " + key.Partition + key.Sort
	}
	for i := range k.ops {
		op := &k.ops[i]
		text += " " + op.Table.Name + " " + op.Row.Key.Partition + op.Row.Key.Sort + op.Do.String()
	}
	return tokenOrTime.ReplaceAllString(text, "$1")
}

// happen lets an event happen.
func (w *world) happen(e event) {
	if w.tell {
		w.note(eventText(w, e))
	}
	w.fates[e.fate]++
	if e.fate.isFault() {
		w.faults--
	}
	if e.turn && w.switches > 0 {
		w.switches--
	}
	switch e.fate {
	case wait:
		w.idle = min(max(2*w.idle, tick), time.Minute)
		w.pass(w.idle)
	case leap:
		w.leap(e.leap)
	case rest:
		w.late = nil
	case deliver:
		w.late = without(w.late, e.call)
		_ = w.exec(e.call) // nobody waits for the answer
	case release:
		w.held = without(w.held, e.call)
		e.call.answer <- e.call.err
	default:
		w.last = e.call.client
		w.meet(e.fate, e.call)
	}
}

// meet lets a call meet its fate.
func (w *world) meet(f fate, k *call) {
	w.mu.Lock()
	w.waiting = without(w.waiting, k)
	w.mu.Unlock()
	var err error
	switch f {
	case done, lostReply, twice, hold, crashDone, cutDone:
		err = w.exec(k)
	}
	if f == late || f == crashLate || f == cutLate || f == twice && k.refusal == nil { // a refusal is final, says driver.Store
		late := k.copied()
		late.again = f == twice
		w.late = append(w.late, late)
	}
	switch f {
	case refuse:
		err = fmt.Errorf("simulate: refused: %w", driver.ErrUnavailable)
	case lostReply, lostCall, late:
		err = errUnknown(k)
	case cutDone, cutLate:
		err = errUnknown(k)
		k.client.cutUntil = time.Now().Add(10 * tick)
	case crash, crashDone, crashLate:
		err = errCrashed
		w.crash(k.client)
	}
	if f == hold {
		k.err = err
		w.held = append(w.held, k)
		return
	}
	k.answer <- err
}

func errUnknown(k *call) error {
	if k.verb != "commit" {
		return fmt.Errorf("simulate: no answer: %w", driver.ErrUnavailable)
	}
	return fmt.Errorf("simulate: no answer: %w", driver.ErrUnknownOutcome)
}

// leap lets much time pass. What was under way for too long is lost.
func (w *world) leap(d time.Duration) {
	i := slices.Index(w.leaps, d)
	w.leaps = slices.Delete(w.leaps, i, i+1)
	if d > transport {
		w.mu.Lock()
		calls := w.inTurn()
		w.mu.Unlock()
		for _, k := range calls {
			if k.verb == "commit" {
				w.happen(event{fate: lostCall, call: k})
				w.faults++ // it is the leap that is counted
				synctest.Wait()
			}
		}
	}
	w.pass(d)
}

func eventText(w *world, e event) string {
	switch e.fate {
	case leap:
		return fmt.Sprintf("%s pass", e.leap)
	case rest, wait:
		return e.fate.String()
	case deliver, release:
		return fmt.Sprintf("client %d: %s: %s", e.call.client.number, e.fate, w.words(e.call))
	}
	return fmt.Sprintf("client %d: %s: %s", e.call.client.number, w.words(e.call), e.fate)
}
