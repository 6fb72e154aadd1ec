// Package repo keeps records in a NoSQL store and finds them again: by key, by
// index tables that it keeps in step with the records, in order, in pages, on any
// store that has a backend.
//
// A [Schema] is data: it says what the key of a collection is and how else its records are found.
// [Open] checks the schema against the record type and the store, and returns a [Repo]. A [Query]
// says which records are wanted, never how they are found. A query that no index answers is
// refused; the error names the index to add. What holds on every store:
//
//   - P1: a write is one atomic step on its record. Every write gives the record a new Version; no
//     earlier Version comes back. A write with a stale version is refused.
//   - P2, no miss: a query returns every record that matches it from before the call until after
//     it. Exception: a writer moves a record to another position in the order of the query
//     meanwhile. A loop over more than one batch, or a sequence of pages, may then skip the record
//     or return it twice.
//   - P3, no false hit: every returned record matched the query when it was read.
//   - P4: unique means unique, at every instant, even after a crash.
//   - P5: what a crash leaves behind is never returned to a reader, and blocks nobody for long.
//   - P6: a write whose outcome cannot be known ends with [ErrUnknownOutcome], and [Repo.Resolve]
//     settles it.
//
// A field of a struct is stored under the name in its tag, or else under its own name in lower
// case; `repo:"-"` leaves it out. Options follow a comma in the tag:
//
//   - ",version" is the record's [Version], ",expires" the time at which the record expires, and
//     ",extra" a map[string]any with the fields that the struct does not declare; none of these
//     three is itself a stored field;
//   - "name,nanos" keeps the nanoseconds of a time; without it a store keeps milliseconds, in UTC;
//   - "name,omitempty" makes a number, text, bool or time absent where it is 0, "", false or the
//     zero time: such a record has no row in an index of the field, and takes no unique value. Nil
//     or empty pointers, lists and maps are absent without this option.
//
// Keep the clocks of programs that share a store within a minute of each other. Each program
// decides by its own clock which records have expired. [Repo.Maintain] decides by its program's
// clock which tombstones are so old that no earlier write can still come.
//
// A record that expires while a call reads it is read again: it may have been renewed, or written
// when it had expired already. If others always write a record anew, and the record never lives as
// long as a read takes, a call on it gives up with [ErrContention].
//
// The package imports nothing but the standard library and packages of this module.
package repo
