// Command evolution explores how an index is added to a live collection and dropped again while
// programs that know of it and programs that do not yet know write to the same records. It visits
// every state that small scenarios can reach, with programs that stop for any time at any step,
// between the check of what they know and the sending of a write too. In each state it checks the
// promises. Then it spoils the protocol in one line at a time, and each such mutant must break a
// promise.
//
//	go run ./internal/evolution                       # all scenarios, all mutants
//	go run ./internal/evolution -scenario move        # one scenario
//	go run ./internal/evolution -mutant no-fence      # the shortest run that one dies of
//
// Exit code 1 means that something is wrong. In brackets below stand the mutants.
//
// # The promises
//
//	P2  A query by a ready index returns every record that matches.
//	P3  It returns no other.
//	P4  Of a unique index that is ready no two records have one value, and a write is refused for
//	    a value only where another record has it.
//
// # The states
//
// The catalog has one of these for an index, and each program a view: what it read there last.
// A program writes for all indexes of its view, also for those that it does not declare
// [blind].
//
//	gone      nobody knows the index
//	declared  a write removes rows of what it replaces, and adds none [declared-left-out]
//	written   a write keeps the rows in step
//	ready     the same, and queries use the index [ready-at-once]
//	leaving   the same, and queries use it no more [leaving-left-out]
//
// Whoever changes the state waits until no program has a valid view of the state before
// [no-wait]. So at most two neighbouring states are in use. An index that comes again after it
// was gone has another table, since a late write may still come to the old one [same-table].
//
// # Views
//
// A view is valid for a time from when its reading began. A write reads its record, then looks
// whether the view that it goes by is valid, and is sent [expired-view, check-before-read]. A
// program whose view is not valid reads the catalog first. A query looks at its view after it
// has read.
//
// Between that look and the arrival of a write any time may pass. What keeps such a write from
// doing harm depends on the store:
//
//	epoch     the commit itself compares what the catalog says: nothing is left
//	deadline  the server refuses the commit after the end of the view, by its own clock
//	none      a write that read its record is refused, since the filler touched it meanwhile
//	          [no-fence]. A write that read none, an insert of a new key or a blind patch, is
//	          assumed to arrive before the view's end and a stated margin [late-insert,
//	          late-patch]; what comes later is found by Verify.
//
// # Filling
//
// When all write, each record is read, and one commit that depends on its Rev gives it a new Rev,
// the fence, and its rows. A refused one reads again. Of a unique index a row that another
// record has is a clash: the index is taken back.
//
// A filler may stand still at any step while another one takes over, from where the catalog says
// that the first was: behind what is filled [mark-ahead]. The first one goes on when it wakes. It
// looks at its view after it has read a record [filler-blind], and its commit depends on the Rev:
// so it changes nothing that was filled since.
//
// # Two kinds of tables
//
// With the record: its rows change in the record's commit, and a query trusts them. Elsewhere:
// a row with a token is put before the commit, the record says which token counts, and a query
// believes no row that the record does not confirm.
package main
