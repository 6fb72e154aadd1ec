package main

// write makes the next step of one who writes a record.
func (m *Model) write(s *State, i int) {
	a := &s.actors[i]
	switch a.step {
	case stepRead:
		m.read(s, i)
	case stepPrepare, stepClean, stepAbort:
		for job := uint8(1); job < allJobs; job <<= 1 {
			if a.todo&job != 0 {
				m.send(s, i, m.protocol.callOf(a, job), func(n *State, a *Actor, ok bool) { m.protocol.jobAnswered(n, a, job, ok) })
			}
		}
	case stepRival:
		m.faceRival(s, i)
	case stepFence, stepBury:
		m.stopOwner(s, i)
	case stepCommit:
		m.send(s, i, m.protocol.commitOf(a), func(_ *State, a *Actor, ok bool) {
			switch {
			case a.role == indexer:
				m.protocol.again(a) // it looks whether the entry is there
			case ok:
				m.protocol.toClean(a)
			default:
				a.step = stepSettle
			}
		})
	case stepSettle:
		m.settleCommit(s, i)
	}
}

// read begins an attempt: it reads the record, and takes a new token.
func (m *Model) read(s *State, i int) {
	n := *s
	a := &n.actors[i]
	r := s.records[a.id]
	outcome := "begins"
	switch there := r.status == live && !r.expired(s.hour, a.fast); {
	case a.blind == 1:
		m.protocol.begin(&n, a, Record{status: r.status})
	case a.role == inserter && there:
		outcome = "ErrExists"
	case (a.role == updater || a.role == patcher || a.role == deleter) && !there:
		outcome = "nothing to do"
	case a.role == reaper && (there || r.status != live):
		outcome = "nothing to do"
	case a.role == indexer && (r.status != live || r.entry != 0):
		outcome, n.ready = "has its entry: the index is ready", 1
	default:
		m.protocol.begin(&n, a, r)
	}
	if outcome != "begins" {
		a.finish()
	}
	what := "reads"
	if s.actors[i].blind == 1 {
		what = "does not read"
	}
	m.emit(&n, Event{who: i, what: what, id: s.actors[i].id, outcome: outcome})
}

func (p *Protocol) begin(n *State, a *Actor, r Record) {
	a.base = r
	if p.mutant == insertUnread && a.role == inserter {
		a.base = Record{status: a.base.status}
	}
	if a.tok == 0 || p.mutant != retrySameToken {
		a.tok = 0
		a.tok = fresh(n)
		p.stamp(n, a, a.tok)
	}
	if a.role == indexer || a.role == patcher {
		a.value, a.unique = r.value, r.unique*min(1, r.claim)
	}
	a.jobs = p.plan(a)
	a.step, a.todo = stepPrepare, a.jobs&(jobRow|jobClaim)
	switch p.mutant {
	case rowAfterCommit:
		a.todo &^= jobRow
	case claimAfterCommit:
		a.todo &^= jobClaim
	case oldRowBeforeCommit:
		a.todo |= a.jobs & jobOldRow
	}
	p.advance(a)
}

// plan returns what an attempt puts and drops. An entry whose value stays is kept,
// with its token: it costs nothing.
func (p *Protocol) plan(a *Actor) (jobs uint8) {
	old := &a.base
	was := old.status == live
	hasRow, hasClaim := was && old.value != 0 && old.entry != 0, was && old.unique != 0
	keepsRow := hasRow && old.value == a.value && p.mutant != newEntryAlways
	if a.value != 0 && !keepsRow {
		jobs |= jobRow
	}
	if a.role == indexer {
		return jobs
	}
	if a.unique != 0 && !hasClaim {
		jobs |= jobClaim
	}
	if hasRow && !keepsRow {
		jobs |= jobOldRow
	}
	if hasClaim && a.unique == 0 {
		jobs |= jobOldClaim
	}
	return jobs
}

// callOf returns the call that does one job in the step that a is in.
func (p *Protocol) callOf(a *Actor, job uint8) Message {
	switch {
	case job == jobOldRow:
		return Message{verb: doDropRow, id: a.id, value: a.base.value, tok: a.base.entry, on: p.drop}
	case job == jobOldClaim:
		return Message{verb: doDropClaim, id: a.id, when: a.base.claim}
	case job == jobRow && a.step == stepAbort:
		return Message{verb: doDropRow, id: a.id, value: a.value, tok: a.tok}
	case job == jobClaim && a.step == stepAbort:
		return Message{verb: doDropClaim, id: a.id, when: a.tok}
	case job == jobRow:
		return Message{verb: doPutRow, id: a.id, value: a.value, tok: a.tok, base: a.base.rev, on: there}
	}
	return Message{verb: doPutClaim, id: a.id, tok: a.tok, when: a.rival.tok, base: a.base.rev}
}

