// Package pebble is a backend on Pebble, a log-structured merge tree that lives
// in a directory and belongs to one process at a time.
//
// A commit is one Pebble batch, checked and applied while the keys that it names
// are locked, and written to disk after they are unlocked, so that commits of
// many goroutines share one fsync. With the option NoSync it is not waited for:
// that is the class driver.Memory, because even the end of the process alone
// loses what it still holds.
//
// # Files
//
// A directory belongs to this package if it holds the file POLYSTORE, which says
// with which layout the rest was written. Another directory with anything in it
// is refused and left alone.
//
// Keys begin with the number of a table, in one byte below 128 and else in two,
// followed by the partition and the sort text. Number 0 is the catalog: under
// 0, 't' and a table's name lies its description as JSON; it gives the table and
// each of its fields a number that is never used again. Rows have the form that
// is said in codec.go.
//
// # Deletes
//
// A read that has passed thousands of deleted rows for each row that it found has them
// compacted away, in the background, one span at a time and for a tenth of the time at most. So
// the 20 oldest rows behind 50,000 that were deleted take 5.7 ms once, and 0.01 ms some tenths of
// a second later.
//
// # Failures
//
// Pebble gives up, by ending the process, when its log or its manifest cannot be
// written. This package lets nothing of the sort happen: it notes the first such
// failure and from then on writes nothing to the directory, which stays as after
// a crash. A commit that was under way is ErrUnknownOutcome, later ones are
// ErrUnavailable, and reading goes on, with commits of unknown outcome in sight.
// Closing the store and opening it again mends it.
//
// While less than a small reserve of the disk is free, or a table cannot be
// written for want of space, commits are ErrFull until there is space again.
package pebble
