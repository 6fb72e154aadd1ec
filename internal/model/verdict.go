package main

// What is known of the entry that was put under a token.
const (
	isLive    = iota // the record has it
	isDead           // the record does not have it, and never will
	isPending        // its commit may still come
)

var verdictText = [...]string{"live", "dead", "pending"}

// judgeRow says what record r, as read, tells about a row.
func (p *Protocol) judgeRow(r *Record, it Item) int {
	if r.status == live && r.value != 0 && r.entry != 0 && p.slot(r.value, it.id, r.entry) == it.slot {
		return isLive
	}
	if p.mutant == sweepRowUnfenced {
		return isDead
	}
	return p.judgeBase(r, it.base)
}

// judgeClaim says what the owner's record, as read, tells about its claim.
func (p *Protocol) judgeClaim(r *Record, tok, base uint8) int {
	if r.status == live && r.unique != 0 && r.claim == tok {
		return isLive
	}
	if p.mutant == stealUnfenced {
		return isDead
	}
	return p.judgeBase(r, base)
}

func (p *Protocol) judgeBase(r *Record, base uint8) int {
	if r.rev != base || p.mutant == absentIsDead && r.status == absent {
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
func (p *Protocol) resolve(s *State, r *Record, w write) int {
	answer := p.answer(s, r, w)
	s.fail(answer == answerYes && !s.committed.has(w.tok), faultYes)
	s.fail(answer == answerNo && s.committed.has(w.tok), faultNo)
	if answer == answerNo && p.mutant != retrySameToken {
		s.refused.add(w.tok)
	}
	return answer
}

func (p *Protocol) answer(s *State, r *Record, w write) int {
	answer := p.answerNow(s, r, w)
	if p.unread && answer == answerNo && w.rev == 0 && r.status == tombstone && w.fenced != r.rev && p.mutant != tombstoneOutlasted {
		return answerOpen // a commit that began after the tombstone may outlast it: see R2
	}
	return answer
}

// olderDelete reports whether the delete that r is was sent before w can have been made.
func (p *Protocol) olderDelete(s *State, r *Record, w write) bool {
	margin := uint8(skew)
	if p.mutant == olderWithoutMargin {
		margin = 0
	}
	deleted := r.status == tombstone || p.mutant == olderThoughLive
	return p.minutes > 0 && deleted && r.ring[0] != 0 && s.made[r.ring[0]]+margin < s.made[w.tok]
}

func (p *Protocol) answerNow(s *State, r *Record, w write) int {
	based := r.ring[0] == w.version || r.ring[1] == w.version // a ring that is not full ends with 0: nothing was before
	switch {
	case r.ring[0] == w.tok || r.ring[1] == w.tok:
		return answerYes
	case w.unbased == 1 && p.mutant != unbasedIsNone:
		return answerUnknown
	case r.rev == w.rev && p.mutant != resolveUnfenced:
		return answerOpen
	case w.version == 0 && p.mutant == zeroInFullRing, p.olderDelete(s, r, w):
		return answerNo
	case w.version == 0 && w.stale == 1 && p.mutant != zeroWhenOld:
		return answerUnknown
	case based || p.mutant == resolveByToken:
		return answerNo
	}
	return answerUnknown
}
