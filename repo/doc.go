// Package repo keeps records in a NoSQL store and finds them again: by key, by
// index tables that it keeps in step with the records, in order, in pages, on any
// store that has a backend.
//
// A [Schema] says, as data, what the key of a collection is and how else its
// records are found; [Open] checks it against the record type and the store and
// returns a [Repo]. A [Query] says what is wanted, never how; one that no index
// answers is refused with the index to add. What holds on every store:
//
//   - P1: a write is one atomic step on its record, and its Version is another one
//     after every write and never an earlier one; a stale version is refused.
//   - P2, no miss: a query returns every record that meets it from before the call
//     until after it. A record that a writer moves to another place in the order
//     of the query meanwhile counts as one that comes and goes: a loop over more
//     than one batch, and a sequence of pages, may pass it over or meet it twice.
//   - P3, no false hit: every record returned met the query when it was read.
//   - P4: unique means unique, at every instant, also after a crash.
//   - P5: a crash leaves nothing that a reader sees or that blocks anybody for long.
//   - P6: an outcome that cannot be known is [ErrUnknownOutcome], and
//     [Repo.Resolve] settles it.
//
// A field of a struct is stored by the name in its tag, or else by its own in lower case; `repo:"-"` leaves
// it out. What follows a comma in the tag says more:
//
//   - ",version" is the record's [Version], ",expires" the time at which it ends, and ",extra" a
//     map[string]any with what the struct does not declare: each of them is no field of the store;
//   - "name,nanos" keeps the nanoseconds of a time, of which a store keeps milliseconds in UTC;
//   - "name,omitempty" makes a number, text, bool or time absent where it is 0, "", false or the zero
//     time: such a record has no row in an index of the field, and takes no unique value. Pointers,
//     lists and maps are absent without it when they are nil or empty.
//
// Keep the clocks of programs that share a store within a minute of each other. By its own
// clock each says which records have expired, and Maintain which deleted ones are so old
// that no write from before can come any more.
//
// A record that expires while a call reads it is read again, since it may have been renewed,
// or written when it had expired already. A call on a record that others write anew each time,
// and that never lives as long as a reading takes, gives up with [ErrContention].
//
// The package imports nothing but the standard library.
package repo
