// Package mongo is a backend on MongoDB, version 5.0 or later: a replica set of one
// server or more. It uses the client of go.mongodb.org/mongo-driver/v2: [New] takes
// the program's own, [Open] makes one from a URL.
//
// # Promises
//
// A commit of one row is one statement, and so is that of a record whose indexes are
// native. A commit of several, a record with its rows in index tables, is one transaction: all or nothing, with snapshot reads and a commit that a
// majority has in its journal. What an acknowledged commit survives stands in Facts:
// driver.Power where one or two servers have the data, driver.Node from three on.
// Every read is from the primary and of what a majority has.
//
// These concerns are said with every command, and never taken from the client or the
// server's defaults. Commands are sent once, without the client's retryable writes: one
// that may have left and was not answered is ErrUnknownOutcome, also when the context
// ended, and when the server says that a write is done but not yet as durable as it was
// to be (a write concern error). The token in the ring of the row then tells whether it
// was done. Only the commit of a transaction is sent again, three times at most, because
// the server does it once; and what the server undid because of another transaction is
// begun again for ten seconds, then it is ErrThrottled. A transaction that was given up
// is undone in the background, at the latest when the server answers again, so that it
// does not lock its rows for the minute that the server would give it
// (transactionLifetimeLimitSeconds). The server is told once more a second later, for which
// Close waits; only a statement that the network delivers after that keeps them so long. What only reads is sent again once if the connection broke or the primary changed.
//
// A server that stands alone, without --replSet, has no transactions: Facts.Scope is
// driver.ScopeRecord, and package repo refuses index tables there and has native ones. A router of a sharded
// cluster is refused: a record and its rows lie on several shards there. FerretDB is
// refused unless Options allow it: it looks for a row and changes it in two steps, so
// that commits of several programs are lost.
//
// # Server
//
// A user needs the role readWrite on the database. With clusterMonitor beside it the
// store knows the storage engine, and the processor time for measurements. A document
// has at most 16 MiB, and values are nested at most 150 deep.
//
// # Layout
//
// P and S are the texts of a key's partition and sort columns, PREFIX is Options.Prefix
// with a colon after it, or nothing.
//
//	PREFIX TABLE    a collection for each table: records, rows and claims; a document
//	                for each row, with _id P S, a string whose byte order is that of keys
//	PREFIX _tables  a document for each table: its name as _id, the layout number, "key",
//	                the key columns as JSON, and "fields", the kind of each field, with
//	                " later" if the table was there before it
//
// In a document a field has its own name and the type of its kind: string, binary, long,
// date, double, bool, array, document. A record that is not dead has the columns of its
// key as fields, too, for people and other programs. Fields that were not declared when
// they were written are in _extra, in whose names %, '.', '$' and NUL are %25, %2E, %24
// and %00, and an empty name is %. What begins with '_' is the library's: _rev, 16 bytes,
// which rows of indexes that cover nothing do without; _ring, an array of the same;
// _expires, a date; _dead, which is true; _note; and _check, which a commit writes to a row
// that it only looked at, so that no other can change it meanwhile.
//
// Documents of other programs with an _id that is no string are not seen. A null is
// nothing, in any field but _rev. A document with fields that are missing, of another type, or
// that nobody declared is ErrCorrupt, which names it, wherever it is read; all others stay
// as they are.
package mongo
