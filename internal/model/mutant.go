package main

// A Mutant is the protocol with one line left out, or done wrong.
type Mutant uint8

// The mutants. What each leaves out stands in the table below.
const (
	correct Mutant = iota
	rowsWithoutToken
	sweepRowUnfenced
	stealUnfenced
	tombstoneTooEarly
	rowAfterCommit
	claimAfterCommit
	releaseUnconditional
	timeoutIsFailure
	readerTrustsRow
	readerTrustsClaim
	fenceReused
	fenceConstant
	fenceWritesEntry
	fenceUnlimited
	commitUnlimited
	resendRefused
	retrySameToken
	zeroWhenOld
	zeroInFullRing
	resolveUnfenced
	resolveByToken
	tombstoneForgets
	cleanUnknown
	claimOverwrites
	releaseByOwner
	absentIsDead
	readerWantsRev
	readerTrustsRing
	newEntryAlways
	oldRowBeforeCommit
	dropsAtOnce
	sweepAtOnce
	stealExpired
	pendingBlocks
	pendingStays
	insertUnread
	fenceIsWrite
	commitUnconditional
	readyAtOnce
	readerIgnoresExpiry
	readerWantsPlace
	scanAnyRow
	scanSkipsBehind
	scanSkipsListed
	scanForgetsBounds
	scanRepeats
	olderWithoutMargin
	olderThoughLive
	tombstoneOutlasted
	tokenBeforeRead
	patchUnread
	unbasedIsNone
	nMutants
)

// A Change describes a mutant.
type Change struct {
	name, says string
	scenario   string // that kills it
	breaks     string // the promise that it breaks there
}

