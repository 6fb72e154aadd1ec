package simulate

import (
	"testing/synctest"
	"time"
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

// A scheduler lets one thing after the other happen, until nothing more can: it knows what may happen next, has
// one of it chosen, and lets time pass.
type scheduler struct {
	story   *story
	store   *store
	history *history
	traffic *traffic
	clients []*client

	faults   int // that are left
	switches int
	leaps    []time.Duration
	idle     time.Duration
	fates    [wait + 1]int // how often
}

// next lets one thing happen; false is the end.
func (s *scheduler) next(choose chooser) bool {
	synctest.Wait()
	events, over := s.events()
	switch {
	case over:
		return false
	case len(events) == 0:
		s.idle = min(max(2*s.idle, tick), time.Minute)
		s.pass(s.idle)
		return s.patient(maxIdle)
	}
	e := events[0]
	if len(events) > 1 {
		e = events[choose.pick(events)]
	}
	if e.fate != wait {
		s.idle = 0
	}
	s.happen(e)
	synctest.Wait()
	if s.pauses() {
		s.pass(pause)
	} else {
		s.pass(tick)
	}
	return s.patient(maxSteps)
}

// patient ends a run that does not end.
func (s *scheduler) patient(most int) bool {
	if s.story.step > most {
		s.story.fail("", "no end after %d steps", s.story.step)
	}
	return s.story.step <= most
}

// pass lets time pass.
func (s *scheduler) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
	s.story.advance()
	s.history.tock()
}

// isCalm reports whether nothing went wrong in the run of a scenario.
func (s *scheduler) isCalm(of *Scenario) bool {
	return s.faults == of.Faults && len(s.leaps) == len(of.Leaps)
}

// stop stops every client that is not done.
func (s *scheduler) stop() {
	for _, c := range s.clients {
		if s.traffic.mu.Lock(); !c.done {
			s.traffic.mu.Unlock()
			s.traffic.crash(c)
			synctest.Wait()
			continue
		}
		s.traffic.mu.Unlock()
	}
}
