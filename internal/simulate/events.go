package simulate

import (
	"fmt"
	"slices"
	"testing/synctest"
	"time"

	"github.com/polystore/polystore/repo/driver"
)

// An event is one thing that may happen.
type event struct {
	fate fate
	call *call
	leap time.Duration
	turn bool // another client gets its turn
}

// events returns what may happen next, what is likely first; over says that
// nothing more can.
func (s *scheduler) events() (list []event, over bool) {
	t := s.traffic
	t.mu.Lock()
	defer t.mu.Unlock()
	calls := t.inTurn()
	running := slices.ContainsFunc(s.clients, func(c *client) bool { return !c.done && !c.crashed })
	goesOn := len(calls) > 0 && calls[0].client == t.last
	if goesOn && s.switches == 0 {
		calls = slices.DeleteFunc(calls, func(k *call) bool { return k.client != t.last })
	}
	for _, k := range calls {
		list = append(list, event{call: k, turn: goesOn && k.client != t.last})
	}
	now := time.Now()
	t.late = t.inOrder(slices.DeleteFunc(t.late, func(k *call) bool { return s.isLost(k, now) }))
	for _, k := range t.late {
		list = append(list, event{fate: deliver, call: k})
	}
	for _, k := range t.held {
		list = append(list, event{fate: release, call: k})
	}
	if !running {
		if len(calls) == 0 && len(t.held) == 0 && len(t.late) > 0 {
			list = append(list, event{fate: rest})
		}
		return list, len(list) == 0
	}
	if len(list) > 0 && len(calls) == 0 && s.sleeps() {
		list = slices.Insert(list, 0, event{fate: wait})
	}
	if len(list) == 0 {
		return nil, false
	}
	return append(list, s.mishaps(calls)...), false
}

// isLost reports whether a late request cannot arrive any more. A second copy of a
// change without a Rev is held off by the Ring alone; package repo counts on it that
// none comes when four others have written: no protocol below it sends one unasked.
func (s *scheduler) isLost(k *call, now time.Time) bool {
	if k.isTooOld(now) || !k.again {
		return k.isTooOld(now)
	}
	facts := s.history.last().facts
	return slices.ContainsFunc(k.ops, func(op driver.Op) bool {
		at := slices.Index(s.store.keys, op.Row.Key)
		free := op.If == driver.Any || op.If == driver.Present
		return op.Table.Name == collection && free && at >= 0 && !slices.Contains(facts[at].ring, k.token)
	})
}

// sleeps reports whether a client waits for nothing but time. The caller has the lock.
func (s *scheduler) sleeps() bool {
	return slices.ContainsFunc(s.clients, func(c *client) bool {
		return !c.done && !c.crashed && !slices.ContainsFunc(s.traffic.held, func(k *call) bool { return k.client == c })
	})
}

// pauses reports whether a client's own call waits for nothing but time: what cleans up behind
// the client may have sent something.
func (s *scheduler) pauses() bool {
	s.traffic.mu.Lock()
	defer s.traffic.mu.Unlock()
	return slices.ContainsFunc(s.clients, func(c *client) bool {
		mine := func(k *call) bool { return k.client == c && k.own }
		return !c.done && !c.crashed && !slices.ContainsFunc(s.traffic.held, mine) && !slices.ContainsFunc(s.traffic.waiting, mine)
	})
}

// mishaps returns what may go wrong.
func (s *scheduler) mishaps(calls []*call) []event {
	var list []event
	if s.faults > 0 {
		for _, k := range calls {
			for _, f := range k.faults() {
				list = append(list, event{fate: f, call: k, turn: calls[0].client == s.traffic.last && k.client != s.traffic.last})
			}
		}
	}
	for _, d := range s.leaps {
		list = append(list, event{fate: leap, leap: d})
	}
	return list
}

// happen lets an event happen.
func (s *scheduler) happen(e event) {
	if s.story.tell {
		s.story.note(s.story.eventText(e))
	}
	s.fates[e.fate]++
	if e.fate.isFault() {
		s.faults--
	}
	if e.turn && s.switches > 0 {
		s.switches--
	}
	switch e.fate {
	case wait:
		s.idle = min(max(2*s.idle, tick), time.Minute)
		s.pass(s.idle)
	case leap:
		s.leap(e.leap)
	case rest:
		s.traffic.late = nil
	case deliver:
		s.traffic.late = without(s.traffic.late, e.call)
		_ = s.traffic.exec(e.call) // nobody waits for the answer
	case release:
		s.traffic.held = without(s.traffic.held, e.call)
		e.call.answer <- e.call.err
	default:
		s.traffic.last = e.call.client
		s.meet(e.fate, e.call)
	}
}

// meet lets a call meet its fate.
func (s *scheduler) meet(f fate, k *call) {
	s.traffic.mu.Lock()
	s.traffic.waiting = without(s.traffic.waiting, k)
	s.traffic.mu.Unlock()
	var err error
	switch f {
	case done, lostReply, twice, hold, crashDone, cutDone:
		err = s.traffic.exec(k)
	}
	if f == late || f == crashLate || f == cutLate || f == twice && k.refusal == nil { // a refusal is final, says driver.Store
		late := k.copied()
		late.again = f == twice
		s.traffic.late = append(s.traffic.late, late)
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
		s.traffic.crash(k.client)
	}
	if f == hold {
		k.err = err
		s.traffic.held = append(s.traffic.held, k)
		return
	}
	k.answer <- err
}

// leap lets much time pass. What was under way for too long is lost.
func (s *scheduler) leap(d time.Duration) {
	i := slices.Index(s.leaps, d)
	s.leaps = slices.Delete(s.leaps, i, i+1)
	if d > transport {
		s.traffic.mu.Lock()
		calls := s.traffic.inTurn()
		s.traffic.mu.Unlock()
		for _, k := range calls {
			if k.verb == "commit" {
				s.happen(event{fate: lostCall, call: k})
				s.faults++ // it is the leap that is counted
				synctest.Wait()
			}
		}
	}
	s.pass(d)
}
