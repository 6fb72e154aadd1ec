package main

// The steps of a lookup by equality: two pages of rows, then each record that had a row.
const (
	stepPageOne = iota
	stepPageTwo
	stepRecord
	stepsOfFind = stepRecord + nRecords
)

// find makes the next step of a lookup by the index.
func (m *Model) find(s *State, i int) {
	n := *s
	a := &n.actors[i]
	if m.protocol.builds && s.ready == 0 && m.protocol.mutant != readyAtOnce {
		return // nobody uses an index before it is ready
	}
	if a.step == 0 {
		a.must = s.matches(a)
		a.may = a.must
	}
	e := Event{who: i, message: Message{value: a.value}, what: "lists rows, page one", outcome: "done"}
	switch a.step {
	case stepPageOne, stepPageTwo:
		m.protocol.list(s, a, a.step)
		if a.step == stepPageTwo {
			e.what = "lists rows, page two"
		}
	default:
		e.id, e.what = a.step-stepRecord, "reads a record it had a row of"
		e.outcome = "not an answer"
		if m.protocol.accepts(s, a, e.id) {
			a.got |= 1 << e.id
			e.outcome = "an answer"
		}
	}
	m.protocol.nextFind(&n, a)
	m.emit(&n, e)
}

// list notes the rows of a page. A slice of an index is not read at one moment: the
// row of the token that was there first is on the second page.
func (p *Protocol) list(s *State, a *Actor, page uint8) {
	for slot, row := range s.rows {
		if row.on == gone || row.value != a.value || (slot == firstToken) != (page == stepPageTwo) {
			continue
		}
		a.seen |= 1 << row.id
		if p.mutant == readerWantsRev || p.mutant == readerTrustsRing {
			a.tokens.add(uint8(slot))
		}
	}
}

// accepts says whether record id, read now because it had a row, is an answer.
func (p *Protocol) accepts(s *State, a *Actor, id uint8) bool {
	r := &s.records[id]
	switch p.mutant {
	case readerTrustsRow:
		return true
	case readerIgnoresExpiry:
		return r.status == live && r.value == a.value
	case readerWantsRev:
		return s.current(int(id)) && a.tokens.has(r.rev)
	case readerTrustsRing:
		return s.current(int(id)) && (a.tokens.has(r.ring[0]) || a.tokens.has(r.ring[1]))
	}
	return s.matches(a)>>id&1 == 1
}

// nextFind goes to the next step that does something, or answers.
func (p *Protocol) nextFind(n *State, a *Actor) {
	for a.step++; a.step >= stepRecord && a.step < stepsOfFind; a.step++ {
		if a.seen>>(a.step-stepRecord)&1 == 1 {
			break
		}
	}
	if a.step == stepsOfFind {
		answer(n, a)
	}
}

// answer ends a lookup by the index.
func answer(n *State, a *Actor) {
	n.fail(a.got&^a.may != 0, faultFalse)
	n.fail(a.must&^a.got != 0, faultMiss)
	a.finish()
}

// matches returns, by record, what a lookup should answer at this moment.
func (s *State) matches(a *Actor) (ids uint8) {
	for id := range s.records {
		if r := &s.records[id]; s.current(id) && r.value != 0 && (r.value == a.value || a.role == scanner && r.value < a.value) {
			ids |= 1 << id
		}
	}
	return ids
}

// holder returns who holds the unique value: bit 0 nobody, bit 1 record 0, bit 2
// record 1.
func (s *State) holder() uint8 {
	for id := range s.records {
		if s.current(id) && s.records[id].unique != 0 {
			return 2 << id
		}
	}
	return 1
}

// findUnique reads the claim, then its owner. The answer must be one that was true
// at some moment of the call.
func (m *Model) findUnique(s *State, i int) {
	n := *s
	a := &n.actors[i]
	e := Event{who: i, what: "reads the claim", outcome: "taken"}
	if a.step == 0 {
		a.may, a.rival, a.step = s.holder(), s.claim, 1
		if a.rival.tok != 0 {
			m.emit(&n, e)
			return
		}
		a.got, e.outcome = 1, "free: answers nobody"
	} else {
		r := &s.records[a.rival.owner]
		a.got, e.what, e.id, e.outcome = 1, "reads the owner", a.rival.owner, "answers nobody"
		if s.current(int(a.rival.owner)) && r.unique != 0 && r.claim == a.rival.tok || m.protocol.mutant == readerTrustsClaim {
			a.got, e.outcome = 2<<a.rival.owner, "answers it"
		}
	}
	n.fail(a.may&a.got == 0, faultUnique)
	a.finish()
	m.emit(&n, e)
}
