package main

// What is known of the entry that was put under a token.
const (
	isLive    = iota // the record has it
	isDead           // the record does not have it, and never will
	isPending        // its commit may still come
)

var verdictText = [...]string{"live", "dead", "pending"}

// judgeRow says what record r, as read, tells about a row.
func (m *Model) judgeRow(r *Record, it Item) int {
	if r.status == live && r.value != 0 && r.entry != 0 && m.slot(r.value, it.id, r.entry) == it.slot {
		return isLive
	}
	if m.mutant == sweepRowUnfenced {
		return isDead
	}
	return m.judgeBase(r, it.base)
}

// judgeClaim says what the owner's record, as read, tells about its claim.
func (m *Model) judgeClaim(r *Record, tok, base uint8) int {
	if r.status == live && r.unique != 0 && r.claim == tok {
		return isLive
	}
	if m.mutant == stealUnfenced {
		return isDead
	}
	return m.judgeBase(r, base)
}

func (m *Model) judgeBase(r *Record, base uint8) int {
	if r.rev != base || m.mutant == absentIsDead && r.status == absent {
		return isDead
	}
	return isPending
}

// The answers about a write whose outcome was open.
const (
	answerYes     = iota // committed
	answerNo             // not committed, and never will be
	answerUnknown        // cannot be known any more
	answerOpen           // it can still happen
)

var answerText = [...]string{"committed", "not committed", "unknown for ever", "still open"}

// A write is what Resolve is given.
type write struct{ tok, rev, version, stale, fenced, unbased uint8 }

// skew is by how many minutes clocks differ at most.
const skew = 1

// resolve says what record r, as read, tells about w. Answers that are final are
// kept in the history, and compared with what happened.
func (m *Model) resolve(s *State, r *Record, w write) int {
	answer := m.answer(s, r, w)
	s.fail(answer == answerYes && !s.committed.has(w.tok), faultYes)
	s.fail(answer == answerNo && s.committed.has(w.tok), faultNo)
	if answer == answerNo && m.mutant != retrySameToken {
		s.refused.add(w.tok)
	}
	return answer
}

func (m *Model) answer(s *State, r *Record, w write) int {
	answer := m.answerNow(s, r, w)
	if m.unread && answer == answerNo && w.rev == 0 && r.status == tombstone && w.fenced != r.rev && m.mutant != tombstoneOutlasted {
		return answerOpen // a commit that began after the tombstone may outlast it: see R2
	}
	return answer
}

// olderDelete reports whether the delete that r is was sent before w can have been made.
func (m *Model) olderDelete(s *State, r *Record, w write) bool {
	margin := uint8(skew)
	if m.mutant == olderWithoutMargin {
		margin = 0
	}
	deleted := r.status == tombstone || m.mutant == olderThoughLive
	return m.minutes > 0 && deleted && r.ring[0] != 0 && s.made[r.ring[0]]+margin < s.made[w.tok]
}

func (m *Model) answerNow(s *State, r *Record, w write) int {
	based := r.ring[0] == w.version || r.ring[1] == w.version // a ring that is not full ends with 0: nothing was before
	switch {
	case r.ring[0] == w.tok || r.ring[1] == w.tok:
		return answerYes
	case w.unbased == 1 && m.mutant != unbasedIsNone:
		return answerUnknown
	case r.rev == w.rev && m.mutant != resolveUnfenced:
		return answerOpen
	case w.version == 0 && m.mutant == zeroInFullRing, m.olderDelete(s, r, w):
		return answerNo
	case w.version == 0 && w.stale == 1 && m.mutant != zeroWhenOld:
		return answerUnknown
	case based || m.mutant == resolveByToken:
		return answerNo
	}
	return answerUnknown
}