func (p *Protocol) jobAnswered(n *State, a *Actor, job uint8, ok bool) {
	if a.step == stepPrepare && job == jobClaim {
		if a.rival = (Claim{}); !ok {
			if a.rival = n.claim; a.rival.tok != 0 {
				a.step = stepRival
			}
			return
		}
	}
	a.todo &^= job
	p.advance(a)
}

// advance leaves a step in which nothing is left to do.
func (p *Protocol) advance(a *Actor) {
	switch {
	case a.todo != 0:
	case a.step == stepPrepare:
		a.step = stepCommit
	case a.step == stepClean:
		a.finish()
	case a.step == stepAbort:
		p.again(a)
	}
}

// again begins anew, if the actor may, else it is done.
func (p *Protocol) again(a *Actor) {
	if a.more == 0 {
		a.finish()
		return
	}
	next := Actor{role: a.role, id: a.id, value: a.value, unique: a.unique, fast: a.fast, blind: a.blind, ahead: a.ahead, more: a.more - 1, timeouts: a.timeouts}
	if p.mutant == retrySameToken {
		next.tok = a.tok
	}
	*a = next
}

func (p *Protocol) toClean(a *Actor) {
	a.step, a.todo = stepClean, a.jobs&(jobOldRow|jobOldClaim)
	switch p.mutant {
	case rowAfterCommit:
		a.todo |= a.jobs & jobRow
	case claimAfterCommit:
		a.todo |= a.jobs & jobClaim
	case oldRowBeforeCommit:
		a.todo &^= jobOldRow
	}
	a.base = Record{rev: a.base.rev * min(1, a.todo&jobRow), value: a.base.value, entry: a.base.entry, claim: a.base.claim}
	p.advance(a)
}

// toAbort: the attempt is known to be dead, so what it has put may go.
func (p *Protocol) toAbort(a *Actor) {
	a.step, a.todo = stepAbort, a.jobs&(jobRow|jobClaim)
	a.base, a.rival, a.stale = Record{}, Claim{}, 0
	p.advance(a)
}

// commitOf returns the one compare-and-set that makes the write happen.
func (p *Protocol) commitOf(a *Actor) Message {
	old := &a.base
	g := Message{verb: doCommit, id: a.id, tok: a.tok, when: old.rev}
	if a.role == indexer {
		g.verb = doReindex
		return g
	}
	if a.blind == 1 && old.status == tombstone {
		g.on = 1
	}
	if a.role == patcher && a.blind == 1 {
		g.verb = doPatch
		return g
	}
	g.next = Record{status: tombstone, rev: a.tok, ring: [2]uint8{a.tok, old.ring[0]}}
	if a.deletes() {
		if p.mutant == tombstoneForgets {
			g.next.ring[1] = 0
		}
		return g
	}
	g.next.status, g.next.value, g.next.unique = live, a.value, a.unique
	switch {
	case a.jobs&jobRow != 0:
		g.next.entry = a.tok
	case a.value != 0:
		g.next.entry = old.entry
	}
	switch {
	case a.jobs&jobClaim != 0:
		g.next.claim = a.tok
	case a.unique != 0:
		g.next.claim = old.claim
	}
	return g
}

// settleCommit: the commit was refused, because the record changed, or because an
// earlier copy of it came first. It is never made again.
func (m *Model) settleCommit(s *State, i int) {
	n := *s
	a := &n.actors[i]
	if a.blind == 1 { // a refusal says what is there, and the next attempt reads
		a.finish()
		m.emit(&n, Event{who: i, what: "is refused, or does not know", id: s.actors[i].id, outcome: "gives up"})
		return
	}
	r := &s.records[a.id]
	answer := m.protocol.resolve(&n, r, write{a.tok, a.base.rev, a.base.ring[0], a.stale, r.rev, 0})
	switch {
	case answer == answerYes:
		m.protocol.toClean(a)
	case answer == answerNo:
		m.protocol.toAbort(a)
	case answer == answerOpen && m.protocol.mutant == resendRefused:
		a.step = stepCommit
	case m.protocol.mutant == cleanUnknown:
		a.more = 0
		m.protocol.toAbort(a)
	default:
		a.finish() // ErrUnknownOutcome: its row and claim are the sweeper's
	}
	m.emit(&n, Event{who: i, what: "settles its refused commit: reads", id: s.actors[i].id, outcome: answerText[answer]})
}
