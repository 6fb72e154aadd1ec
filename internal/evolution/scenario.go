package main

import "slices"

// What a store does with a write that arrives after its program's view has ended.
const (
	none = iota
	deadline
	epoch
)

// A Scenario is who does what.
type Scenario struct {
	name, says string
	guard      int
	elsewhere  bool // the rows, by tokens
	unique     bool
	sleeps     bool            // a filler stands still, and another one takes over
	start      [nRecords]uint8 // values; 0 is no record
	ops        [nPrograms][]Op
	changes    []Change
}

func (sc *Scenario) who(i int) string {
	return [...]string{"A", "B", "the changer", "the filler that stood still"}[i]
}

func (sc *Scenario) begin() (s State) {
	for id, v := range sc.start {
		if v != 0 {
			s.records[id] = Record{there: true, value: v, rev: s.newRev()}
		}
	}
	for i := range s.programs {
		s.programs[i].valid = true
	}
	return s
}

var scenarios = []Scenario{
	{name: "move", says: "two programs move a record while an index is added",
		start: [nRecords]uint8{1, 0}, ops: [nPrograms][]Op{{{put, 0, 2}}, {{put, 0, 2}, {put, 0, 1}}}, changes: adding},
	{name: "delete", says: "one deletes a record, another makes it again, while an index is added",
		start: [nRecords]uint8{1, 2}, ops: [nPrograms][]Op{{{remove, 0, 0}}, {{put, 0, 2}}}, changes: adding},
	{name: "insert", says: "records are made while an index is added",
		start: [nRecords]uint8{1, 0}, ops: [nPrograms][]Op{{{put, 1, 1}}, {{put, 0, 2}}}, changes: adding},
	{name: "patch", says: "a record is patched unread while an index is added",
		start: [nRecords]uint8{1, 0}, ops: [nPrograms][]Op{{{patch, 0, 2}}, {{put, 0, 1}}}, changes: adding},
	{name: "drop", says: "a record moves while an index is added and dropped",
		start: [nRecords]uint8{1, 0}, ops: [nPrograms][]Op{{{put, 0, 2}}, {{put, 0, 2}}}, changes: slices.Concat(adding, dropping)},
	{name: "again", says: "an index is begun, taken back and added, while a record moves",
		start: [nRecords]uint8{1, 0}, ops: [nPrograms][]Op{{{put, 0, 2}}, {{put, 0, 1}}}, changes: slices.Concat([]Change{add, add, takeOut}, adding)},
	{name: "unique", says: "a value of a unique index changes hands while it is added", unique: true,
		start: [nRecords]uint8{1, 0}, ops: [nPrograms][]Op{{{put, 0, 2}, {put, 0, 1}}, {{put, 1, 1}}}, changes: adding},
	{name: "clash", says: "two records have one value, of which an index becomes unique", unique: true,
		start: [nRecords]uint8{1, 1}, ops: [nPrograms][]Op{{{put, 0, 2}}, {{put, 1, 2}}}, changes: adding},
	{name: "epoch", says: "as in patch and insert, where commits compare the catalog", guard: epoch,
		start: [nRecords]uint8{1, 0}, ops: [nPrograms][]Op{{{patch, 0, 2}}, {{put, 1, 1}}}, changes: adding},
	{name: "deadline", says: "as in patch and insert, where the server knows when a view ends", guard: deadline,
		start: [nRecords]uint8{1, 0}, ops: [nPrograms][]Op{{{patch, 0, 2}}, {{put, 1, 1}}}, changes: adding},
	{name: "elsewhere", says: "two programs move a record while an index is added whose rows lie elsewhere", elsewhere: true,
		start: [nRecords]uint8{1, 0}, ops: [nPrograms][]Op{{{put, 0, 2}}, {{put, 0, 1}}}, changes: adding},
	{name: "elsewhere-made", says: "records are made and go while such an index is added", elsewhere: true,
		start: [nRecords]uint8{1, 0}, ops: [nPrograms][]Op{{{remove, 0, 0}}, {{put, 1, 1}}}, changes: adding},
	{name: "fillers", says: "one filler takes over from another, which goes on, while a record moves", sleeps: true,
		start: [nRecords]uint8{1, 0}, ops: [nPrograms][]Op{{{put, 0, 2}}}, changes: adding},
	{name: "fillers-again", says: "the same, but the index is dropped and added again meanwhile, its rows elsewhere", sleeps: true, elsewhere: true,
		start: [nRecords]uint8{1, 0}, changes: slices.Concat(adding, dropping, adding)},
}

// A Mutant is the protocol with one line left out.
type Mutant int

// The mutants.
const (
	correct Mutant = iota
	blind
	declaredLeftOut
	readyAtOnce
	leavingLeftOut
	noWait
	sameTable
	expiredView
	checkBeforeRead
	noFence
	lateInsert
	latePatch
	fillerBlind
	markAhead
	nMutants
)

var mutants = [nMutants]struct{ name, says, scenario, breaks string }{
	blind:           {"blind", "a program writes nothing for an index that it does not declare", "move", "P3"},
	declaredLeftOut: {"declared-left-out", "an index is written at once", "move", "P3"},
	readyAtOnce:     {"ready-at-once", "an index is ready before it is filled", "move", "P2"},
	leavingLeftOut:  {"leaving-left-out", "programs stop to write an index while others still read it", "drop", "P3"},
	noWait:          {"no-wait", "nobody waits for programs that know the state before", "move", "P3"},
	sameTable:       {"same-table", "an index that comes again has the table that it had", "again", "P3"},
	expiredView:     {"expired-view", "a write goes by a view that is too old", "move", "P3"},
	checkBeforeRead: {"check-before-read", "a write looks at its view before it reads its record", "move", "P3"},
	noFence:         {"no-fence", "the filler leaves the Rev of a record as it is", "move", "P3"},
	lateInsert:      {"late-insert", "an insert arrives after its program's view has ended, where the store does not look", "insert", "P2"},
	latePatch:       {"late-patch", "so does a patch that read nothing", "patch", "P3"},
	fillerBlind:     {"filler-blind", "a filler that stood still does not look at its view before it sends", "fillers-again", "P2"},
	markAhead:       {"mark-ahead", "the catalog says that a filler is behind a record which it has only begun", "fillers", "P2"},
}
