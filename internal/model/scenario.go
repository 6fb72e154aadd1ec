package main

// A Scenario is who acts on what.
type Scenario struct {
	name, says string
	start      uint8
	drop       uint8 // how rows are dropped
	timeouts   int   // calls of each actor that may get no answer
	size       uint8 // how many states there are
	actors     []Actor
}

// The sizes, where one call of each actor may get no answer: about a hundred thousand
// states, below a million, and more.
const small, medium, large = 0, 1, 2

// What is there at the start.
const (
	nothing   = iota // no record
	filled           // record 0, live, with A and U
	unindexed        // record 0, live, with A; the index is new, and has no row of it
	expiring         // record 0, live, with A and U, until the hour strikes
	buried           // record 0, deleted by its second write
	moved            // record 0, live, with A and U; the rows of B and C, which it gave up, are still there
)

var scenarios = []Scenario{
	{"move-back", "a record moves A to B, back to A, and to B, while a sweeper runs", filled, gone, 1, large,
		[]Actor{update(0, valueB, 1), update(0, valueA, 1), update(0, valueB, 1), simple(rowSweeper)}},
	{"claim-race", "two records are created with one unique value, while a sweeper of claims runs", nothing, gone, 1, medium,
		[]Actor{insert(0, 0, 1), insert(1, 0, 1), simple(claimSweeper)}},
	{"claim-race-again", "two creates of one unique value, both begin again when refused", nothing, gone, 1, large,
		[]Actor{put(0, 0, 1).twice(), put(1, 0, 1).twice()}},
	{"delete-create", "two create the same record, one deletes it, a sweeper of rows runs", nothing, gone, 1, medium,
		[]Actor{insert(0, valueA, 0), put(0, valueA, 0), remove(0), simple(rowSweeper)}},
	{"claim-handover", "a record is deleted, another takes its unique value, and it is made again, wanting it", filled, gone, 1, large,
		[]Actor{remove(0), insert(1, 0, 1), put(0, valueA, 1)}},
	{"claim-circle", "a record drops its unique value, another takes it, both want it and go", filled, gone, 1, large,
		[]Actor{put(0, valueA, 0), put(1, valueB, 1), put(0, valueB, 1), remove(1)}},
	{"both-sweepers", "a record moves and drops its claim, another writer wants both, two sweepers run", filled, gone, 1, medium,
		[]Actor{put(0, valueB, 0), put(0, valueA, 1), simple(rowSweeper), simple(claimSweeper)}},
	{"claim-swept", "a record is deleted, another takes its unique value, while claims are swept and the delete is resolved", filled, gone, 1, large,
		[]Actor{remove(0), insert(1, 0, 1), simple(claimSweeper), simple(resolver)}},
	{"unique-lookup", "a unique value changes hands while it is looked up and claims are swept", filled, gone, 2, small,
		[]Actor{put(0, valueA, 0), insert(1, 0, 1), simple(uniqueFinder), simple(claimSweeper)}},
	{"lookup", "a record moves away and back while it is looked up and rows are swept", filled, gone, 2, small,
		[]Actor{update(0, valueB, 1), update(0, valueA, 1), find(valueA), simple(rowSweeper)}},
	{"lookup-kept", "a record is written without moving while it is looked up", filled, gone, 2, small,
		[]Actor{update(0, valueA, 1), update(0, valueA, 0), find(valueA), simple(rowSweeper)}},
	{"scan", "a record moves B, A, B (behind, ahead, behind) under a scan that lists one place at a time; rows fade", filled, fading, 1, medium,
		[]Actor{update(0, valueB, 1), scan(valueB, 1), update(0, valueA, 1), update(0, valueB, 1)}},
	{"scan-back", "a record that gave up B and C moves C, A, B (behind, ahead, ahead) under a scan that lists one place at a time; rows fade", moved, fading, 1, large,
		[]Actor{update(0, valueC, 1), scan(valueC, 1), update(0, valueA, 1), update(0, valueB, 1)}},
	{"scan-batch", "a record moves C, B, A under a scan that lists two places at a time; rows fade", filled, fading, 1, large,
		[]Actor{update(0, valueC, 1), scan(valueC, 2), update(0, valueB, 1), update(0, valueA, 1)}},
	{"scan-whole", "a record moves B, A under a scan that lists all places at once; rows fade", filled, fading, 2, small,
		[]Actor{update(0, valueB, 1), scan(valueB, 2), update(0, valueA, 1)}},
	{"scan-cursor", "a record moves C, B, which is out of the bounds of a cursor's second page and in; rows fade", filled, fading, 2, small,
		[]Actor{update(0, valueC, 1), scan(valueB, 1), update(0, valueB, 1)}},
	{"scan-still", "a record that gave up B and C is scanned, and does not move; a sweeper drops rows; rows fade", moved, fading, 2, small,
		[]Actor{scan(valueC, 1), simple(rowSweeper), simple(rowSweeper)}},
	{"scan-still-batch", "the same, and the scan lists two places at a time", moved, fading, 2, small,
		[]Actor{scan(valueC, 2), simple(rowSweeper), simple(rowSweeper)}},
	{"scan-swept", "a record moves under a scan of the range, and a sweeper drops rows; rows fade", filled, fading, 1, medium,
		[]Actor{update(0, valueB, 1), scan(valueB, 1), simple(rowSweeper), simple(rowSweeper)}},
	{"fading", "a record moves away and back with a second attempt, and a sweeper runs; rows fade", filled, fading, 1, medium,
		[]Actor{update(0, valueB, 1).twice(), update(0, valueA, 1), find(valueA), simple(rowSweeper)}},
	{"retry", "a create begins again when refused, a delete and a sweeper come between", nothing, gone, 2, small,
		[]Actor{put(0, valueA, 0).twice(), remove(0), simple(rowSweeper)}},
	{"kept-entry", "a move whose first copy counts is overwritten twice by writes that keep its entry", filled, gone, 2, small,
		[]Actor{update(0, valueB, 1), update(0, valueB, 1), update(0, valueB, 1)}},
	{"resolve-move", "somebody resolves a move while others move the record on", filled, gone, 1, large,
		[]Actor{update(0, valueB, 1), update(0, valueA, 1), update(0, valueB, 1), simple(resolver)}},
	{"resolve-create", "somebody resolves a create while the record is deleted and created again", nothing, gone, 1, medium,
		[]Actor{insert(0, valueA, 0), remove(0), put(0, valueA, 0), simple(resolver)}},
	{"resolve-retry", "a create with a second attempt is resolved, while a delete and a sweeper run", nothing, gone, 1, medium,
		[]Actor{put(0, valueA, 0).twice(), remove(0), simple(rowSweeper), simple(resolver)}},
	{"resolve-delete", "somebody resolves a delete while the record is made and deleted again", filled, gone, 1, large,
		[]Actor{remove(0), put(0, valueB, 0), remove(0), simple(resolver)}},
	{"two-fences", "two sweepers fence one record that two creates want", nothing, gone, 1, large,
		[]Actor{insert(0, valueA, 0), put(0, valueA, 0), simple(rowSweeper), simple(rowSweeper)}},
	{"expired-owner", "a unique value's owner expires: one renews it, one wants the value by a hasty clock, one looks it up", expiring, gone, 1, medium,
		[]Actor{update(0, valueA, 1), put(1, 0, 1).hasty(), simple(uniqueFinder), {role: reaper}}},
	{"expired-lookup", "a record expires, is renewed, reaped, and looked up, while a sweeper runs", expiring, gone, 1, large,
		[]Actor{put(0, valueA, 1), {role: reaper}, find(valueA), simple(rowSweeper)}},
	{"build", "an index is built over a record that is being written, and looked up when it is ready", unindexed, gone, 2, medium,
		[]Actor{{role: indexer, more: 2}, put(0, valueA, 0), find(valueA), simple(rowSweeper)}},
	{"resolve-insert", "somebody resolves an insert that was sent unread by a clock that is ahead, onto a tombstone, while the record is written and deleted", buried, gone, 1, large,
		[]Actor{insert(0, 0, 0).unread().early(), put(0, 0, 0), remove(0), simple(resolver)}},
	{"resolve-patched", "somebody resolves an insert that was sent unread by a clock that is ahead, while two patches are under way that were sent before it", nothing, gone, 1, large,
		[]Actor{insert(0, 0, 0).unread().early(), patch(0).unread(), patch(0).unread(), simple(resolver)}},
	{"resolve-patch", "somebody resolves a patch while another one, and a delete, are under way", filled, gone, 1, medium,
		[]Actor{patch(0), patch(0), remove(0), simple(resolver)}},
	{"resolve-unread", "somebody resolves a patch that was sent unread, while two others are under way", filled, gone, 1, medium,
		[]Actor{patch(0).unread(), patch(0), patch(0).unread(), simple(resolver)}},
	{"mend", "rows and claims are put again while the record moves and loses its claim to another", filled, gone, 1, medium,
		[]Actor{{role: mender}, put(0, valueB, 0), insert(1, 0, 1), simple(rowSweeper)}},
}

