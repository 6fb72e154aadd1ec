package main

// A Model makes the steps of actors, and of the world, and keeps the states that follow.
type Model struct {
	protocol *Protocol
	timeouts int // calls of each actor that may get no answer
	tracing  bool
	out      []State // the states that follow
	events   []Event // what led to each, when tracing
}

// An Event is one step of a story.
type Event struct {
	who     int // actor, or world
	what    string
	id      uint8
	message Message
	outcome string
}

const world = -1

func (m *Model) emit(n *State, e Event) {
	if m.tracing {
		m.events = append(m.events, e)
	}
	m.out = append(m.out, *n)
}

// The outcomes of a call.
const (
	outcomeDone    = "done"
	outcomeRefused = "refused"
	outcomeSilent  = "NO ANSWER, the call stays under way"
)

// send makes the call g for actor i. Either it is carried out and answered, or
// there is no answer: then it stays under way, to be carried out at any later
// moment or never, and the actor makes it again. Drops are not waited for: after
// them the actor goes on in either case.
func (m *Model) send(s *State, i int, g Message, answered func(n *State, a *Actor, ok bool)) {
	g.by = uint8(i)
	n := *s
	ok := m.protocol.apply(&n, &g)
	answered(&n, &n.actors[i], ok)
	outcome := outcomeDone
	if !ok {
		outcome = outcomeRefused
	}
	m.emit(&n, Event{who: i, message: g, outcome: outcome})
	if int(s.actors[i].timeouts) >= m.timeouts {
		return
	}
	for k := range s.flights {
		if s.flights[k].verb != doNothing {
			continue
		}
		n := *s
		a := &n.actors[i]
		n.flights[k] = g
		a.timeouts++
		switch {
		case g.verb == doDropRow || g.verb == doDropClaim:
			answered(&n, a, true)
		case (g.verb == doCommit || g.verb == doPatch) && m.protocol.mutant == timeoutIsFailure && a.writes():
			m.protocol.toAbort(a)
		}
		m.emit(&n, Event{who: i, message: g, outcome: outcomeSilent})
		return
	}
}

// step makes every step that can follow s, in an order that depends on s alone. The
// slice is used again by the next call.
func (m *Model) step(s *State) []State {
	m.out, m.events = m.out[:0], m.events[:0]
	for i := range s.actors {
		if s.actors[i].done == 0 {
			m.act(s, i)
		}
	}
	m.elapse(s)
	return m.out
}

// act makes the next step of actor i, in all the ways it can go.
func (m *Model) act(s *State, i int) {
	switch a := &s.actors[i]; {
	case a.writes():
		m.write(s, i)
	case a.role == rowSweeper || a.role == claimSweeper:
		m.sweep(s, i)
	case a.role == resolver:
		m.settleOutcome(s, i)
	case a.role == mender:
		m.mend(s, i)
	case a.role == uniqueFinder:
		m.findUnique(s, i)
	case a.role == finder:
		m.find(s, i)
	case a.role == scanner:
		m.scan(s, i)
	}
}
