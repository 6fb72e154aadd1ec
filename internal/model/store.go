package main

// apply carries out one call, all of it or nothing; false means that its
// condition did not hold.
func (p *Protocol) apply(s *State, g *Message) bool {
	switch g.verb {
	case doCommit, doPatch, doFence, doBury, doReindex:
		return p.applyRecord(s, g)
	case doPutRow, doDropRow:
		s.rows[p.slot(g.value, g.id, g.tok)] = Row{}
		if g.on != gone {
			s.rows[p.slot(g.value, g.id, g.tok)] = Row{g.on, g.value, g.id, g.base}
		}
	case doPutClaim:
		if s.claim.tok != g.when && p.mutant != claimOverwrites {
			return s.claim.tok == g.tok // an earlier copy of this call did it
		}
		s.claim = Claim{g.tok, g.id, g.base}
	case doDropClaim:
		ours := s.claim.tok == g.when
		switch p.mutant {
		case releaseUnconditional:
			ours = true
		case releaseByOwner:
			ours = s.claim.tok != 0 && s.claim.owner == g.id
		}
		if ours {
			s.claim = Claim{}
		}
	}
	return true
}

func (p *Protocol) applyRecord(s *State, g *Message) bool {
	r := &s.records[g.id]
	if g.verb == doPatch {
		return p.applyPatch(s, r, g)
	}
	if r.rev != g.when && (p.mutant != commitUnconditional || g.verb != doCommit) {
		return false
	}
	switch g.verb {
	case doFence:
		if r.rev = g.tok; r.status == absent {
			r.status = tombstone
		}
		if p.mutant == fenceIsWrite {
			r.ring = [2]uint8{g.tok, r.ring[0]}
		}
		s.outlasted(g.id)
		return true
	case doReindex:
		r.rev, r.entry = g.tok, g.tok
		return true
	case doCommit:
		s.fail(s.applied[g.by] != 0, faultTwice)
		s.applied[g.by] = 1
	}
	s.fail(r.ring[0] != g.next.ring[1] && p.mutant != tombstoneForgets, faultLost)
	s.fail(s.committed.has(g.tok), faultBack)
	s.fail(s.refused.has(g.tok), faultLate)
	s.committed.add(g.tok)
	*r = g.next
	p.wrote(s, g)
	return true
}

// applyPatch changes a record that is there.
func (p *Protocol) applyPatch(s *State, r *Record, g *Message) bool {
	if r.status != live || s.applied[g.by] != 0 {
		return false
	}
	s.applied[g.by] = 1
	s.fail(s.committed.has(g.tok), faultBack)
	s.fail(s.refused.has(g.tok), faultLate)
	s.committed.add(g.tok)
	r.rev, r.ring = g.tok, [2]uint8{g.tok, r.ring[0]}
	p.wrote(s, g)
	return true
}

// wrote counts a write for the attempt that is resolved, and for who resolves it.
func (p *Protocol) wrote(s *State, g *Message) {
	for i := range s.actors {
		a := &s.actors[i]
		own := a.tok
		if a.role == resolver {
			own = a.item.slot
		}
		if p.settles && own != 0 && own != g.tok && (i == 0 || a.role == resolver) {
			a.since = min(a.since+1, uint8(len(s.records[g.id].ring)))
		}
	}
}

// outlasted: a tombstone was fenced, and so stays for longer than the blind commits that
// began before.
func (s *State) outlasted(id uint8) {
	for i := range s.actors {
		if a := &s.actors[i]; a.done == 0 && a.blind == 1 && a.id == id && a.step != stepRead {
			a.base.status = absent
		}
	}
	for k := range s.flights {
		if g := &s.flights[k]; (g.verb == doCommit || g.verb == doPatch) && g.id == id {
			g.on = 0
		}
	}
}

// slot is the place of a row: its token, as one attempt puts one row.
func (p *Protocol) slot(value, id, tok uint8) uint8 {
	if p.mutant == rowsWithoutToken {
		return 1 + (value-1)*nRecords + id
	}
	return tok
}
