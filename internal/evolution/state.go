package main

// The states of an index, in their order.
const (
	gone uint8 = iota
	declared
	written
	ready
	leaving
)

var stateText = [...]string{"gone", "declared", "written", "ready", "leaving"}

const (
	nRecords  = 2
	nPrograms = 2
	nValues   = 2 // 1 and 2; 0 is none
	nTables   = 2 // of an index that goes and comes again
	nTokens   = 8
)

// A View is what the catalog says, or said when a program read it.
type View struct{ state, table uint8 }

// A Record has a Rev, which each commit changes, and where rows lie elsewhere the token of its row.
type Record struct {
	there             bool
	value, rev, entry uint8
}

// A Row of an index elsewhere, under its token.
type Row struct{ table, id, value uint8 } // value 0: there is none

// A Program writes, one operation after the other.
type Program struct {
	view  View
	valid bool
	op    uint8 // which of its operations is next, or under way
	phase uint8
	base  Record // as read
	plan  View   // by which the write goes that was sent
	late  bool   // that view has ended since
	token uint8
}

// The phases of an operation.
const (
	begins  = iota
	checked // a mutant's: it looked at its view before it read
	hasRead
	hasPut // its row elsewhere
	sent
)

// A Changer takes the index through its states.
type Changer struct {
	at     uint8 // which of its changes is next
	fills  bool
	record uint8 // which is filled next
	read   bool
	base   Record
	token  uint8
	put    bool
}

// A State is all of it.
type State struct {
	cat      View
	tables   uint8 // how many tables were used
	records  [nRecords]Record
	with     [nTables]uint8 // rows with the records: a bit for each value and record
	rows     [nTokens]Row
	revs     uint8
	programs [nPrograms]Program
	changer  Changer
	sleeper  Sleeper
	slept    bool // a filler did, and no other will
	fault    string
}

func bit(value, id uint8) uint8 { return 1 << ((value-1)*nRecords + id) }

// holder returns the record that has a value of a unique index, other than id.
func (s *State) holder(table, value, id uint8) (other uint8, has bool) {
	for r := range uint8(nRecords) {
		if r != id && s.with[table]&bit(value, r) != 0 {
			return r, true
		}
	}
	return 0, false
}

// newRev returns a Rev that nothing had.
func (s *State) newRev() uint8 { s.revs++; return s.revs }

// judge notes what a query by a ready index would answer wrongly now.
func (s *State) judge(m *Model) {
	for _, p := range s.programs {
		if s.fault == "" && p.valid && p.view.state == ready {
			s.fault = s.differs(m, p.view.table)
		}
	}
}

func (s *State) differs(m *Model, table uint8) string {
	for id, r := range s.records {
		for v := uint8(1); v <= nValues; v++ {
			has, found := r.there && r.value == v, s.finds(m, table, v, uint8(id))
			switch {
			case has && !found:
				return "P2: a record is not found"
			case found && !has:
				return "P3: a record is found that does not match"
			}
		}
	}
	a, b := s.records[0], s.records[1]
	if m.unique && a.there && b.there && a.value == b.value {
		return "P4: two records have one unique value"
	}
	return ""
}

// finds reports whether a query for a value returns a record.
func (s *State) finds(m *Model, table, value, id uint8) bool {
	if !m.elsewhere {
		return s.with[table]&bit(value, id) != 0
	}
	r := s.records[id]
	return r.there && r.entry != 0 && r.value == value && s.rows[r.entry] == Row{table, id, value}
}
