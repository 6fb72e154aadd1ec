package main

// faceRival looks at the owner of the claim in the way.
func (m *Model) faceRival(s *State, i int) {
	n := *s
	a := &n.actors[i]
	owner := &s.records[a.rival.owner]
	verdict := m.protocol.judgeClaim(owner, a.rival.tok, a.rival.base)
	outcome := verdictText[verdict]
	switch {
	case verdict == isDead:
		a.step = stepPrepare
	case verdict == isPending && m.protocol.mutant == pendingBlocks:
		outcome = "ErrExists"
		a.more = 0
		m.protocol.toAbort(a)
	case verdict == isPending:
		a.step = stepFence
	case owner.expired(s.hour, a.fast):
		outcome = "live, but expired"
		a.step, a.at = stepBury, owner.rev
		if m.protocol.mutant == stealExpired {
			a.step, a.at = stepPrepare, 0
		}
	default:
		outcome = "live: ErrExists"
		a.more = 0
		m.protocol.toAbort(a)
	}
	m.emit(&n, Event{who: i, what: "finds the value claimed, reads the owner", id: s.actors[i].rival.owner, outcome: outcome})
}

// stopOwner fences the owner of a pending claim, or buries one that expired; then
// it looks again, whatever the answer.
func (m *Model) stopOwner(s *State, i int) {
	a := s.actors[i]
	g := Message{verb: doFence, id: a.rival.owner, when: a.rival.base}
	if a.step == stepBury {
		owner := &s.records[a.rival.owner]
		g = Message{verb: doBury, id: a.rival.owner, when: a.at}
		g.next = Record{status: tombstone, ring: [2]uint8{0, owner.ring[0]}}
	}
	m.sendFence(s, i, g, stepRival)
}

// sendFence sends a fence with a token of its own, the same for its copies.
func (m *Model) sendFence(s *State, i int, g Message, back uint8) {
	n := *s
	a := &n.actors[i]
	a.at = g.when
	if a.fence == 0 {
		switch {
		case m.protocol.mutant == fenceConstant:
			a.fence = nTokens
		case m.protocol.mutant == fenceWritesEntry && g.when == 0:
			a.fence = a.rival.tok | a.item.slot
		default:
			a.fence = fresh(&n)
		}
	}
	g.tok = a.fence
	if g.verb == doBury {
		g.next.rev, g.next.ring[0] = g.tok, g.tok
	}
	m.protocol.stamp(&n, a, a.fence)
	m.send(&n, i, g, func(_ *State, a *Actor, _ bool) {
		if a.role == resolver && m.protocol.unread {
			a.base.rev, a.base.entry = a.fence, 0
		}
		if m.protocol.mutant != fenceReused {
			a.fence = 0
		}
		a.at, a.step = 0, back
	})
}
