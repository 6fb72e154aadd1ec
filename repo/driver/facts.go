package driver

import "time"

// A Scope is what one Commit can change atomically.
type Scope uint8

// The units, smallest first.
const (
	ScopeRecord    Scope = iota // one row
	ScopePartition              // rows of one partition whose tables have one Root
	ScopeStore                  // any rows
)

// String returns "record", "partition" or "store".
func (s Scope) String() string { return nameOf("scope", s, "record", "partition", "store") }

// A Durability is what an acknowledged commit survives.
type Durability uint8

// The classes of durability, weakest first. Unknown is the class of a store
// that would not say. A class is what was seen to hold when the store's process was
// killed, which is not always what a manual says.
const (
	UnknownDurability Durability = iota
	Memory                       // nothing: the end of the process may lose it
	Delayed                      // the end of the process, but for what was acknowledged within Facts.Delay before
	Process                      // the end of the process, but not a loss of power
	Power                        // a loss of power on one machine
	Node                         // the loss of one machine of three
)

// String returns "unknown", "memory", "delayed", "process", "power" or "node".
func (d Durability) String() string {
	return nameOf("durability", d, "unknown", "memory", "delayed", "process", "power", "node")
}

// Facts says what a store is and can do. A backend learns them from the server
// when it opens, never by writing.
type Facts struct {
	Name    string // of the backend: "pebble"
	Version string // of the store as it says itself; "" when it has none
	Detail  string // topology and settings that matter, for people

	// Namespace is the database or keyspace in which the tables are, for traces; "" if there is none.
	Namespace string

	Scope      Scope
	Durability Durability
	Setting    string // the setting that decides Durability, as the store has it

	// Delay bounds, where Durability is Delayed, how long before the end of the process
	// a commit was acknowledged that is lost with it. It is 0 in any other class.
	Delay time.Duration

	// OneProcess says that no other process can write to the store while it is
	// open here.
	OneProcess bool

	// Uncertain says that a Commit can answer ErrUnknownOutcome in ordinary
	// operation, so that rows keep a Ring and deletes leave a tombstone.
	Uncertain bool

	// Waits says that a Commit waits for other machines when it is done, so that
	// rows can be seen that are not yet as durable as acknowledged ones. A Check
	// that is acknowledged says that what it saw is.
	Waits bool

	// Remote says, where Scope is ScopePartition, that Rows and Claims may lie in other
	// partitions than their records, each of them changed by a commit of its own.
	// Package repo keeps them in step by the order of those commits.
	Remote Ability

	// Native says that the store can keep a native index; see Table.Native. Where
	// PrefersNative is set, too, that is what an index is whose kind is left open, if
	// the store can keep it. NativeOrder has the kinds whose values a native index
	// orders as a key does: its Sort can have no others.
	Native        Ability
	PrefersNative bool
	NativeOrder   []Kind

	// NativeLocal, unless it is empty, says that a native index finds by equality, in one
	// partition of its Home, in the order of the keys there. Its Partition has all columns
	// of Home's and fields of these kinds, its Sort is how Home's begins, whatever
	// NativeOrder says, and it has neither elements nor values that are unique.
	NativeLocal []Kind

	// Deletes says, for people, what rows that were deleted cost whoever reads the span in
	// which they lay; it is "" where they cost nothing.
	Deletes string

	// MaxCommit is how many bytes the keys and values of a commit can have together: more
	// is ErrTooLarge. 0 is as many as fit into the memory of those who pass them on.
	MaxCommit int

	// MaxOps is how many Ops a commit of several records should have at most, so that nobody
	// else waits much longer than 100 ms for it: package repo refuses larger groups with
	// ErrTooLarge. 0 is any number.
	MaxOps int

	// MaxBytes is how many bytes the keys and values of such a commit should have at most, for
	// the same reason. 0 is any number.
	MaxBytes int

	// Tallies says that calls add what they send to the [Tally] of their context. Where it is
	// not set, package repo counts calls: one trip each, and a request for each row of a Get.
	Tallies bool

	// Operations says that the store wants to know which operation a read or a commit of rows is
	// part of: it is in the context of the call, and [OperationOf] returns it.
	Operations bool

	// Paging says in what portions Range and Get read. [repo.Plan.Cost] goes by it.
	Paging Paging

	// Counts and Sizes say whether Counter and Sizer are there, and what the
	// sizes include.
	Counts Ability
	Sizes  Ability
}

// Paging says how many requests a store makes of a Range or a Get when the rows are
// small and none of them is dead. The zero Paging is that of a store that reads a span at once.
type Paging struct {
	// First is how many rows the first page of a Range has at most. Each page after it can
	// have twice as many, up to Most. 0 is all rows.
	First, Most int

	// KeysFirst says that a page of a table of Records is one of keys, and that its rows are
	// then read as Get reads them, in one more trip.
	KeysFirst bool

	// Together is how many rows of one partition a request of Get reads at most, 1 if it is 0.
	// Anywhere says that they may be of any partitions.
	Together int
	Anywhere bool

	// AtOnce is how many requests of a Get are sent at the same time at most. 0 is all.
	AtOnce int
}

// An Ability is something that a store has or has not. Reason says why not or,
// where it has it, within which bounds; it is never empty when Has is false.
type Ability struct {
	Has    bool
	Reason string
}
