package main

import "fmt"

// A Sleeper is a filler that stood still while another one took over. It knows nothing of that: it goes on with the
// record at which it was, and those behind it.
type Sleeper struct {
	there bool
	valid bool // its view
	view  View
	id    uint8
	read  bool
	base  Record // as read
	sent  bool
	token uint8
}

// takeOver adds that the filler stands still for a while, once, and another one goes on where the catalog says that it was.
func (m *Model) takeOver(s *State) {
	if !m.sleeps || s.slept {
		return
	}
	m.add(s, nPrograms, "stands still, and another one takes over", func(n *State) {
		c := &n.changer
		n.slept = true
		n.sleeper = Sleeper{there: true, valid: true, view: n.cat, id: c.record, read: c.read, base: c.base, sent: c.put, token: c.token}
		next := c.record
		if m.mutant == markAhead {
			next++
		}
		n.changer = Changer{at: c.at, fills: true, record: next}
	})
}

// sleeperSteps adds what the filler that stood still may do next.
func (m *Model) sleeperSteps(s *State) {
	p := &s.sleeper
	if !p.there {
		return
	}
	if p.valid {
		m.add(s, nPrograms+1, "its view is too old", func(n *State) { n.sleeper.valid = false })
	}
	switch {
	case p.sent:
		m.add(s, nPrograms+1, fmt.Sprint("fences r", p.id, " and gives it its row"), func(n *State) { m.fenceLate(n) })
	case !p.read:
		m.add(s, nPrograms+1, fmt.Sprint("reads r", p.id), func(n *State) {
			n.sleeper.read, n.sleeper.base = true, n.records[p.id]
			if !n.sleeper.base.there {
				n.sleeper.next(p.id + 1)
			}
		})
	case p.valid || m.mutant == fillerBlind:
		m.add(s, nPrograms+1, "looks at its view, and sends", func(n *State) {
			n.sleeper.sent = true
			if m.elsewhere {
				n.sleeper.token = n.putRow(Row{p.view.table, p.id, p.base.value})
			}
		})
	}
}

// next goes on with a record.
func (p *Sleeper) next(id uint8) {
	if *p = (Sleeper{there: true, valid: p.valid, view: p.view, id: id}); id == nRecords {
		*p = Sleeper{}
	}
}

// fenceLate is fence for what was sent by a filler that may have stood still before that arrives.
func (m *Model) fenceLate(s *State) {
	p := s.sleeper
	r := &s.records[p.id]
	if r.rev != p.base.rev {
		s.rows[p.token] = Row{}
		s.sleeper.next(p.id)
		return
	}
	if !m.elsewhere {
		m.keepRows(s, p.view, p.id, *r, *r)
	}
	s.rows[r.entry] = Row{}
	if r.entry = p.token; m.mutant != noFence {
		r.rev = s.newRev()
	}
	s.sleeper.next(p.id + 1)
}