// begin returns the protocol in sc, with the state that sc begins in.
func (sc *Scenario) begin(mutant Mutant) (*Protocol, State) {
	p := &Protocol{mutant: mutant, drop: sc.drop}
	var s State
	for i := range s.actors {
		s.actors[i] = Actor{done: 1}
	}
	copy(s.actors[:], sc.actors)
	for i, a := range sc.actors {
		if a.role == patcher && mutant == patchUnread {
			s.actors[i].blind = 1
		}
		p.settles = p.settles || i == 0 && a.role == patcher && a.blind == 0
		p.builds = p.builds || a.role == indexer
		p.unique = p.unique || a.unique != 0
		p.unread = p.unread || s.actors[i].blind != 0
		if a.ahead != 0 {
			p.minutes = skew + 1
		}
	}
	if sc.start == nothing {
		return p, s
	}
	if sc.start == buried {
		s.records[0] = Record{status: tombstone, rev: 2, ring: [2]uint8{2, firstToken}}
		s.committed.add(firstToken)
		s.committed.add(2)
		return p, s
	}
	r := Record{status: live, rev: firstToken, ring: [2]uint8{firstToken}, value: valueA}
	if sc.start != unindexed {
		r.entry, r.unique, r.claim = firstToken, 1, firstToken
		s.rows[p.slot(valueA, 0, firstToken)] = Row{there, valueA, 0, 0}
		s.claim = Claim{firstToken, 0, 0}
	}
	if sc.start == expiring {
		r.expires = 1
	}
	if sc.start == moved {
		s.rows[p.slot(valueC, 0, 3)] = Row{there, valueC, 0, 0}
		s.rows[p.slot(valueB, 0, 2)] = Row{there, valueB, 0, 3}
	}
	s.records[0] = r
	s.committed.add(firstToken)
	return p, s
}
