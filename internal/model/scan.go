package main

// A Scan is where a lookup by range is. The places of the range are the values from
// that of its actor down to A, in this order. It lists the rows of a batch of
// places, then reads the record of each row. A place is listed at one moment: no row
// that was live goes while a scan lasts, so that pages of it would show no less.
type Scan struct {
	home [nRecords]uint8              // the place of a record that matched and did not move since the call began, or 0
	rows [nValues + 1]uint8           // by place, the records that have a row there in the batch
	own  [nValues + 1][nRecords]uint8 // by row, the record's place when it was read; 0: not read yet
}

// nowhere is the place of a record that does not match.
const nowhere = nValues + 1

// scan makes the next step of a lookup by range.
func (m *Model) scan(s *State, i int) {
	a := &s.actors[i]
	if first, at := a.batchOf(); at < a.batch {
		m.listPlace(s, i, first-at)
		return
	}
	for place := a.value; place > 0; place-- {
		for id := range uint8(nRecords) {
			if s.scan.unread(place, id) {
				m.readOf(s, i, place, id)
			}
		}
	}
}

// batchOf returns the first place of the batch that a scan is in, and its step there:
// one for each place, and the last to read and to answer.
func (a *Actor) batchOf() (first, at uint8) {
	steps := a.batch + 1
	return a.value - a.step/steps*a.batch, a.step % steps
}

func (c *Scan) has(place, id uint8) bool    { return c.rows[place]>>id&1 == 1 }
func (c *Scan) unread(place, id uint8) bool { return c.has(place, id) && c.own[place][id] == 0 }

// listPlace notes the records that have rows at a place.
func (m *Model) listPlace(s *State, i int, place uint8) {
	n := *s
	a := &n.actors[i]
	if a.step == 0 {
		a.must = s.matches(a)
		a.may = a.must
		for id := range s.records {
			n.scan.home[id] = s.placeNow(id) * (a.must >> id & 1)
		}
	}
	for _, row := range s.rows {
		if row.on != gone && row.value == place && (a.got>>row.id&1 == 0 || m.protocol.mutant == scanRepeats) {
			n.scan.rows[place] |= 1 << row.id
		}
	}
	a.step++
	m.protocol.nextScan(&n, a)
	m.emit(&n, Event{who: i, what: "lists rows", message: Message{value: place}, outcome: "done"})
}

// readOf reads a record because of a row. The records of a batch are read in any
// order, and one that has two rows may be read twice.
func (m *Model) readOf(s *State, i int, place, id uint8) {
	n := *s
	a := &n.actors[i]
	own := s.placeNow(int(id))
	outcome := "is at " + valueText(own)
	if own == 0 || own > a.value && m.protocol.mutant != scanForgetsBounds {
		own, outcome = nowhere, "does not match"
	}
	n.scan.own[place][id] = own
	m.protocol.nextScan(&n, a)
	m.emit(&n, Event{who: i, what: "reads the record of the row " + valueText(place), id: id, outcome: outcome})
}

// placeNow returns the place of a record, 0 if it has none.
func (s *State) placeNow(id int) uint8 {
	if !s.current(id) {
		return 0
	}
	return s.records[id].value
}

// nextScan answers with a batch when all is read, and goes to the next.
func (p *Protocol) nextScan(n *State, a *Actor) {
	for {
		first, at := a.batchOf()
		if at < a.batch && at >= first {
			a.step += a.batch - at // the range ends within the batch
			continue
		}
		if at < a.batch || n.scan.left() {
			return
		}
		p.answerBatch(n, a, first)
		n.scan = Scan{home: n.scan.home}
		if a.step++; first <= a.batch {
			n.scan = Scan{}
			answer(n, a)
			return
		}
	}
}

// left says whether a row of the batch is not read yet.
func (c *Scan) left() bool {
	for place := range c.rows {
		for id := range uint8(nRecords) {
			if c.unread(uint8(place), id) {
				return true
			}
		}
	}
	return false
}

// answerBatch goes over the rows of a batch in their order.
func (p *Protocol) answerBatch(n *State, a *Actor, first uint8) {
	last := first - min(first-1, a.batch-1)
	for place := first; place >= last; place-- {
		for id := range uint8(nRecords) {
			if !n.scan.has(place, id) || !p.belongs(&n.scan, place, id, last) {
				continue
			}
			had := a.got>>id&1 == 1
			if had && p.mutant != scanRepeats {
				continue
			}
			home := n.scan.home[id]
			n.fail(had, faultRepeat)
			n.fail(home != 0 && home != place, faultPlace)
			a.got |= 1 << id
		}
	}
}

// belongs says whether a record is to be returned at a row, if it was not returned
// before. A scan comes from the larger places.
func (p *Protocol) belongs(c *Scan, place, id, last uint8) bool {
	own := c.own[place][id]
	switch {
	case own == nowhere:
		return false
	case own == place || p.mutant == scanAnyRow:
		return true
	case p.mutant == readerWantsPlace:
		return false
	case own > place: // behind the row
		return p.mutant != scanSkipsBehind
	case own >= last: // ahead of the row, and listed: it comes there, or it moved there meanwhile
		return !c.has(own, id) && p.mutant != scanSkipsListed
	}
	return false // not listed yet: it is still to come
}
