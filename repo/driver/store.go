package driver

import (
	"context"
	"iter"
	"time"
)

// A Store is a backend. All methods may be called by many goroutines at once,
// except that nothing may be called after Close has begun; what is called then
// all the same answers ErrClosed.
//
// Every method returns promptly when its context ends. An error is one of the
// sentinels of this package, wrapped. A backend never retries a Commit unless
// the store itself answered that nothing was done.
//
// Strings in rows that a store returns belong to the caller for good. Slices
// do too unless a method says otherwise. Slices in arguments are the caller's:
// a store must not keep or change them after the method has returned.
type Store interface {
	// Facts says what the store is and can do, learnt when it was opened.
	Facts() Facts

	// Define makes the tables exist. It is idempotent, safe when two programs
	// call it at once, and does not touch rows. A table that exists with other
	// key columns is ErrSchema; new fields are added.
	Define(ctx context.Context, tables []*Table) error

	// Attach makes the store know tables that exist, without changing anything
	// in it. A table that does not exist, or lacks a field, is ErrSchema where the
	// store can tell; package repo looks into its catalog, too.
	Attach(ctx context.Context, tables []*Table) error

	// Drop removes the tables with all their rows. Dropping a table that does
	// not exist succeeds.
	Drop(ctx context.Context, tables []*Table) error

	// Get reads the rows under keys into rows, which has the same length, in the
	// same order; rows[i].Rev is zero when there is none. It reuses the slices
	// of rows. It sees every commit that was acknowledged before it began. It
	// is one round trip deep. Fields are limited to mask unless that is nil;
	// an empty mask that is not nil reads no field. Rows read together need
	// not be of one instant.
	Get(ctx context.Context, t *Table, keys []Key, mask []int, rows []Row) error

	// Range yields the rows of a span in byte order of Key.Sort, or against it.
	// It sees every commit that was acknowledged before the call and is lazy:
	// nothing is read before the loop begins, and leaving the loop releases
	// everything. An error comes once, last, with a nil row. The row and its
	// slices are valid until the next step or the end of the loop, its strings
	// for good. A row that is there during the whole loop is yielded exactly once.
	Range(ctx context.Context, span Span) iter.Seq2[*Row, error]

	// Commit does all ops or none, atomically and in isolation, if their
	// conditions hold of the rows as they were before. A key is named by one op
	// at most. Rows that it writes have the Rev token. A Refusal says which
	// condition did not hold; then, and with any error but ErrUnknownOutcome,
	// nothing has changed. When it returns nil, nil the ops survive what
	// Facts.Durability names, and so does what a Check saw; every later Get and
	// Range sees them.
	//
	// All ops lie in one commit scope: see Facts.Scope. Sent again with the same token
	// to a table with a Ring it answers as the first time as long as the token
	// is in the Ring of the first op's row. A backend that sends a commit again by itself does so only
	// then: a refusal of what was sent twice is ErrUnknownOutcome, unless the Ring tells.
	//
	// ErrUnknownOutcome says that the ops may or may not have been done, or be
	// done later. A context that ends before anything was sent is the context's
	// error with ErrTimeout; nothing was done.
	Commit(ctx context.Context, token Token, ops []Op) (*Refusal, error)

	// Walk yields all rows of a table, with all fields and with Key, in chunks
	// and in no particular order. A row that is there during the whole walk comes
	// at least once. Mark is "" or that of an earlier chunk, after which the walk
	// goes on, in this program or another. A bad mark is ErrInvalid, and so is one
	// from which the store can no longer go on, after a restart, say. Chunks hold
	// at most some hundreds of rows and belong to the caller.
	//
	// Rows that cannot be read do not end a walk: the chunk in which they would be has
	// the others, its mark, and comes with an [Unread] that names them. Any other error
	// comes once, last, with an empty chunk.
	//
	// The rows of a Native table are its entries as the index has them, one for each: Key
	// is that of the row of Home, and Fields are the values of the columns of Partition and
	// Sort. A store that cannot list them, or not those of elements, answers ErrUnsupported.
	Walk(ctx context.Context, t *Table, mark string) iter.Seq2[Chunk, error]

	// Close waits for calls under way, releases everything and makes what was
	// acknowledged durable as far as Facts says. Closing twice succeeds.
	Close() error
}

