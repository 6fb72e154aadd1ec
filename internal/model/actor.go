package main

// The roles. An actor with role nobody is not there.
const (
	nobody = iota
	inserter
	updater
	putter
	deleter
	patcher // changes the record if it is there, and no entry
	reaper  // deletes what expired
	indexer // gives a record its entry in an index that is being built
	rowSweeper
	claimSweeper
	resolver
	mender
	finder       // by equality
	scanner      // a range
	uniqueFinder // by unique value
)

func (a *Actor) writes() bool  { return a.role >= inserter && a.role <= indexer }
func (a *Actor) deletes() bool { return a.role == deleter || a.role == reaper }

// The steps of one who writes, and of the others. Each begins with 0.
const (
	stepRead = iota
	stepPrepare
	stepRival
	stepFence
	stepBury
	stepCommit
	stepSettle
	stepClean
	stepAbort
)
const (
	stepPick = iota
	stepLook
	stepFenceItem
	stepDrop
)

// The jobs of an attempt: what it puts before the commit, and drops after it.
const (
	jobRow = 1 << iota
	jobClaim
	jobOldRow
	jobOldClaim
	allJobs = jobRow | jobClaim | jobOldRow | jobOldClaim
)

func (a *Actor) finish() { *a = Actor{role: a.role, done: 1} }

// insert, update, put and remove are actors that write record id, with a value in
// the index and in the unique index, 0 being none.
func insert(id, value, unique uint8) Actor {
	return Actor{role: inserter, id: id, value: value, unique: unique}
}
func update(id, value, unique uint8) Actor {
	return Actor{role: updater, id: id, value: value, unique: unique}
}
func put(id, value, unique uint8) Actor {
	return Actor{role: putter, id: id, value: value, unique: unique}
}
func remove(id uint8) Actor  { return Actor{role: deleter, id: id} }
func find(value uint8) Actor { return Actor{role: finder, value: value} }

// scan is a scan of the places from value down to A, in batches of so many places.
func scan(value, batch uint8) Actor {
	return Actor{role: scanner, value: value, batch: batch}
}
func simple(role uint8) Actor { return Actor{role: role} }

// patch changes record id if it is there.
func patch(id uint8) Actor { return Actor{role: patcher, id: id} }

// unread lets an insert commit without reading: if nothing is there, not even a tombstone; and
// a patch: if a record is there, whatever its Rev. It has no rows and no claims, whose base
// would have to be known.
func (a Actor) unread() Actor { a.blind = 1; return a }

// early gives an actor a clock that is a minute ahead.
func (a Actor) early() Actor { a.ahead = 1; return a }

// twice lets an actor begin again once, with a new token, when its write is refused.
func (a Actor) twice() Actor { a.more = 1; return a }

// hasty gives an actor a clock that says the hour has struck.
func (a Actor) hasty() Actor { a.fast = 1; return a }
