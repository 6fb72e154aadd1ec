// Package cassandra is a backend on Apache Cassandra, version 4.1 or later. It uses the
// client of github.com/apache/cassandra-gocql-driver/v2 and protocol version 5: [New]
// takes the program's own session, [Open] makes one from a URL.
//
// # Promises
//
// A commit lies in one partition, which has records and the rows and claims of their
// local indexes; Facts.Scope is driver.ScopePartition. It is one conditional statement or
// one conditional batch (a lightweight transaction), with QUORUM and SERIAL, which say
// themselves with every statement and are never taken from the session. No row beside
// records is ever written without a condition, because the two kinds of writes have
// different clocks. Without one a sweep removes what was deleted, as of a time by the clock
// of conditions, at which it was there.
//
// Indexes in other partitions than their records have tables of their own. Claims are
// conditional, too; rows, which nobody writes twice with another meaning (driver.Table.Unconditional),
// are written at QUORUM with the client's time, so that a drop outdoes the puts that were
// sent before it. Keep the clocks of programs within a minute of each other: beyond that
// rows of no record can stay until the next repo.Maintain, which no reader returns. That
// removes them however far ahead the clock was of whoever wrote them.
//
// What is conditional is sent once, without the client's retries and speculation. With
// any end but an answer of the server that it did not understand, or may not, the outcome
// is unknown: also when the server says that it has not enough servers or time, since it
// says so of what was accepted already, and when the context ended. The token in the ring
// of the row then tells whether it was done. A commit for which there is no connection
// waits three seconds for one; it was not sent. Commits of one store to one partition
// wait for each other. What only reads is sent again once if the connection broke.
//
// What an acknowledged commit survives depends on the servers' commit log: with
// commitlog_sync batch or group it is driver.Power, from three copies on driver.Node;
// with periodic, the server's default, it is driver.Delayed: what was written since the last
// sync, ten seconds and more, is lost when a server's process ends. More copies do not help
// for certain: a quorum can be of the server that lost it and of one that never had it.
//
// With Options.Datacenter, dc in a URL, LOCAL_QUORUM and LOCAL_SERIAL take their place.
// The first program to define a table in the keyspace decides; others are refused.
//
// # Native indexes
//
// With Kind "native" an index is kept by the server, from Cassandra 5.0.4 on: a storage-attached
// index on the column of each field of its Partition beside those of the records. It
// finds by equality, in one partition, in the order of the records; Facts.NativeLocal says
// of which kinds. Read backwards, the server filters the records of the partition instead.
// Any other form is refused when a collection is opened, and a kind that is left open is a table.
//
// # Deletes
//
// A delete leaves no tombstones: a record stays as a dead one, a husk, with no value in any
// field, and a row of an index as its remains, which end by themselves a minute after
// gc_grace_seconds. Nobody reads them but the server, which passes them over. Maintain removes
// husks that nobody needs any more, from a quarter of an hour on, and the remains beside them: all between
// two rows that stay, which is two tombstones however much was there, or the whole partition, which
// is none. So call it every hour or so where much is deleted.
//
// A server ends a read that meets more than tombstone_failure_threshold tombstones, 100,000, or takes
// too long. It is then done again in pieces of fewer rows. That helps against what earlier releases
// left of fields, and not where so many rows follow each other that one removed one by one:
// there a read is ErrUnavailable until gc_grace_seconds are over.
//
// # Server
//
// A user needs CREATE, ALTER, DROP, SELECT and MODIFY on the keyspace, and SELECT on
// system_views. Set paxos_variant v2. ALLOW FILTERING must be allowed: in a partition it
// leaves out dead records at the server. A commit has at most the bytes of a message and
// of half a segment of the commit log, 16 MiB where nothing else is set.
//
// # Layout
//
// The keyspace has a table for each table of records, and for each index in other
// partitions, named like it, with _X_ for a dot, and with its end replaced by a hash beyond
// 48 letters. Its partition columns are those of the records or of the index, in the types
// of their kinds; an empty text, where it is the whole partition, and one that begins with
// #, has one # more in front. The clustering column is _sort:
//
//	:S          a record, S being the text of its sort columns
//	by_at:S     a row or claim of the index posts.by_at, S being that of the index
//	:S          the same in a table of its own
//
// Fields have columns of their names, in the types text, bigint, double, boolean, blob and
// timestamp; lists and maps are tagged JSON, in which {"$time": ms}, {"$bytes": "base64"}
// and {"$float": "+Inf"} stand for what JSON lacks. Rows of an index have the fields that
// it covers in the same columns, and claims the owner's key in _key; those of an index that
// covers nothing have _rev alone. The library's own columns are _rev, 16 bytes; _ring, 16
// bytes for each token; _dead, which every record has; _expires; _note; _extra, the fields
// that were not declared when they were written, as one JSON object; and _later, which is
// true where the row has a field that was declared when there was the table already. Husks
// have no bytes in _later, and remains none in _rev. In both a field has no bytes, or, where it
// is a text, the text U+0000, "polystore has none", U+0000. A text that begins so has that
// twice.
//
// The table _tables has a row for each table: layout number, key columns as JSON, whether
// it is plain or native, the table of its records, and the kind of each field, with " later"
// if the table was there before it. Its row "-" has the consistency of the keyspace.
//
// Rows of other programs that lack _rev, or _dead in a record, or have a column that
// nobody declared or a value that its kind has not, are ErrCorrupt, which names them,
// wherever they are read; all others stay as they are. A record without _dead is in no
// range.
package cassandra