// A Sweeper is a Store in which what was deleted stays in the way of reads until it is swept.
// It is optional: package repo removes dead records by commits of some at once instead.
type Sweeper interface {
	// Sweep goes through one page of a table of Records, the rows after a mark in no
	// particular order, and removes the dead of them for which old is true, each unless it
	// has changed since it was read; and what is left of deleted rows there and in the
	// tables whose Home it is. Marks, and errors of rows that cannot be read, are as those of Walk.
	Sweep(ctx context.Context, t *Table, mark string, old func(*Row) bool) (Swept, error)
}

// A Swept is a page of a sweep: the rows that stay, without their fields and not in a Chunk's
// bounds, the mark from which a later sweep goes on, how many records were removed, one that changed just
// then counted or not, and how many rows were read, of indexes and what is left of deleted ones among them.
type Swept struct {
	Chunk
	Dead int
	Read int
}

// A Counter is a Store that counts without sending rows. It is optional: package
// repo counts what Range yields instead.
type Counter interface {
	// Count returns the number of rows of a span, at most Limit if that is set.
	Count(ctx context.Context, span Span) (int, error)
}

// A Ranger is a Store to which several ranges cost less together than one by one. It is optional: package repo reads
// them by Range instead, all at the same time.
type Ranger interface {
	// Ranges calls yield for each row of some spans, of which i is the index, until yield returns false. The spans are of
	// one table, which is not Native, and have the same Mask. The rows of each span that it wants come as Range yields
	// them, up to its Limit; those of different spans may be mixed. A store that cannot answers ErrUnsupported before it calls yield, which must
	// not call the store. The row and its slices are valid until yield returns, its strings for good.
	Ranges(ctx context.Context, spans []Span, yield func(i int, row *Row) bool) error
}

// A Gatherer is a Store that reads the rows of several tables in one partition by one range. It is
// optional: package repo reads one range of each table instead, all at the same time.
type Gatherer interface {
	// Gather calls yield for each row that is not Dead of some tables in a partition, with all
	// fields, until yield returns false. The tables are of Class Records, different, and have the
	// same Root; i is the index of the row's table. The rows of each table come as Range yields
	// them; those of different tables may be mixed. Yield must not call the store. The row
	// and its slices are valid until yield returns, its strings for good.
	Gather(ctx context.Context, tables []*Table, partition string, yield func(i int, row *Row) bool) error
}

// A Sizer is a Store that knows what its tables occupy. It is optional.
type Sizer interface {
	// Size returns the bytes that the rows of a table occupy, by the store's
	// own account; Facts.Sizes says what that account includes.
	Size(ctx context.Context, t *Table) (int64, error)
}

// A Clock is a Store on a server that tells the time. It is optional. Package repo refuses to
// work where the clock of its machine is far from the server's.
type Clock interface {
	// Time returns what the server's clock shows. A server that does not tell is
	// ErrUnsupported.
	Time(ctx context.Context) (time.Time, error)
}

// A Meter is a Store on a server that tells what processor time it takes. It is
// optional, and none of a store that works in its caller's process, where the
// caller's own time includes it.
type Meter interface {
	// CPU returns the processor time that the server has used since it started, for
	// all its clients and its own upkeep, so that the difference of two calls is what
	// it used between them. A server that does not tell is ErrUnsupported.
	CPU(ctx context.Context) (time.Duration, error)
}

// Temporary begins the names of places that an [Eraser] removes.
const Temporary = "tmp_"

// An Eraser is a Store that can remove its whole place on a server: what lies under its prefix, its
// database or its keyspace. It is optional, and for tests: see package repotest.
type Eraser interface {
	// Erase removes the place with all that is in it, whoever wrote it. A place whose name does not
	// begin with Temporary is ErrInvalid, and nothing is removed. The store is of no use afterwards;
	// Close it.
	Erase(ctx context.Context) error
}
