package main

// sweep makes the next step of a sweeper, which deals with one row or claim.
func (m *Model) sweep(s *State, i int) {
	a := s.actors[i]
	switch a.step {
	case stepPick:
		m.pick(s, i)
	case stepLook:
		m.look(s, i)
	case stepFenceItem:
		m.sendFence(s, i, Message{verb: doFence, id: a.item.id, when: a.item.base}, stepLook)
	case stepDrop:
		g := Message{verb: doDropRow, id: a.item.id, value: a.item.value, tok: a.item.slot, on: m.protocol.drop}
		if m.protocol.mutant == sweepAtOnce {
			g.on = gone
		}
		if a.role == claimSweeper {
			g = Message{verb: doDropClaim, id: a.item.id, when: a.item.slot}
		}
		m.send(s, i, g, func(_ *State, a *Actor, _ bool) { a.finish() })
	}
}

// pick takes any row, or the claim.
func (m *Model) pick(s *State, i int) {
	take := func(what string, it Item) {
		n := *s
		n.actors[i].item, n.actors[i].step = it, stepLook
		m.emit(&n, Event{who: i, what: what, message: Message{id: it.id, value: it.value, tok: it.slot, base: it.base}, id: it.id, outcome: "picked"})
	}
	if s.actors[i].role == claimSweeper {
		if s.claim.tok != 0 {
			take("finds a claim", Item{s.claim.tok, 0, s.claim.owner, s.claim.base})
		}
		return
	}
	for slot, row := range s.rows {
		if row.on == there {
			take("finds a row", Item{uint8(slot), row.value, row.id, row.base})
		}
	}
}

// look reads the record, and says what becomes of the row or claim.
func (m *Model) look(s *State, i int) {
	n := *s
	a := &n.actors[i]
	r := &s.records[a.item.id]
	var verdict int
	if a.role == claimSweeper {
		verdict = m.protocol.judgeClaim(r, a.item.slot, a.item.base)
	} else {
		verdict = m.protocol.judgeRow(r, a.item)
	}
	switch {
	case verdict == isDead:
		a.step = stepDrop
	case verdict == isPending && m.protocol.mutant != pendingStays:
		a.step = stepFenceItem
	default:
		a.finish()
	}
	m.emit(&n, Event{who: i, what: "reads its record", id: s.actors[i].item.id, outcome: verdictText[verdict]})
}

// settleOutcome makes the next step of a resolver: another process, which was given
// the outcome of actor 0's first attempt. Its item is the write, at what it fences, and
// fence the token that it fenced a tombstone with.
func (m *Model) settleOutcome(s *State, i int) {
	n := *s
	a := &n.actors[i]
	r := &s.records[a.item.id]
	switch a.step {
	case stepPick:
		w := &s.actors[0]
		if w.done == 1 || w.step < stepCommit || w.step > stepSettle {
			return
		}
		a.item, a.step, a.stale = Item{slot: w.tok, id: w.id, base: w.base.rev}, stepLook, w.stale
		a.base.ring[0], a.since = w.base.ring[0], w.since
		if w.role == patcher {
			a.unbased = w.blind
		}
		m.emit(&n, Event{who: i, what: "is given the open outcome of the first actor", message: Message{id: w.id, tok: w.tok, base: w.base.rev}, outcome: "begins"})
	case stepLook:
		answer := m.protocol.resolve(&n, r, write{a.item.slot, a.item.base, a.base.ring[0], a.stale, a.base.rev, a.unbased})
		n.fail(answer == answerUnknown && m.protocol.settles && a.since < uint8(len(r.ring)), faultUnsettled)
		if a.step = stepFenceItem; m.protocol.unread {
			a.base.entry = r.rev
		}
		if answer != answerOpen {
			a.finish()
		}
		m.emit(&n, Event{who: i, what: "resolves: reads", id: s.actors[i].item.id, outcome: answerText[answer]})
	case stepFenceItem:
		m.fenceOutcome(s, i)
	}
}

// fenceOutcome fences the record of an outcome at the Rev that was read. A tombstone that
// it made or fenced is younger than the write.
func (m *Model) fenceOutcome(s *State, i int) {
	a := s.actors[i]
	at := a.item.base
	if m.protocol.unread {
		at = a.base.entry
	}
	m.sendFence(s, i, Message{verb: doFence, id: a.item.id, when: at}, stepLook)
}

// mend makes the next step of one who puts the row and the claim of a live record
// again, in case they are lost. Their base is their own token: a Rev that is the
// record's only while they are live, so that they are never taken for pending.
func (m *Model) mend(s *State, i int) {
	a := s.actors[i]
	next := func(_ *State, a *Actor, _ bool) {
		if a.todo &= a.todo - 1; a.todo == 0 {
			a.finish()
		}
	}
	switch r := &s.records[a.id]; {
	case a.step == 0:
		n := *s
		b := &n.actors[i]
		b.step, b.value, b.base.entry, b.base.claim = 1, r.value, r.entry, r.claim
		if b.todo = min(1, r.entry)*jobRow | min(1, r.claim)*jobClaim; r.status != live || b.todo == 0 {
			b.finish()
		}
		m.emit(&n, Event{who: i, what: "reads, to mend its row and claim", id: a.id, outcome: "begins"})
	case a.todo&jobRow != 0:
		m.send(s, i, Message{verb: doPutRow, id: a.id, value: a.value, tok: a.base.entry, base: a.base.entry, on: there}, next)
	default:
		m.send(s, i, Message{verb: doPutClaim, id: a.id, tok: a.base.claim, base: a.base.claim}, next)
	}
}
