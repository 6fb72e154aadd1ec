package main

import (
	"bytes"
	"unsafe"
)

// What a record, and a row, can be.
const (
	absent, live, tombstone = 0, 1, 2
	gone, there, fading     = 0, 1, 2 // fading: rewritten with a TTL, the store drops it some time
)

// A Record is what the store keeps under one key.
type Record struct {
	status, rev   uint8
	ring          [2]uint8 // tokens of the last two user writes, newest first; ring[0] is the version
	value, entry  uint8    // value in the index, and the token under which its row was put
	unique, claim uint8    // the same for the unique index
	expires       uint8    // 1: expires when the hour strikes
}

// A Row of the index. Its key is (value, record, token): the token is its place
// in State.rows.
type Row struct{ on, value, id, base uint8 }

// A Claim on the unique value, by record owner under token tok.
type Claim struct{ tok, owner, base uint8 }

// The verbs of the store. Commit, patch, fence, bury and reindex are one compare-and-set
// on a record; they differ in what they write, and a patch in its condition.
const (
	doNothing = iota
	doCommit
	doPatch   // a commit whose condition is that the record is there, whatever its Rev
	doFence   // a new Rev and nothing else; where nothing is, a tombstone
	doBury    // delete of a record that expired, by somebody who wants its unique value
	doReindex // a new Rev and an entry; no new version
	doPutRow
	doDropRow
	doPutClaim
	doDropClaim
)

// A Message is one call of the store.
type Message struct {
	verb, by  uint8
	id, value uint8
	tok       uint8 // what is written: the token of the row or claim, or the new Rev
	when      uint8 // the Rev, or the claim's token, that must be there; 0: none
	base      uint8
	on        uint8 // of a row; of a blind commit 1: a tombstone stood when it began
	next      Record
}

// An Item is what a sweeper or a resolver deals with: a row or claim of token
// slot, put on base; or a write of that token, based on that Rev.
type Item struct{ slot, value, id, base uint8 }

// An Actor is one process. The first line is its order; the others are where it is.
type Actor struct {
	role, id, value, unique, fast uint8
	blind, ahead                  uint8 // it does not read before it commits; how many minutes its clock is ahead
	batch                         uint8 // of a scan: how many places it lists at once
	step, done, more, timeouts    uint8
	tok                           uint8  // of this attempt
	base                          Record // the record as this attempt read it
	jobs, todo                    uint8  // what this attempt puts and drops; what of it is left in this step
	rival                         Claim  // the claim in the way
	fence, at                     uint8  // token of the fence under way, and the Rev it needs
	stale                         uint8  // the attempt is older than a tombstone lives
	unbased, since                uint8  // the write to be resolved read nothing; how many others came since, at most as many as the ring has
	item                          Item
	must, may, got, seen          uint8 // of a lookup, by record: matched all the time, some time; answered; had a row
	tokens                        set   // of the rows seen, for mutants that look at them
}

// A State is everything. It is made of bytes only, so it has no gaps.
type State struct {
	records   [nRecords]Record
	rows      [nTokens + 1]Row
	claim     Claim
	hour      uint8 // 1: it has struck
	ready     uint8 // 1: the index has been built
	actors    [nActors]Actor
	scan      Scan // of the one scanner
	flights   [nFlights]Message
	committed set // tokens that were committed
	refused   set // tokens that somebody was told were not
	minute    uint8
	made      [nTokens + 1]uint8 // the minute in which a token was made, by the clock of who made it
	applied   [nActors]uint8
	fault     uint8
}

func raw[T any](v *T) []byte { return unsafe.Slice((*byte)(unsafe.Pointer(v)), unsafe.Sizeof(*v)) }

func (s *State) fail(when bool, f uint8) {
	if when && s.fault == 0 {
		s.fault = f
	}
}

func (r *Record) expired(hour, fast uint8) bool { return r.expires == 1 && hour|fast == 1 }

// current says that r is a record which a reader with a right clock sees.
func (s *State) current(id int) bool {
	return s.records[id].status == live && !s.records[id].expired(s.hour, 0)
}

// settle brings a state into one form: calls under way have no order, and the
// history of tokens that are named nowhere is of no use.
func settle(n *State) {
	if bytes.Compare(raw(&n.flights[0]), raw(&n.flights[1])) < 0 {
		n.flights[0], n.flights[1] = n.flights[1], n.flights[0]
	}
	named := mentioned(n)
	n.committed.keep(named)
	n.refused.keep(named)
	for t := range n.made {
		if !named.has(uint8(t)) {
			n.made[t] = 0
		}
	}
}
