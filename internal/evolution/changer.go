package main

import "fmt"

// A Change is what the changer does to the index.
type Change uint8

// What a changer does.
const (
	add Change = iota
	fill
	finish // the index is ready
	leave
	takeOut // the index is gone
)

// adding and dropping are the steps of it.
var (
	adding   = []Change{add, add, fill, finish}
	dropping = []Change{leave, takeOut}
)

// changerSteps adds what the changer may do next.
func (m *Model) changerSteps(s *State) {
	c := &s.changer
	if int(c.at) >= len(m.changes) {
		return
	}
	do := m.changes[c.at]
	if do == fill {
		m.fillSteps(s)
		return
	}
	if !m.waited(s) {
		return
	}
	next := s.cat
	switch do {
	case add:
		next.state++
		if s.cat.state == gone && m.mutant != sameTable {
			next.table = s.tables
		}
		if s.cat.state == gone && m.mutant == declaredLeftOut {
			next.state = written
		}
		if s.cat.state == written { // declared was left out
			next = s.cat
		}
	case finish:
		next.state = ready
	case leave:
		next.state = leaving
		if m.mutant == leavingLeftOut {
			next = View{gone, s.cat.table}
		}
	case takeOut:
		next.state = gone
	}
	m.add(s, nPrograms, "says "+stateText[next.state]+fmt.Sprint(", table ", next.table), func(n *State) {
		if next.state == declared || n.cat.state == gone && next.state == written {
			n.tables = min(n.tables+1, nTables-1)
		}
		n.cat = next
		n.changer.at++
	})
}

// waited reports whether no program has a valid view of another state, nor anything sent by one.
func (m *Model) waited(s *State) bool {
	if m.mutant == noWait {
		return true
	}
	for _, p := range s.programs {
		if p.valid && p.view != s.cat || p.phase >= hasPut && !p.late && p.plan != s.cat {
			return false
		}
	}
	return !s.sleeper.valid || s.sleeper.view == s.cat
}

// fillSteps adds the next step of a filling: a record is read, its row elsewhere is put, and both are committed.
func (m *Model) fillSteps(s *State) {
	c := &s.changer
	if m.mutant == readyAtOnce || c.record == nRecords {
		m.add(s, nPrograms, "has filled the index", func(n *State) { n.changer = Changer{at: c.at + 1} })
		return
	}
	if !c.fills && !m.waited(s) { // until all write
		return
	}
	id := c.record
	m.takeOver(s)
	switch {
	case !c.read:
		m.add(s, nPrograms, fmt.Sprint("reads r", id), func(n *State) {
			n.changer.fills, n.changer.read, n.changer.base = true, true, n.records[id]
			if !n.changer.base.there {
				n.changer.nextRecord()
			}
		})
	case m.elsewhere && !c.put:
		m.add(s, nPrograms, fmt.Sprint("puts a row of r", id), func(n *State) {
			n.changer.token, n.changer.put = n.putRow(Row{n.cat.table, id, n.changer.base.value}), true
		})
	default:
		m.add(s, nPrograms, fmt.Sprint("fences r", id, " and gives it its row"), func(n *State) { m.fence(n, id) })
	}
}

func (c *Changer) nextRecord() { *c = Changer{at: c.at, fills: true, record: c.record + 1} }

// fence gives a record a new Rev and its row, if nobody changed it.
func (m *Model) fence(s *State, id uint8) {
	c, r := &s.changer, &s.records[id]
	if r.rev != c.base.rev {
		s.rows[c.token] = Row{}
		c.read, c.put, c.token = false, false, 0
		return
	}
	if !m.elsewhere {
		if !m.keepRows(s, s.cat, id, *r, *r) { // a clash: the index is taken back
			s.cat.state = gone
			s.changer = Changer{at: uint8(len(m.changes))}
			return
		}
	}
	s.rows[r.entry] = Row{}
	if r.entry = c.token; m.mutant != noFence {
		r.rev = s.newRev()
	}
	c.nextRecord()
}
