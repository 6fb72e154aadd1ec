package main

// The bounds of the model. All numbers in a state are bytes, so that a state can
// be hashed as memory.
const (
	nRecords = 2
	nActors  = 4
	nFlights = 2  // messages under way at once
	nTokens  = 16 // tokens are 1 to nTokens; 0 is no token
)

// The values of the index. The unique index has one value, U: 1 is "has it".
const (
	valueA = 1 + iota
	valueB
	valueC
	nValues = valueC
)

// firstToken is the token of the record that is there at the start.
const firstToken = 1

// A set is a set of tokens.
type set [(nTokens + 7) / 8]uint8

func (s *set) add(t uint8) {
	if t != 0 {
		s[(t-1)/8] |= 1 << ((t - 1) % 8)
	}
}

func (s *set) has(t uint8) bool { return t != 0 && s[(t-1)/8]>>((t-1)%8)&1 == 1 }

// keep removes what is not in other.
func (s *set) keep(other set) {
	for k := range s {
		s[k] &= other[k]
	}
}

func (s *set) addRecord(r Record) {
	s.add(r.rev)
	s.add(r.ring[0])
	s.add(r.ring[1])
	s.add(r.entry)
	s.add(r.claim)
}

// mentioned returns the tokens that anything in s names.
func mentioned(s *State) set {
	var found set
	for _, r := range s.records {
		found.addRecord(r)
	}
	found.add(s.claim.tok)
	found.add(s.claim.base)
	for slot, row := range s.rows {
		if row.on != gone {
			found.add(uint8(slot))
			found.add(row.base)
		}
	}
	for k := range s.flights {
		g := &s.flights[k]
		found.addRecord(g.next)
		found.add(g.tok)
		found.add(g.when)
		found.add(g.base)
	}
	for i := range s.actors {
		s.actors[i].mentions(&found)
	}
	return found
}

func (a *Actor) mentions(found *set) {
	if a.done == 1 {
		return
	}
	found.addRecord(a.base)
	for _, t := range [...]uint8{a.tok, a.rival.tok, a.rival.base, a.fence, a.at, a.item.slot, a.item.base} {
		found.add(t)
	}
	for k := range found {
		found[k] |= a.tokens[k]
	}
}

// stamp notes when a token was made, where a scenario has clocks.
func (p *Protocol) stamp(s *State, a *Actor, tok uint8) {
	if p.minutes > 0 {
		s.made[tok] = s.minute + a.ahead
	}
	if p.mutant == tokenBeforeRead && a.blind == 0 {
		s.made[tok] = a.ahead // as long ago as can be
	}
}

// fresh returns a token that nothing in s names. Tokens are compared for equality
// alone, so one that is named nowhere is as good as one that never was; this
// keeps the number of states finite.
func fresh(s *State) uint8 {
	used := mentioned(s)
	for t := uint8(1); t <= nTokens; t++ {
		if !used.has(t) {
			return t
		}
	}
	panic("a state names all tokens: nTokens is too small")
}
