package main

import "fmt"

// The kinds of operations.
const (
	put    uint8 = iota // reads the record, and writes it or makes it anew
	remove              // reads the record, and deletes it
	patch               // sets the value of a record that is there, unread if no index of the view has the field
)

// An Op is what a program does.
type Op struct{ do, id, value uint8 }

func (o Op) String() string {
	return fmt.Sprintf([...]string{"put r%d with %d", "delete r%d (%d)", "patch r%d to %d"}[o.do], o.id, o.value)
}

// programSteps adds what a program may do next.
func (m *Model) programSteps(s *State, i int) {
	p := &s.programs[i]
	if p.valid {
		m.add(s, i, "its view is too old", func(n *State) { n.programs[i].valid = false })
	}
	if p.phase >= hasPut && !p.late {
		m.add(s, i, "what it sent is late", func(n *State) { n.programs[i].late = true })
	}
	if p.view != s.cat || !p.valid {
		m.add(s, i, "reads the catalog", func(n *State) { n.programs[i].view, n.programs[i].valid = n.cat, true })
	}
	if int(p.op) >= len(m.ops[i]) {
		return
	}
	op := m.ops[i][p.op]
	switch p.phase {
	case begins:
		if m.mutant != checkBeforeRead {
			m.add(s, i, "reads r"+fmt.Sprint(op.id), func(n *State) { n.read(i, op) })
		} else if p.valid {
			m.add(s, i, "looks at its view", func(n *State) { n.programs[i].phase, n.programs[i].plan = checked, m.known(n, i) })
		}
	case checked:
		m.add(s, i, "reads r"+fmt.Sprint(op.id), func(n *State) { n.read(i, op) })
	case hasRead:
		if p.valid || m.mutant == expiredView || m.mutant == checkBeforeRead {
			m.add(s, i, "looks at its view, and sends "+op.String(), func(n *State) { m.send(n, i, op) })
		}
	case hasPut:
		m.add(s, i, "sends "+op.String(), func(n *State) { n.programs[i].phase = sent })
	case sent:
		m.add(s, i, "commits "+op.String(), func(n *State) { m.commit(n, i, op) })
	}
}

func (s *State) read(i int, op Op) {
	p := &s.programs[i]
	p.base, p.phase = s.records[op.id], hasRead
}

// known returns the view that a program goes by.
func (m *Model) known(s *State, i int) View {
	if m.mutant == blind && i == 1 {
		return View{}
	}
	return s.programs[i].view
}

// send plans a write by the program's view. A row elsewhere comes first.
func (m *Model) send(s *State, i int, op Op) {
	p := &s.programs[i]
	if m.mutant != checkBeforeRead {
		p.plan = m.known(s, i)
	}
	p.phase, p.token, p.late = sent, 0, !p.valid
	if m.elsewhere && op.do != remove && p.plan.state >= written {
		p.phase, p.token = hasPut, s.putRow(Row{p.plan.table, op.id, op.value})
	}
}

// putRow puts a row elsewhere, under a token that nothing has.
func (s *State) putRow(r Row) (token uint8) {
	for token = 1; s.rows[token] != (Row{}) || s.records[0].entry == token || s.records[1].entry == token; {
		token++
	}
	s.rows[token] = r
	return token
}

// unread reports whether a write depends on no record that was read.
func (p *Program) unread(op Op) bool { return op.do == patch && p.plan.state == gone }

// inTime reports whether the store lets a write through, by what the program knew.
func (m *Model) inTime(s *State, p *Program, op Op) bool {
	switch {
	case m.guard == epoch:
		return p.plan == s.cat
	case m.guard == deadline:
		return !p.late
	case op.do == put && !p.base.there:
		return !p.late || m.mutant == lateInsert
	case p.unread(op):
		return !p.late || m.mutant == latePatch
	}
	return true
}

// commit lets a write that was sent arrive.
func (m *Model) commit(s *State, i int, op Op) {
	p, now := &s.programs[i], s.records[op.id]
	fits := now.rev == p.base.rev && now.there == p.base.there
	if p.unread(op) {
		fits, p.base = true, now
	}
	if !m.inTime(s, p, op) && m.mutant != expiredView || !fits {
		s.rows[p.token] = Row{} // it is dead
		p.phase, p.token, p.late = begins, 0, false
		return
	}
	p.op, p.phase, p.late = p.op+1, begins, false
	if op.do != put && !now.there {
		return
	}
	next := Record{there: true, value: op.value, rev: s.newRev(), entry: p.token}
	if op.do == remove {
		next = Record{rev: next.rev}
	}
	if !m.elsewhere && !m.keepRows(s, p.plan, op.id, now, next) {
		return
	}
	s.rows[now.entry], s.records[op.id], p.token = Row{}, next, 0
}

// keepRows changes the rows that lie with a record, and returns false if a unique value is taken.
func (m *Model) keepRows(s *State, by View, id uint8, old, next Record) bool {
	if by.state >= written && m.unique && next.there {
		if other, taken := s.holder(by.table, next.value, id); taken {
			if r := s.records[other]; !r.there || r.value != next.value {
				s.fault = "P4: a value is refused that no other record has"
			}
			return false
		}
	}
	if by.state >= declared && old.there {
		s.with[by.table] &^= bit(old.value, id)
	}
	if by.state >= written && next.there {
		s.with[by.table] |= bit(next.value, id)
	}
	return true
}