var mutants = [nMutants]Change{
	correct:              {name: "", says: "the protocol"},
	rowsWithoutToken:     {"rows-without-token", "the key of a row is (value, record), without the token", "move-back", "P2"},
	sweepRowUnfenced:     {"sweep-row-unfenced", "a sweeper drops a pending row without a fence", "move-back", "P2"},
	stealUnfenced:        {"steal-unfenced", "a pending claim is taken, or swept, without a fence", "claim-race", "P4"},
	tombstoneTooEarly:    {"tombstone-too-early", "a tombstone expires while older attempts and fences may still act", "retry", "P1"},
	rowAfterCommit:       {"row-after-commit", "the row is put after the commit", "move-back", "P2"},
	claimAfterCommit:     {"claim-after-commit", "the claim is put after the commit", "claim-race", "P4"},
	releaseUnconditional: {"release-unconditional", "a claim is dropped whoever has it", "claim-race", "P4"},
	timeoutIsFailure:     {"timeout-is-failure", "a commit without an answer is taken for refused, and its row dropped", "move-back", "P2"},
	readerTrustsRow:      {"reader-trusts-row", "a lookup does not look at the record", "lookup", "P3"},
	readerTrustsClaim:    {"reader-trusts-claim", "a unique lookup does not look at the owner", "unique-lookup", "P4"},
	fenceReused:          {"fence-reused", "a fence that is begun again has its old token", "retry", "P1"},
	fenceConstant:        {"fence-constant", "all fences have one token", "move-back", "P5"},
	fenceWritesEntry:     {"fence-writes-entry", "a fence where nothing is writes the token of what it fences", "claim-race-again", "P1"},
	fenceUnlimited:       {"fence-unlimited", "a fence has no age limit", "retry", "P1"},
	commitUnlimited:      {"commit-unlimited", "a commit has no age limit", "retry", "P1"},
	resendRefused:        {"resend-refused", "a refused commit is made again when the record reads like its base", "retry", "P1"},
	retrySameToken:       {"retry-same-token", "a write that begins again keeps its token", "retry", "P2"},
	zeroWhenOld:          {"zero-when-old", "Resolve: nothing before counts as in the ring, however old the write is", "resolve-create", "P6"},
	zeroInFullRing:       {"zero-in-full-ring", "Resolve: nothing before counts as in the ring, even if the ring is full", "resolve-create", "P6"},
	resolveUnfenced:      {"resolve-unfenced", "Resolve answers while the write can still happen", "resolve-move", "P1"},
	resolveByToken:       {"resolve-by-token", "Resolve: what is not in the ring was not committed", "resolve-move", "P6"},
	tombstoneForgets:     {"tombstone-forgets", "a tombstone keeps no ring", "resolve-create", "P6"},
	cleanUnknown:         {"clean-unknown", "a writer drops its row though it does not know the outcome", "kept-entry", "P2"},
	claimOverwrites:      {"claim-overwrites", "a claim is put whoever has it", "claim-race", "P4"},
	releaseByOwner:       {"release-by-owner", "a claim is dropped if its owner is the record, whatever its token", "claim-circle", "P4"},
	absentIsDead:         {"absent-is-dead", "where no record is, a row or claim is taken for dead", "claim-race", "P4"},
	readerWantsRev:       {"reader-wants-rev", "a lookup wants the row's token to be the record's Rev", "lookup-kept", "P2"},
	readerTrustsRing:     {"reader-trusts-ring", "a lookup wants the row's token in the record's ring", "lookup", "P3"},
	newEntryAlways:       {"new-entry-always", "an entry whose value stays gets a new token, and a new row", "lookup-kept", "P2"},
	oldRowBeforeCommit:   {"old-row-before-commit", "the old row is dropped (or given a TTL) before the commit", "fading", "P2"},
	dropsAtOnce:          {"drops-at-once", "rows are dropped while a scan of a range may be under way", "scan", "P2"},
	sweepAtOnce:          {"sweep-at-once", "a sweeper drops a dead row while a scan of a range may be under way", "scan-swept", "P2"},
	stealExpired:         {"steal-expired", "the claim of an expired record is taken without deleting the record", "expired-owner", "P4"},
	pendingBlocks:        {"pending-blocks", "a pending claim is answered with ErrExists", "claim-race", "P5"},
	insertUnread:         {"insert-unread", "an insert takes for granted that nothing is there, and does not read", "delete-create", "P2"},
	fenceIsWrite:         {"fence-is-write", "a fence counts as a user write: it changes the version", "move-back", "P5"},
	commitUnconditional:  {"commit-unconditional", "the commit has no condition", "move-back", "P1"},
	readyAtOnce:          {"ready-at-once", "an index is used before it is built", "build", "P2"},
	readerIgnoresExpiry:  {"reader-ignores-expiry", "a lookup returns records that expired", "expired-lookup", "P3"},
	readerWantsPlace:     {"reader-wants-place", "a scan wants the record's place to be the row's", "scan", "P2"},
	scanAnyRow:           {"scan-any-row", "a scan returns a record at the first row of it that it meets", "scan-still", "P7"},
	scanSkipsBehind:      {"scan-skips-behind", "a scan leaves out a record whose place is behind the row", "scan", "P2"},
	scanSkipsListed:      {"scan-skips-listed", "a scan leaves out a record whose place is ahead of the row, even if it was listed without the record", "scan-whole", "P2"},
	scanForgetsBounds:    {"scan-forgets-bounds", "a scan takes a place before its own bounds for one that it passed", "scan-cursor", "P3"},
	scanRepeats:          {"scan-repeats", "a scan does not note which records it returned", "scan", "P7"},
	olderWithoutMargin:   {"older-without-margin", "Resolve: a delete that is older than the write by its token came before it, whatever the clocks", "resolve-insert", "P6"},
	olderThoughLive:      {"older-though-live", "Resolve: a last write that is older came before, though it may be a patch that read nothing", "resolve-patched", "P6"},
	tombstoneOutlasted:   {"tombstone-outlasted", "Resolve answers not committed on a tombstone that an unread insert may outlast", "resolve-insert", "P1"},
	tokenBeforeRead:      {"token-before-read", "the token of a write is made before the record is read", "resolve-insert", "P6"},
	patchUnread:          {"patch-unread", "a patch does not read, and is sent if a record is there, whatever its Rev", "resolve-patch", "P6"},
	unbasedIsNone:        {"unbased-is-none", "Resolve takes a patch that read nothing for one that found nothing", "resolve-unread", "P1"},
	pendingStays:         {"pending-stays", "a sweeper leaves pending rows and claims alone", "move-back", "P5"},
}
