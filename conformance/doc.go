// Package conformance says whether a store keeps the contract of package driver,
// and whether package repo on that store keeps its own.
//
// For the author of a backend it is one line in a test:
//
//	func TestConformance(t *testing.T) { conformance.Run(t, open) }
//
// For an operator it is a command against a live server, polystore conform URL,
// which calls [Check]. Both do four things.
//
// Rules: each is a sentence of the contract and a function that finds it kept or
// broken. They run in parallel on one store and share a handful of schemas; each
// has partitions of its own. What a store says in its Facts that it cannot do
// is counted as not supported, with the reason, and the rules that remain see
// that it leaves no trace.
//
// Random operations: the same calls of package repo on the store and on the
// memory backend, which must answer alike. A difference is shrunk to a short
// list of operations, and its seed is printed.
//
// Concurrent histories: many goroutines on few records. Histories of records, of
// records that are written together with a twin in another collection, and of
// unique values must be linearizable, and a lookup by an index must return
// what was there during the whole call and nothing that was not there at all.
// [InTrouble] makes such histories on a store whose network fails meanwhile.
//
// Killed writers: a child process commits and is killed, and what was acknowledged to it
// must be there: see [Child].
//
// A store that hangs is left behind and named. If it ends the process, an observer, which is
// the same program once more, says on standard error what was running.
//
// Everything is kept in collections whose names begin with "cf" and a random
// number, and dropped at the end: a live server is not disturbed.
package conformance
