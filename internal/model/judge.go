package main

// The faults that a state can have. The first word is the promise that is broken.
const (
	faultNone = iota
	faultBack
	faultLost
	faultLate
	faultTwice
	faultYes
	faultNo
	faultMiss
	faultRow
	faultFalse
	faultTwo
	faultClaim
	faultUnique
	faultGarbage
	faultBlocked
	faultSwept
	faultPlace
	faultRepeat
	faultUnsettled
)

var faultText = [...]string{
	faultBack:      "P1: a version that was there came back",
	faultLost:      "P1: an update is lost: a commit replaced a version that its writer had not read",
	faultLate:      "P1: a write that was refused for good happened afterwards",
	faultTwice:     "P1: one write happened twice",
	faultYes:       "P6: the answer was committed, and it never was",
	faultNo:        "P6: the answer was not committed, and it was",
	faultMiss:      "P2: a lookup missed a record that matched all the time",
	faultRow:       "P2: a live record has no row in the index, so that every lookup misses it",
	faultFalse:     "P3: a lookup returned a record that did not match during the call",
	faultTwo:       "P4: two live records have one unique value",
	faultClaim:     "P4: a live record does not own the claim on its unique value",
	faultUnique:    "P4: a lookup by unique value gave an answer that was true at no moment of the call",
	faultGarbage:   "P5: everybody has stopped, and sweepers leave garbage",
	faultBlocked:   "P5: everybody has stopped, and a free unique value cannot be had",
	faultSwept:     "P5: sweepers changed what users see",
	faultPlace:     "P7: a scan returned a record that did not move at another place than its own",
	faultUnsettled: "P6: the answer was that nobody knows, though fewer others came since than a ring has tokens",
	faultRepeat:    "P7: a scan returned a record twice",
}

// A Judge checks the promises of the protocol in states that were reached.
type Judge struct {
	protocol *Protocol
	lone     Model   // runs one actor that nothing disturbs
	checked  *hashes // stores that sweepers were let loose on
}

func newJudge(p *Protocol) *Judge {
	return &Judge{protocol: p, lone: Model{protocol: p}, checked: newHashes()}
}

// inspect checks what must be true in every state, and notes what lookups under
// way may answer.
func (j *Judge) inspect(s *State) {
	holders := 0
	for id := range s.records {
		if s.current(id) && s.records[id].unique != 0 {
			holders++
		}
	}
	s.fail(holders > 1, faultTwo)
	for id := range s.records {
		r := &s.records[id]
		if r.status != live {
			continue
		}
		if r.entry != 0 {
			row := s.rows[j.protocol.slot(r.value, uint8(id), r.entry)]
			s.fail(row.on == gone || row.id != uint8(id) || row.value != r.value, faultRow)
		}
		if r.unique != 0 {
			s.fail(s.claim.tok != r.claim || s.claim.owner != uint8(id), faultClaim)
		}
	}
	for i := range s.actors {
		a := &s.actors[i]
		switch {
		case a.done == 1 || a.step == 0:
		case a.role == uniqueFinder:
			a.may |= s.holder()
		case a.role == finder || a.role == scanner:
			now := s.matches(a)
			a.must &= now
			a.may |= now
			s.stay()
		}
	}
}

// stay forgets the place of the records that are not there any more, for the scan
// under way.
func (s *State) stay() {
	for id, home := range s.scan.home {
		if home != s.placeNow(id) {
			s.scan.home[id] = 0
		}
	}
}

// deserted is s when everybody has stopped for ever.
func deserted(s *State) State {
	return State{records: s.records, rows: s.rows, claim: s.claim, hour: s.hour}
}

// tidies checks P5 in s: when everybody has stopped, sweepers reach a store
// without garbage, change nothing that users see, and one who wants the unique
// value gets it unless a record has it.
func (j *Judge) tidies(s *State) uint8 {
	d := deserted(s)
	if !j.checked.add(raw(&d)) {
		return faultNone // another state had the same store
	}
	swept := j.swept(d)
	if f := j.clean(&swept); f != faultNone {
		return f
	}
	for id := range d.records {
		was, is := d.records[id], swept.records[id]
		was.rev = is.rev // fences change it
		if was.status == absent {
			was.status = is.status
		}
		if was != is {
			return faultSwept
		}
	}
	if j.protocol.unique && d.holder() == 1 {
		if next, did := j.alone(&d, put(1, 0, 1).twice()); !did || next.holder() != 4 {
			return faultBlocked
		}
	}
	return swept.fault
}

// swept is s after one sweep of everything, by a sweeper that nothing disturbs.
func (j *Judge) swept(s State) State {
	for slot, row := range s.rows {
		if row.on == there {
			s, _ = j.alone(&s, Actor{role: rowSweeper, step: stepLook, item: Item{uint8(slot), row.value, row.id, row.base}})
		}
	}
	if c := s.claim; c.tok != 0 {
		s, _ = j.alone(&s, Actor{role: claimSweeper, step: stepLook, item: Item{c.tok, 0, c.owner, c.base}})
	}
	return s
}

// clean says whether s holds rows and claims of live records only. A fading row
// goes by itself.
func (j *Judge) clean(s *State) uint8 {
	for slot, row := range s.rows {
		if row.on == there && j.protocol.judgeRow(&s.records[row.id], Item{uint8(slot), row.value, row.id, row.base}) != isLive {
			return faultGarbage
		}
	}
	if s.claim.tok != 0 && j.protocol.judgeClaim(&s.records[s.claim.owner], s.claim.tok, s.claim.base) != isLive {
		return faultGarbage
	}
	return faultNone
}

// alone lets one actor run in s to its end, every call answered. It returns false if
// the actor has nothing to do, or does not come to an end.
func (j *Judge) alone(s *State, a Actor) (State, bool) {
	m := &j.lone
	n := *s
	n.actors[0] = a
	for range 50 {
		m.out = m.out[:0]
		if m.act(&n, 0); len(m.out) == 0 {
			return n, false
		}
		n = m.out[0]
		if settle(&n); n.actors[0].done == 1 {
			n.actors[0] = Actor{done: 1}
			return n, true
		}
	}
	return n, false
}
