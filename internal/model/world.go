package main

// elapse makes what happens without an actor: calls under way are carried out late,
// fading rows go, the hour strikes, tombstones expire.
func (m *Model) elapse(s *State) {
	for k, g := range s.flights {
		if g.verb == doNothing || k > 0 && g == s.flights[0] {
			continue
		}
		n := *s
		n.flights[k] = Message{}
		outcome := outcomeRefused
		if m.protocol.apply(&n, &g) {
			outcome = outcomeDone
		}
		m.emit(&n, Event{who: world, what: "LATE", message: g, outcome: outcome})
	}
	for slot, row := range s.rows {
		if row.on == fading && (!s.scanning() || m.protocol.mutant == dropsAtOnce) {
			n := *s
			n.rows[slot] = Row{}
			m.emit(&n, Event{who: world, what: "a row's TTL ends", message: Message{verb: doDropRow, id: row.id, value: row.value, tok: uint8(slot)}, outcome: "gone"})
		}
	}
	for id := range s.records {
		m.expire(s, uint8(id))
	}
	if s.minute < m.protocol.minutes {
		n := *s
		n.minute++
		m.emit(&n, Event{who: world, what: "a minute passes", outcome: "so be it"})
	}
}

// expire: the hour strikes, or the tombstone of a record has stood its time.
func (m *Model) expire(s *State, id uint8) {
	n := *s
	switch r := &n.records[id]; {
	case r.status == live && r.expires == 1 && s.hour == 0:
		n.hour = 1
		m.emit(&n, Event{who: world, what: "the hour strikes: a record expires", id: id, outcome: "so be it"})
	case r.status == tombstone:
		m.protocol.giveUp(&n, id, r.rev)
		*r = Record{}
		m.emit(&n, Event{who: world, what: "its tombstone expires", id: id, outcome: "nothing is there"})
	}
}

// scanning says that a scan of a range is under way: a TTL is longer than one.
func (s *State) scanning() bool {
	for i := range s.actors {
		if a := &s.actors[i]; a.role == scanner && a.done == 0 && a.step != 0 {
			return true
		}
	}
	return false
}

// giveUp is the age limit, seen from the tombstone that expires. It has stood for
// longer than any attempt or fence lasts. An attempt begins by reading the record,
// and so does a fence; who has another base than this tombstone has read before it
// was written. So these have given up, and none of their compare-and-sets on the
// record is under way any more. Rows and claims, and who deals with them, may be as
// old as they like.
func (p *Protocol) giveUp(n *State, id, tomb uint8) {
	if p.mutant == tombstoneTooEarly {
		return
	}
	for i := range n.actors {
		if a := &n.actors[i]; a.done == 0 {
			if p.settles && (i == 0 || a.role == resolver) {
				a.since = uint8(len(n.records[id].ring)) // the ring goes
			}
			p.giveUpFence(a, id, tomb)
			p.giveUpAttempt(a, id, tomb)
		}
	}
	for k := range n.flights {
		g := &n.flights[k]
		if (g.verb == doCommit || g.verb == doPatch) && g.id == id && g.on == 1 {
			g.on = 0 // it is younger than the tombstone; not than the next one
			continue
		}
		limited := (g.verb == doCommit || g.verb == doPatch || g.verb == doReindex) && p.mutant != commitUnlimited ||
			(g.verb == doFence || g.verb == doBury) && p.mutant != fenceUnlimited
		if limited && g.id == id && g.when != tomb {
			*g = Message{}
		}
	}
}

// giveUpAttempt ends an attempt on the record, and makes an outcome that is to be
// settled stale.
func (p *Protocol) giveUpAttempt(a *Actor, id, tomb uint8) {
	switch {
	case a.blind == 1 && a.step != stepRead && a.id == id && a.base.status == tombstone:
		a.base.status = absent // the same
	case a.role == resolver && a.step != stepPick && a.item.id == id && a.item.base != tomb:
		a.stale = 1
	case !a.writes() || a.step == stepRead || a.id != id || a.base.rev == tomb:
	case a.step == stepSettle:
		a.stale = 1
	case p.mutant == insertUnread && a.base.status == tombstone: // it began after the tombstone was written
	case a.step < stepSettle && p.mutant != commitUnlimited:
		a.finish()
	}
}

// giveUpFence ends a fence under way: its actor looks again, and takes a new token
// if it has to fence again.
func (p *Protocol) giveUpFence(a *Actor, id, tomb uint8) {
	if a.fence == 0 || a.at == tomb || p.mutant == fenceUnlimited {
		return
	}
	switch {
	case !a.writes() && a.step == stepFenceItem && a.item.id == id:
		a.step = stepLook
	case a.writes() && (a.step == stepFence || a.step == stepBury) && a.rival.owner == id:
		a.step = stepRival
	default:
		return
	}
	if a.at = 0; p.mutant != fenceReused {
		a.fence = 0
	}
}
