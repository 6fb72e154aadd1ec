// Command model explores the portable commit protocol: how a record and what is
// derived from it in other partitions, rows of an index and claims on unique values,
// change together on a store that can do no more than compare-and-set one record.
// It visits every state that small scenarios can reach, with calls that get no
// answer, that are carried out late, twice or never, and processes that stop for ever
// at any step; in each it checks the promises P1 to P7. Then it spoils the protocol
// in one line at a time, and each such mutant must break a promise.
//
//	go run ./internal/model                      # all scenarios, all mutants
//	go run ./internal/model -scenario retry      # one scenario
//	go run ./internal/model -mutant fence-reused # the shortest run that one dies of
//
// Exit code 1 means that something is wrong. In brackets below stand the mutants that
// leave a line out.
//
// # The promises
//
//	P1  A commit is one step. A version never comes back, a refused write stays refused, no update is lost.
//	P2  A lookup returns every record that matched from before the call until after it.
//	P3  Every record that a lookup returns matched at a moment inside the call.
//	P4  A unique value has one holder at every instant; a lookup by it is linearizable.
//	P5  What a crash leaves is garbage: no answer shows it, it blocks nobody, a sweep removes it.
//	P6  Resolve never answers what did not happen, and never takes an answer back. Of a write
//	    that read its record it knows as long as fewer others came since than a ring has tokens.
//	P7  A lookup by range returns no record twice, and one that matched and did not move
//	    until then at its own place. So no old row shows it out of order, or on two pages.
//
// # What is stored
//
// Token: 128 bits, new for every attempt to write and for every fence, never used
// again [retry-same-token, fence-constant].
//
// Record: Rev, the token of the last change; Ring, the tokens of the last user writes
// (four; here two), newest first, the first of them being the version; its fields; and
// for each index it is in, the token of its entry there. A record that is deleted stays
// as a tombstone with Rev and Ring [tombstone-forgets] for seven days: the retention.
// Nothing there, or a tombstone that expired, is absent: Rev none, Ring empty. The
// entry's key follows from the fields.
//
// Row: key (index key, record's key, token) [rows-without-token]; content: the base,
// which is the Rev that the attempt's commit needs. It is put once and dropped once.
// It holds no copy of the record's fields, and no expiry: lookups read records.
//
// Claim: key (unique index, value); content: record's key, token, base. It changes by
// compare-and-set on its token alone [claim-overwrites].
//
// Of a row or claim with token t and base b, a reader of the record says:
//
//	live     the record is there, expired or not, and t is the token of its entry
//	pending  not live, and Rev is b: the commit of t may still come
//	dead     not live, and Rev is not b: it will never be live
//
// Absent is no exception: there Rev is none, so a base of none is pending
// [absent-is-dead].
//
// # Insert, update, put, delete
//
//	W1  Note both clocks. Read the record (linearizable), an insert too
//	    [insert-unread] and a patch too [patch-unread]; then make a token t [token-before-read]. base is its Rev, none if absent; a tombstone's Rev if one is there.
//	    Insert: a record that has not expired is ErrExists. Update: none, or expired, is
//	    ErrNotFound. Delete: none, or expired, is success. With an expected version: another
//	    one is ErrConflict. An expired record counts as none, but W2 to W5 deal with its
//	    entries like those of any other.
//	W2  Plan. An entry whose index key stays is kept, with its token, and costs nothing
//	    [new-entry-always]. Every other new entry gets the token t.
//	W3  At once and in parallel: put all new rows (plain writes) and all new claims (each
//	    if there is none). One round trip. No answer: send the same again, or give up:
//	    as W4 was never sent, t is dead (W7). All must be acknowledged before W4 [row-after-commit, claim-after-commit].
//	    A claim of token t that is there is one's own: success. Any other: C1.
//	W4  The commit: one compare-and-set on the record, if Rev is base [commit-unconditional]:
//	    Rev and version become t, Ring gets t in front, entries as planned. A delete makes a
//	    tombstone. Done: success, tell the user; go to W6.
//	    No answer: read, and if Rev is base send the very same again; else W5. It is not
//	    a failure [timeout-is-failure]. When the caller's time or the age limit is over:
//	    ErrUnknownOutcome with {key, t, base, version of base}; nothing is dropped.
//	    Refused: W5. A refused commit is never sent again, even if Rev is base once more
//	    [resend-refused].
//	W5  Settle: read the record, and answer as in R2.
//	    Committed: success, W6. Not committed: W7. Unknown: ErrUnknownOutcome; nothing is
//	    dropped [clean-unknown].
//	W6  Later, in any order, not waited for, each sent once: drop the rows of the entries
//	    that the commit took out, by their old tokens, and never before the commit
//	    [old-row-before-commit]; drop their claims, each if its token is the old one
//	    [release-unconditional, release-by-owner]. Rows not before a scan of a range that
//	    is under way must have ended (one minute) [drops-at-once].
//	W7  t is dead: drop own rows at once and own claims if their token is t, not waited for.
//	    Then ErrConflict or ErrExists; or, if the verb has no version to keep to, W1 again
//	    with a new token. After a fence alone the version is unchanged: begin again, too.
//
// A claim is in the way, with token t', of record r', on base b':
//
//	C1  Read r' (linearizable), which may be one's own record.
//	    live, r' not expired: ErrExists (t was never committed, so W7).
//	    live, r' expired: delete r' as in W4, with a token of its own, if Rev is what was
//	    read; then C1 [steal-expired]. Its other rows and claims are the sweeper's.
//	    pending: F1 on r' with b' [steal-unfenced], at the latest when t' is older than the
//	    grace (30 s) [pending-blocks]; then C1. Was it one's own record, the commit will be
//	    refused, and W7 begins again.
//	    dead: put the claim if its token is t'. Refused: none there, W3; another one, C1.
//
// # Fence
//
//	F1  Make a token f. Compare-and-set on the record if Rev is base: Rev becomes f; nothing
//	    else changes, neither version nor Ring [fence-is-write]. Where the record is absent
//	    (base none) it becomes a tombstone with Rev f, never the token of what is fenced
//	    [fence-writes-entry], with the whole retention from now on. A tombstone that is
//	    fenced has the whole retention from now on, too.
//	F2  Done or refused: read the record again, and judge again. No answer: send the same
//	    again, or read again. A fence that is begun again after reading has a new token
//	    [fence-reused].
//
// # Age limit
//
//	A1  Every conditional write on a record (commit, delete, fence), resends included, is
//	    given up when it is older than a third of the retention, or one hour, whichever is
//	    less. The age counts from before the read that gave its base, by the wall clock or
//	    the monotonic one, whichever says older, looked at before each send. Transports must
//	    not keep a request longer than what is left of the retention [commit-unlimited,
//	    fence-unlimited, tombstone-too-early].
//	A2  Rows, claims, their drops, and all reads may be late for ever.
//
// # Lookups
//
//	L1  By index: list the rows, in pages if need be, in one round trip a page. Then read
//	    all records that had a row, in parallel, each once: the second round trip. Return
//	    those that match the query as they are now and have not expired [reader-trusts-row,
//	    reader-ignores-expiry], once each. The tokens of rows are not looked at
//	    [reader-wants-rev, reader-trusts-ring].
//	L2  By range: list a batch of rows in the order of their places, then read the records
//	    of all of them, as often as one likes and in any order; then the next batch. Go over
//	    the rows of a batch in order. A record's own place is that of its entry, as read; it
//	    counts if it lies within the bounds of this call, which for a later page of a cursor
//	    begin after the page before [scan-forgets-bounds]. A record that was not returned yet
//	    [scan-repeats] is, with its own place
//	      at the row's: returned here;
//	      behind the row's: returned here: it moved there meanwhile [scan-skips-behind];
//	      ahead, and not listed yet: left out here, its row is still to come [scan-any-row];
//	      ahead, and listed, with a row of it there in this batch: left out here, too;
//	      ahead, and listed, without: returned here: it moved there between the list and the
//	      read [scan-skips-listed]. The last batch has listed all that is ahead.
//	    So a record that moves is not left out because its row is elsewhere
//	    [reader-wants-place]. P2 holds for scans shorter than the delay of W6.
//	L3  By unique value: read the claim (linearizable); none is nobody. Then read its owner
//	    (linearizable): if the claim's token is live there, and the owner has not expired, it
//	    is the answer, else nobody [reader-trusts-claim]. The claim is not read again.
//	L4  A projection reads the same two rounds, with the projection's fields in the second.
//
// # Sweep, expiry
//
//	S1  For a row or claim found: read its record (linearizable). live: keep it.
//	S2  pending: F1 on its record with its base, when t is older than the grace; look again
//	    [sweep-row-unfenced, steal-unfenced, pending-stays].
//	S3  dead: drop it. A row waits as in W6 [sweep-at-once]; a claim goes if its token is t.
//	    A dead row stays dead, so nothing is looked at again.
//	S4  A record that expired is deleted as by delete, if Rev is what was read.
//
// On a store with TTL a drop of a row may be a put of the same key with a TTL that is
// longer than any scan, wherever a drop is allowed above, and nowhere else.
//
// # Resolve
//
//	R1  Given {key, t, base, version of base}. Read the record (linearizable).
//	R2  t is in Ring: committed. Else Rev is base: open. Else the version of the base is in
//	    Ring: not committed. Else unknown [resolve-by-token].
//	    A base without a version (absent, or a fence's tombstone) counts as in Ring if Ring is
//	    not full [zero-in-full-ring] and t is younger than the retention less a margin for
//	    clocks [zero-when-old].
//	    Before that: the record is a tombstone, and the token of its delete, the first in Ring, is
//	    older than t by more than clocks differ [older-without-margin]: not committed. A delete
//	    reads before it makes its token. Had t been committed before the delete, that token were
//	    younger; and after it, t would be in Ring. It must be a delete: a patch may have read
//	    nothing [older-though-live].
//	R3  Open: F1 with base, then R1 [resolve-unfenced]. In W5 open cannot be fenced away for
//	    the writer: its commit was refused, so absent came back; it answers unknown.
//
//	R4  Where no index lies elsewhere, an insert needs no base: it is sent unread, if nothing is
//	    there, not even a tombstone. So is a patch whose caller asks for that by name, if a record is
//	    there: it has no base, and no fence keeps it out, so that it is known to be committed while
//	    t is in Ring, and else nothing is known of it, for ever [unbased-is-none]. Such an insert may be sent long
//	    after the delete, and come when the tombstone is gone. So not committed, on a tombstone and
//	    with a base of none, is said only after F1 on that tombstone [tombstone-outlasted]: then it
//	    lasts longer than the insert may be under way.
//
// # Building and mending an index
//
//	B1  For each record without an entry: W1 to W7 with the record as it is; the commit
//	    changes Rev and the entry, not the version. All writers give entries meanwhile.
//	B2  Nobody uses the index before a pass found an entry in every record [ready-at-once].
//	M1  A row or claim that is lost is put again: read the record, and put, for a live entry,
//	    the row with its token and, as base, that token itself (a claim: if there is none). Such
//	    a base is the record's Rev only while the entry is live, so it is never pending.
//
// # What it costs
//
// Nothing in the way: W1, W3, W4, three round trips, where a plain guarded insert has one
// and a plain read-and-write two; an update that keeps all its index keys has no W3. Drops
// are not waited for. Lookups: two.
//
// # What is not modelled
//
// Two changes at the same place in one call, more than two records, one index and one
// unique value, more than two calls under way, three processes that fence each other for
// ever (liveness), the passing of time except as the order of events that A1 and the
// retention allow, replicas and timestamps of a store (each call is one step there), and
// rows that commit with their record, which need none of this.
package main
